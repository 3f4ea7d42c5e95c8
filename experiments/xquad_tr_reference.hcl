# Questions of XQuAD in Turkish over its 240 paragraphs: exact search with vectors
# of multilingual-e5-small as numpy and ONNX Runtime do it, and BM25 over words cut
# after five letters as rank_bm25 does. Half a minute, 150 MB with the model.
experiment "xquad_tr_reference" {
  title = "Turkish paragraphs as numpy and rank_bm25 rank them"
}

variable "corpus" {
  type        = string
  default     = "../../shared/data/more/xquad-tr/neutral-tr"
  description = "Folder of the data set."
}

corpus "beir" {
  path     = var.corpus
  language = "tr"
}

golden { relevance = "document" }

fixed "chunker" { use = "whole" }

fixed "text" {
  option "stem5" {
    kind       = "prefix"
    length     = 5
    characters = "ascii"
    letters    = "çğıöşü"
    stop       = ["ve", "veya", "ile", "bir", "bu", "şu", "o", "da", "de", "ki", "mi", "için", "gibi", "daha", "çok", "en", "ise", "ama", "fakat", "ancak", "olan", "olarak", "olur", "her", "bazı", "hem", "ya", "the"]
    min_length = 2
  }
}

fixed "embedder" {
  option "e5_small" {
    kind      = "onnx"
    model     = "multilingual-e5-small-q4"
    precision = "f32"
  }
}

axis "retriever" {
  option "dense" { kind = "exact" }
  option "okapi" {
    kind    = "bm25"
    variant = "okapi"
  }
}

score {
  depth   = 10
  metrics = ["recall@5", "mrr@10", "ndcg@10"]
  primary = "ndcg@10"
}

# Vectors are equal up to rounding, which may turn neighbours round.
expect {
  where     = { retriever = "dense" }
  metric    = "ndcg@10"
  value     = 0.9351131361840341
  tolerance = 0.001
  source    = "numpy over ONNX Runtime's vectors"
}
expect {
  where     = { retriever = "dense" }
  metric    = "recall@5"
  value     = 0.9756302521008403
  tolerance = 0.001
  source    = "numpy over ONNX Runtime's vectors"
}
expect {
  where     = { retriever = "dense" }
  metric    = "mrr@10"
  value     = 0.9187925170068029
  tolerance = 0.001
  source    = "numpy over ONNX Runtime's vectors"
}
expect {
  where     = { retriever = "okapi" }
  metric    = "ndcg@10"
  value     = 0.9514233256902606
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same paragraphs"
}
expect {
  where     = { retriever = "okapi" }
  metric    = "recall@5"
  value     = 0.9789915966386554
  tolerance = 0.000001
  source    = "rank_bm25 0.2.2 over the same paragraphs"
}

output "json" { path = "../results/xquad_tr_reference.json" }
