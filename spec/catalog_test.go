package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"raglab/internal/param"
)

// testCatalog has the kinds that the language's examples use.
type testCatalog struct{ kinds map[string][]KindInfo }

func (c testCatalog) Factors() []FactorInfo {
	return []FactorInfo{
		{Name: "chunker", Doc: "How documents are cut.", Default: "whole"},
		{Name: "text", Doc: "What the lexical side indexes and asks.", Default: "simple"},
		{Name: "embedder", Doc: "What turns text into vectors.", Default: "none"},
		{Name: "retriever", Doc: "How chunks are found.", Default: "bm25"},
		{Name: "reranker", Doc: "What happens to a ranking before it is scored.", Default: "none"},
	}
}

func (c testCatalog) Kinds(factor string) []KindInfo { return c.kinds[factor] }

func (c testCatalog) Metric(name string) error {
	base, _, _ := strings.Cut(name, "@")
	known := []string{"recall", "ndcg", "mrr", "precision", "map", "success"}
	if slices.Contains(known, base) {
		return nil
	}
	return fmt.Errorf("there is no metric %q.%s", name, hintOnly(base, known))
}

func kind[P any](name string, check ...func(P) error) KindInfo {
	k := KindInfo{Name: name, Summary: "Does " + name + ".", Params: func() any {
		p := new(P)
		param.SetDefaults(p)
		return p
	}}
	if len(check) > 0 {
		k.Check = func(p any, _ string) error { return check[0](*p.(*P)) }
	}
	return k
}

type (
	none       struct{}
	pathParams struct {
		Path string `hcl:"path" path:"true" doc:"Where it is."`
	}
	beirParams struct {
		Path  string `hcl:"path" path:"true" doc:"Folder of the data set."`
		Split string `hcl:"split" default:"test" doc:"Which judgements."`
		Lock  string `hcl:"lock" path:"true" default:"" doc:"Digests."`
	}
	wikipediaParams struct {
		Language string `hcl:"language" doc:"Which Wikipedia."`
		Titles   string `hcl:"titles" default:"" doc:"Titles, one a line."`
		Category string `hcl:"category" default:"" doc:"A category."`
		Lock     string `hcl:"lock" path:"true" default:"" doc:"Revision ids."`
	}
	fixedParams struct {
		Tokens  int `hcl:"tokens" default:"256" min:"1" unit:"tokens" doc:"Length of a chunk."`
		Overlap int `hcl:"overlap" default:"0" min:"0" unit:"tokens" doc:"Tokens shared with the one before."`
	}
	headerParams struct {
		MaxTokens int  `hcl:"max_tokens" default:"350" min:"1" max:"8192" unit:"tokens" doc:"Longest chunk."`
		Prepend   bool `hcl:"prepend" default:"true" doc:"Whether the heading path is embedded."`
	}
	lemmaParams struct {
		Dictionary string `hcl:"dictionary" doc:"Language of the dictionary."`
	}
	onnxParams struct {
		Model    string            `hcl:"model" doc:"Name of the model." example:"\"multilingual-e5-small\""`
		Pooling  string            `hcl:"pooling" default:"mean" enum:"mean|cls|last" doc:"How token vectors become one."`
		Prefixes map[string]string `hcl:"prefixes" default:"" doc:"What is put before texts."`
	}
	bm25Params struct {
		K1      float64 `hcl:"k1" default:"1.2" min:"0" doc:"Saturation of repeated terms."`
		B       float64 `hcl:"b" default:"0.75" min:"0" max:"1" doc:"Weight of the length."`
		Variant string  `hcl:"variant" default:"lucene" enum:"lucene|okapi" doc:"Which formula."`
	}
	pgvectorParams struct {
		Index string `hcl:"index" default:"hnsw" enum:"hnsw|ivfflat|exact" doc:"Kind of index."`
	}
	rrfParams struct {
		Legs []string `hcl:"legs" ref:"retriever" doc:"Options to merge." example:"[\"dense\", \"lexical\"]"`
		K    float64  `hcl:"k" default:"60" min:"0" doc:"Constant added to ranks."`
	}
	weightedParams struct {
		Legs  []string `hcl:"legs" ref:"retriever" doc:"Options to merge."`
		Alpha float64  `hcl:"alpha" default:"0.5" min:"0" max:"1" doc:"Weight of the first leg."`
	}
	crossEncoderParams struct {
		Depth int `hcl:"depth" default:"30" min:"1" unit:"chunks" doc:"How many are reranked."`
	}
	markdownParams struct {
		Path   string `hcl:"path" path:"true" doc:"The file."`
		Marker string `hcl:"marker" default:"raglab" doc:"Name of the block to fill."`
	}
	postgresParams struct {
		DSN string `hcl:"dsn" key:"-" doc:"Connection string."`
	}
)

func newCatalog() testCatalog {
	beir := kind[beirParams]("beir")
	beir.BringsQuestions = true
	beir.LacksQuestions = func(params any) string {
		if filepath.Base(params.(*beirParams).Path) == "nothing" {
			return "set path to something"
		}
		return ""
	}
	overlap := func(p fixedParams) error {
		if p.Overlap >= p.Tokens {
			return param.Errorf("overlap", "%d tokens would never let a chunk of %d advance", p.Overlap, p.Tokens)
		}
		return nil
	}
	return testCatalog{kinds: map[string][]KindInfo{
		"source":   {kind[pathParams]("files"), kind[pathParams]("jsonl"), beir, kind[wikipediaParams]("wikipedia")},
		"chunker":  {kind[none]("whole"), kind("fixed", overlap), kind[headerParams]("markdown_header"), kind[none]("sentence"), kind[none]("paragraph")},
		"text":     {kind[none]("simple"), kind[none]("unaccent"), kind[lemmaParams]("lemma")},
		"embedder": {kind[none]("none"), kind[onnxParams]("onnx")},
		"retriever": {
			kind[bm25Params]("bm25"), kind[none]("exact"), kind[none]("tsvector"), kind[pgvectorParams]("pgvector"),
			kind[rrfParams]("rrf"), kind[weightedParams]("weighted"),
		},
		"reranker": {kind[none]("none"), kind[crossEncoderParams]("cross_encoder")},
		"output":   {kind[pathParams]("csv"), kind[pathParams]("json"), kind[pathParams]("html"), kind[markdownParams]("markdown")},
		"store":    {kind[postgresParams]("postgres")},
	}}
}

// Impossible implements Judge: vectors need an embedder.
func (c testCatalog) Impossible(kinds map[string][]string) string {
	needs := slices.ContainsFunc(kinds["retriever"], func(k string) bool { return k == "exact" || k == "pgvector" })
	if needs && slices.Contains(kinds["embedder"], "none") {
		return "the retriever compares vectors and no embedder is chosen"
	}
	return ""
}
