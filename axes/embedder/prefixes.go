package embedder

import "strings"

// prefixes are what a model was trained to see before texts.
type prefixes struct{ query, passage string }

// family is models of one training, by how their names begin and what else the
// names hold.
type family struct {
	begins, holds string
	prefixes
}

// searching is what several families put before questions.
const searching = "Represent this sentence for searching relevant passages: "

// families are those whose model cards ask for prefixes. The first that fits a name
// counts. Each line's source is the model card of the models that it begins with:
// intfloat/multilingual-e5-large-instruct, intfloat/multilingual-e5-base and
// intfloat/e5-base-v2; BAAI/bge-small-en-v1.5 and BAAI/bge-small-zh-v1.5 (BAAI/bge-m3
// asks for none); mixedbread-ai/mxbai-embed-large-v1;
// Snowflake/snowflake-arctic-embed-l-v2.0 and Snowflake/snowflake-arctic-embed-m;
// nomic-ai/nomic-embed-text-v1.5; google/embeddinggemma-300m.
var families = []family{
	{"multilingual-e5-", "instruct", prefixes{"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""}},
	{"multilingual-e5-", "", prefixes{"query: ", "passage: "}},
	{"e5-", "", prefixes{"query: ", "passage: "}},
	{"bge-", "-en", prefixes{searching, ""}},
	{"bge-", "-zh", prefixes{"为这个句子生成表示以用于检索相关文章：", ""}},
	{"mxbai-embed-large", "", prefixes{searching, ""}},
	{"snowflake-arctic-embed", "v2", prefixes{"query: ", ""}},
	{"snowflake-arctic-embed", "", prefixes{searching, ""}},
	{"nomic-embed-text", "", prefixes{"search_query: ", "search_document: "}},
	{"embeddinggemma", "", prefixes{"task: search result | query: ", "title: none | text: "}},
}

// prefixesOf returns those of a model by its name, with or without an owner before
// it and a revision or a tag behind it; none for one that is not known.
func prefixesOf(model string) prefixes {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	for _, f := range families {
		if strings.HasPrefix(name, f.begins) && strings.Contains(name, f.holds) {
			return f.prefixes
		}
	}
	return prefixes{}
}
