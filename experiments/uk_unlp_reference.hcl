experiment "uk_unlp_reference" {
  title = "The Ukrainian pages as rank_bm25 ranks them"
}

variable "corpus" {
  type        = string
  default     = "../../shared/data/uk-unlp/neutral"
  description = "Folder of the data set."
}

corpus "beir" {
  path     = var.corpus
  language = "uk"
  empty    = "keep"
}

golden { relevance = "document" }

fixed "chunker" {
  option "whole" { empty = "keep" }
}

fixed "text" {
  option "simple" { characters = "alnum" }
}

fixed "retriever" {
  option "okapi" {
    kind    = "bm25"
    variant = "okapi"
  }
}

score {
  depth   = 10
  metrics = ["recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10"]
  primary = "ndcg@10"
}

expect {
  where     = { chunker = "whole" }
  metric    = "ndcg@10"
  value     = 0.592510
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same pages"
}

expect {
  where     = { chunker = "whole" }
  metric    = "recall@5"
  value     = 0.674620
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same pages"
}

expect {
  where     = { chunker = "whole" }
  metric    = "mrr@10"
  value     = 0.539745
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same pages"
}

output "json" { path = "../results/uk_unlp_reference.json" }
