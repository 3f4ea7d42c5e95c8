experiment "uk_articles" {
  title = "Does lexical handling or fusion change retrieval quality for Ukrainian?"
}

# Any folder of Ukrainian articles with headings, and questions about them.
variable "corpus" {
  type        = string
  default     = "quickstart"
  description = "Folder of articles in Markdown."
}

variable "questions" {
  type        = string
  default     = "../golden/quickstart.jsonl"
  description = "File of judged questions."
}

corpus "files" {
  path     = var.corpus
  language = "uk"
}

golden {
  file      = var.questions
  relevance = "document"
  split {
    by  = "hash"
    dev = 0.5
  }
}

# To cross chunkers too, write axis "chunker" and add options.
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

# To cross rerankers too, write axis "reranker" and add options.
fixed "reranker" { use = "none" }

# One value for all configurations, not one for each text handling: there are too
# few questions to fit more.
tune "rrf_k" { grid = [10, 20, 40, 60, 100] }
tune "alpha" { grid = [for i in range(11) : i / 10] }

score {
  depth   = 30
  metrics = ["recall@5", "ndcg@10"]
  primary = "ndcg@10"
}

output "csv" { path = "../results/uk_articles.csv" }
output "json" { path = "../results/uk_articles.json" }
output "html" { path = "../results/uk_articles.html" }
output "markdown" { path = "../results/uk_articles.md" }
