experiment "uk_unlp" {
  title = "Does lexical handling or fusion change retrieval quality for Ukrainian? Rules of sport and leaflets of medicines"
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
  empty    = "skip" # three pages have no text
}

golden {
  relevance = "document"
  split {
    by  = "hash"
    dev = 0.5
  }
}

fixed "chunker" {
  option "markdown_header" {
    max_tokens = 350
    unit       = "tokens" # of the model, so that no chunk is too long for it
    tokenizer  = "multilingual-e5-small-q4"
  }
}

axis "text" {
  option "simple" {}
  option "unaccent" {}
  option "lemma" { dictionary = "uk" }
}

fixed "embedder" {
  option "e5_small_q4" {
    kind  = "onnx"
    model = "multilingual-e5-small-q4"
  }
}

# Without a store block, indexes live in the server that RAGLAB_DSN names, or in
# one of raglab's own.
axis "retriever" {
  option "dense" {
    kind  = "pgvector"
    index = "hnsw"
  }
  option "lexical" { kind = "tsvector" }
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
  metrics = ["recall@5", "ndcg@10"]
  primary = "ndcg@10"
}

output "csv" { path = "../results/uk_unlp.csv" }
output "json" { path = "../results/uk_unlp.json" }
output "html" { path = "../results/uk_unlp.html" }
output "markdown" { path = "../results/uk_unlp.md" }

# The README's tables, between its two markers.
output "markdown" {
  path     = "../README.md"
  marker   = "uk_unlp"
  sections = ["best", "axes", "ingest", "tuning"]
}
