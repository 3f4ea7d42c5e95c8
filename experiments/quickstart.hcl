experiment "quickstart" {
  title = "What finds the answers in a small Ukrainian encyclopedia?"
}

corpus "files" {
  path     = "quickstart"
  language = "uk"
}

golden {
  file      = "../golden/quickstart.jsonl"
  relevance = "document"
  split {
    by  = "hash"
    dev = 0.5
  }
}

axis "chunker" {
  option "whole" {}
  option "sentence" { max_tokens = 60 }
  option "markdown_header" { max_tokens = 120 }
}

axis "text" { use = ["simple", "unaccent", "prefix"] }

axis "retriever" {
  option "lexical" { kind = "bm25" }
  option "okapi" {
    kind = "bm25"
    variant = "okapi"
  }
  option "rrf" {
    legs = ["lexical", "okapi"]
    k    = tune.rrf_k
  }
  option "weighted" {
    legs  = ["lexical", "okapi"]
    alpha = tune.alpha
  }
}

tune "rrf_k" { grid = [10, 20, 60] }
tune "alpha" { grid = [for i in range(11) : i / 10] }

score {
  depth   = 30
  metrics = ["recall@5", "ndcg@10", "mrr@10"]
  primary = "ndcg@10"
}

output "csv" { path = "../results/quickstart.csv" }
output "json" { path = "../results/quickstart.json" }
