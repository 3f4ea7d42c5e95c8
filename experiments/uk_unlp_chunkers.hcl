experiment "uk_unlp_chunkers" {
  title = "Ukrainian rules of sport and leaflets of medicines: 1,121 pages, 461 questions by people"
}

# The folder holds docs.jsonl, queries.jsonl and qrels.tsv in BEIR's shape.
variable "corpus" {
  type        = string
  default     = "../../shared/data/uk-unlp/neutral"
  description = "Folder of the data set."
}

corpus "beir" {
  path     = var.corpus
  language = "uk"
  empty    = "keep" # three pages have no text; the reference figures count them
}

golden {
  relevance = "document"
  split {
    by  = "hash"
    dev = 0.5
  }
}

axis "chunker" {
  option "whole" { empty = "keep" }
  option "sentence" { max_tokens = 120 }
  option "paragraph" { max_tokens = 200 }
}

axis "text" { use = ["simple", "unaccent", "prefix"] }

fixed "embedder" {
  option "e5_small_q4" {
    kind  = "onnx"
    model = "multilingual-e5-small-q4"
  }
}

axis "retriever" {
  option "lexical" {
    kind    = "bm25"
    variant = "okapi"
  }
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

output "csv" { path = "../results/uk_unlp_chunkers.csv" }
output "json" { path = "../results/uk_unlp_chunkers.json" }
output "html" { path = "../results/uk_unlp_chunkers.html" }
output "markdown" { path = "../results/uk_unlp_chunkers.md" }
