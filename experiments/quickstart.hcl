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

fixed "embedder" {
  option "e5_small_q4" {
    kind  = "onnx"
    model = "multilingual-e5-small-q4"
  }
}

axis "retriever" {
  option "lexical" { kind = "bm25" }
  option "dense" { kind = "exact" }
  option "rrf" {
    legs = ["dense", "lexical"]
    k    = tune.rrf_k
  }
  option "weighted" {
    legs  = ["dense", "lexical"]
    alpha = tune.alpha # weight of the dense leg
  }
}

fixed "reranker" { use = "none" }

tune "rrf_k" { grid = [10, 20, 40, 60, 100] }
tune "alpha" { grid = [for i in range(11) : i / 10] }

score {
  depth   = 30
  metrics = ["recall@5", "ndcg@10", "mrr@10"]
  primary = "ndcg@10"
}

output "csv" { path = "../results/quickstart.csv" }
output "json" { path = "../results/quickstart.json" }
output "html" { path = "../results/quickstart.html" }
output "markdown" { path = "../results/quickstart.md" }

# The README's tables, between its two markers.
output "markdown" {
  path     = "../README.md"
  marker   = "quickstart"
  sections = ["best", "axes"]
}
