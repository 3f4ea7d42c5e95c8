# The BM25 rows of turkish-rag-eval 0.2.0, by its own definitions: three chunkers,
# words whole or cut after five letters, spans judged under each chunker's own
# chunks. bench/turkish_rag_eval.py runs both on one folder and compares all figures.
experiment "turkish_rag_eval" {
  title = "Do raglab and turkish-rag-eval give the same BM25 rows?"
}

variable "corpus" {
  type        = string
  description = "Folder with corpus.jsonl in that package's format, sorted by doc_id, and gold.json."
}

locals {
  size          = 700
  abbreviations = ["dr", "doç", "prof", "op", "uzm", "yrd", "sn", "av", "bkz", "vb", "vs", "örn", "yy", "no", "sk", "mah", "cad", "tel", "bkm", "mg", "ml", "gr"]
  stop          = ["ve", "veya", "ile", "bir", "bu", "şu", "o", "da", "de", "ki", "mi", "için", "gibi", "daha", "çok", "en", "ise", "ama", "fakat", "ancak", "olan", "olarak", "olur", "her", "bazı", "hem", "ya", "the"]
}

corpus "jsonl" {
  path     = "${var.corpus}/corpus.jsonl"
  id       = "doc_id"
  language = "tr"
}

golden {
  file        = "${var.corpus}/gold.json"
  relevance   = "span"
  unreachable = "skip"
}

axis "chunker" {
  option "fixed" {
    size           = local.size
    overlap        = 100
    unit           = "characters"
    collapse       = "all"
    title          = "heading"
    headings       = "drop"
    heading_syntax = "mediawiki"
    min_size       = 51
    tail           = "keep"
  }
  option "sentence" {
    max_tokens     = local.size
    unit           = "characters"
    rules          = "punctuation"
    abbreviations  = local.abbreviations
    long           = "keep"
    min_last       = 51
    collapse       = "stops"
    title          = "heading"
    headings       = "drop"
    heading_syntax = "mediawiki"
  }
  option "hierarchical" {
    kind           = "markdown_header"
    max_tokens     = local.size
    unit           = "characters"
    heading        = "path"
    heading_syntax = "mediawiki"
    split          = "sentence"
    rules          = "punctuation"
    abbreviations  = local.abbreviations
    long           = "keep"
    min_last       = 51
    collapse       = "stops"
  }
}

axis "text" {
  option "stem5" {
    kind       = "prefix"
    length     = 5
    characters = "ascii"
    letters    = "çğıöşü"
    stop       = local.stop
    min_length = 2
  }
  option "nostem" {
    kind       = "simple"
    characters = "ascii"
    letters    = "çğıöşü"
    stop       = local.stop
    min_length = 2
  }
}

fixed "retriever" {
  option "bm25" {
    k1      = 1.5
    b       = 0.75
    variant = "okapi"
  }
}

score {
  depth   = 10
  metrics = ["ndcg@10", "recall@1", "recall@3", "recall@5", "recall@10", "precision@1", "precision@3", "precision@5", "precision@10", "ndcg@1", "ndcg@3", "ndcg@5", "mrr@10"]
  primary = "ndcg@10"
}

output "json" { path = "${var.corpus}/raglab.json" }
