experiment "scifact_reference" {
  title = "SciFact as rank_bm25 ranks it"
}

variable "corpus" {
  type        = string
  default     = "../../shared/data/scifact/neutral"
  description = "Folder of the data set."
}

corpus "beir" {
  path     = var.corpus
  language = "en"
}

golden { relevance = "document" }

fixed "chunker" {
  option "whole" {}
}

fixed "text" {
  option "simple" {
    characters = "ascii"
    joiners    = "._-"
  }
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
  value     = 0.631963
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same abstracts"
}

expect {
  where     = { chunker = "whole" }
  metric    = "recall@5"
  value     = 0.700278
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same abstracts"
}

expect {
  where     = { chunker = "whole" }
  metric    = "mrr@10"
  value     = 0.596377
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same abstracts"
}

output "json" { path = "../results/scifact_reference.json" }
