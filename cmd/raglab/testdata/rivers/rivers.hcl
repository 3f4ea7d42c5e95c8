experiment "rivers" {
  title = "Which words count?"
}

corpus "files" { path = "docs" }

golden { file = "golden.jsonl" }

axis "chunker" {
  option "whole" {}
  option "sentence" { max_tokens = 12 }
}

axis "text" { use = ["simple", "prefix"] }

fixed "retriever" {
  option "bm25" { k1 = 1.2 }
}

score {
  depth   = 20
  metrics = ["recall@1", "ndcg@10"]
  primary = "ndcg@10"
}

output "csv" { path = "out.csv" }
