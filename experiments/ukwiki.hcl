# Does lexical handling or fusion change retrieval quality for Ukrainian, and by
# how much?
#
# Corpus      the featured articles of Ukrainian Wikipedia, about 220, each at the
#             revision that `raglab lock` pins
# Questions   drafted from the articles in four styles and curated by rules that
#             look at the texts alone, never at what a retriever finds; half of
#             them fit the tuned values, the other half is scored
# Takes       fetching ten minutes, one article a request as the API asks;
#             embedding the bulk of the rest, 10 to 30 minutes on two cores
# Disk        about 400 MB: models, the private Postgres, its indexes
#
#   raglab lock experiments/ukwiki.hcl
#   raglab golden generate -o golden/ukwiki.jsonl experiments/ukwiki.hcl
#   raglab golden check experiments/ukwiki.hcl     # then read the questions
#   raglab apply experiments/ukwiki.hcl
#
# Any folder of articles instead: experiments/uk_articles.hcl.
experiment "ukwiki" {
  title = "Does lexical handling or fusion change retrieval quality for Ukrainian?"
}

variable "api" {
  type        = string
  default     = ""
  description = "Address of another MediaWiki API, such as a mirror's."
}

variable "questions" {
  type        = string
  default     = "../golden/ukwiki.jsonl"
  description = "File of judged questions."
}

corpus "wikipedia" {
  language = "uk"
  category = "Вибрані статті"
  lock     = "ukwiki.lock.json"
  api      = var.api
  contact  = env("RAGLAB_CONTACT", "")
}

# Chunks of different chunkers cannot be compared, documents can: rankings are
# collapsed to articles.
golden {
  file      = var.questions
  relevance = "document"
  split {
    by  = "hash"
    dev = 0.5
  }
}

# Articles come in sections. To cross chunkers too, write axis for fixed and add
# options, such as fixed, sentence, paragraph and semantic.
fixed "chunker" {
  option "markdown_header" {
    max_tokens     = 350
    unit           = "tokens" # of the model, so that no chunk is too long for it
    tokenizer      = "multilingual-e5-small-q4"
    heading_syntax = "mediawiki"
  }
}

axis "text" {
  option "simple" {}
  option "unaccent" {}
  option "lemma" { dictionary = "uk" }
}

fixed "embedder" {
  option "e5_small" {
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

# To cross rerankers too, write axis for fixed and add cross_encoder and threshold.
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

output "csv" { path = "../results/ukwiki.csv" }
output "json" { path = "../results/ukwiki.json" }
output "html" { path = "../results/ukwiki.html" }
output "markdown" { path = "../results/ukwiki.md" }
