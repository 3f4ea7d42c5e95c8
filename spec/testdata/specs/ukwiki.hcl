experiment "ukwiki" {
  title = "Does lexical handling or fusion change retrieval quality for Ukrainian?"
}

corpus "wikipedia" {                 # label = source kind
  language = "uk"
  titles   = file("ukwiki.titles")   # or category = "…"
  lock     = "ukwiki.lock.json"      # revision ids
}

golden {
  file      = "../golden/ukwiki.jsonl"
  relevance = "document"             # document | span | chunk
  split {
    by  = "hash"
    dev = 0.5
  }
}

fixed "chunker" {
  option "markdown_header" { max_tokens = 350 }
}

fixed "embedder" {
  option "e5_small" {
    kind  = "onnx"
    model = "multilingual-e5-small"
  }
}

axis "text" {
  option "simple"   {}
  option "unaccent" {}
  option "lemma"    { dictionary = "uk" }
}

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
    alpha = tune.alpha               # weight of the first leg
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

output "csv"  { path = "results/ukwiki.csv" }
output "html" { path = "results/ukwiki.html" }
output "markdown" {
  path   = "../README.md"
  marker = "ukwiki"
}
