# How many passages should the reranker get? Models and questions stay; what
# varies is the depth: 20, 30, 50 or 60 passages of a dense ranking.
#
# Corpus      61,022 passages on personal finance, the FiQA part of mt-rag-benchmark
# Questions   its 180, rewritten to be understood alone, with judged passages
# Takes       embedding 61,022 passages about 40 minutes on two cores; 10,800 pairs
#             of question and passage for the reranker about 15. The four depths cost
#             what the greatest costs: each pair is scored once
# Disk        about 600 MB
#
#   raglab lock experiments/fiqa_depth.hcl
#   raglab apply experiments/fiqa_depth.hcl
experiment "fiqa_depth" {
  title = "How many passages should the reranker get?"
}

variable "raw_url" {
  type        = string
  default     = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
  description = "Address of a file of a repository, for a mirror."
}

variable "corpus_sha256" {
  type        = string
  default     = "59f7cf5b043abe007fdb6521eb281bf055524de4376466e9cb4808466e761ee9"
  description = "SHA-256 of the archive of passages."
}

locals {
  repository = "IBM/mt-rag-benchmark"
  commit     = "2c618bb98db3c8526433e22d8a2f7320f10a7470"
  tasks      = "mtrag-human/retrieval_tasks/fiqa"
}

corpus "git" {
  repository = local.repository
  commit     = local.commit
  files      = ["corpora/passage_level/fiqa.jsonl.zip"]
  sha256     = [var.corpus_sha256]
  layout     = "jsonl"
  language   = "en"
  raw_url    = var.raw_url
}

golden {
  relevance    = "document" # a passage is a document here
  strip_prefix = "|user|:"
  order        = "id"
  source "git" {
    repository = local.repository
    commit     = local.commit
    files      = ["${local.tasks}/fiqa_rewrite.jsonl", "${local.tasks}/qrels/dev.tsv"]
    sha256 = [
      "88706f60953539e3927b05e3e6c20b39e4d9211df9247cd7de4035ae50ac5f15",
      "a10ec0b5cba634d6c4ad02dd86de715a258ebd313dbcf5fa2d0a77bb0e121abc",
    ]
    queries = "${local.tasks}/fiqa_rewrite.jsonl"
    qrels   = "${local.tasks}/qrels/dev.tsv"
    raw_url = var.raw_url
  }
}

fixed "chunker" { use = "whole" }

fixed "embedder" {
  option "bge_small" {
    kind  = "onnx"
    model = "BAAI/bge-small-en-v1.5"
  }
}

fixed "retriever" {
  option "dense" { kind = "exact" }
}

axis "reranker" {
  option "none" {}
  option "minilm" {
    kind       = "cross_encoder"
    model      = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    activation = "none"
    depth      = axis.rerank_depth
  }
}

# Without a reranker the depth is inert, and the plan says so.
axis "rerank_depth" { values = [20, 30, 50, 60] }

score {
  depth   = 100
  metrics = ["recall@10", "ndcg@10", "recall@20", "recall@30", "recall@50", "recall@60"]
  primary = "ndcg@10"
}

# The starting point of the study, and its ceilings: what a reranker of the first
# d passages can find at most is the recall at d before it.
expect {
  where     = { reranker = "none" }
  metric    = "ndcg@10"
  value     = 0.33186582504656
  tolerance = 0.005
  source    = "rag-decision-lab"
}
expect {
  where     = { reranker = "none" }
  metric    = "recall@10"
  value     = 0.41716931216931213
  tolerance = 0.005
  source    = "rag-decision-lab"
}

output "csv" { path = "../results/fiqa_depth.csv" }
output "json" { path = "../results/fiqa_depth.json" }
output "html" { path = "../results/fiqa_depth.html" }
output "markdown" { path = "../results/fiqa_depth.md" }
