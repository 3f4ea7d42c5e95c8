package pipeline

import (
	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/embedder"
	"raglab/axes/metric"
	"raglab/axes/reranker"
	"raglab/axes/retriever"
	"raglab/axes/source"
	"raglab/axes/text"
	"raglab/spec"
)

// The slots of the pipeline, as specs name them.
const (
	slotSource    = "source"
	slotOutput    = "output"
	slotChunker   = "chunker"
	slotText      = "text"
	slotEmbedder  = "embedder"
	slotRetriever = "retriever"
	slotReranker  = "reranker"
)

// Catalog tells package spec which kinds there are. Outputs are the kinds of
// output block, which the pipeline itself knows nothing about.
type Catalog struct {
	Outputs []axes.Described
}

var slots = []spec.FactorInfo{
	{Name: slotChunker, Doc: "How documents are cut into chunks.", Default: "whole"},
	{Name: slotText, Doc: "Which terms the lexical side indexes and asks for.", Default: "simple"},
	{Name: slotEmbedder, Doc: "How chunks and questions become vectors.", Default: "onnx"},
	{Name: slotRetriever, Doc: "How chunks are found.", Default: "bm25"},
	{Name: slotReranker, Doc: "What happens to a ranking before it is scored.", Default: "none"},
}

// Factors implements [spec.Catalog].
func (Catalog) Factors() []spec.FactorInfo { return slots }

// Metric implements [spec.Catalog].
func (Catalog) Metric(name string) error {
	_, err := metric.Parse(name)
	return err
}

// Kinds implements [spec.Catalog].
func (c Catalog) Kinds(factor string) []spec.KindInfo {
	switch factor {
	case slotSource:
		return bringing(kindInfos(source.Kinds()))
	case slotChunker:
		return kindInfos(chunker.Kinds())
	case slotText:
		return kindInfos(text.Kinds)
	case slotEmbedder:
		return kindInfos(embedder.Kinds)
	case slotRetriever:
		return append(kindInfos(retriever.Leaves), kindInfos(retriever.Fusers)...)
	case slotReranker:
		return kindInfos(reranker.Kinds)
	case slotOutput:
		var infos []spec.KindInfo
		for _, d := range c.Outputs {
			infos = append(infos, kindInfo(d))
		}
		return infos
	}
	return nil
}

func kindInfos[T any](kinds []axes.Kind[T]) []spec.KindInfo {
	axes.Describe(kinds)
	infos := make([]spec.KindInfo, len(kinds))
	for i, k := range kinds {
		infos[i] = kindInfo(k)
	}
	return infos
}

func kindInfo(d axes.Described) spec.KindInfo {
	m := d.About()
	info := spec.KindInfo{
		Name: m.Name, Summary: m.Summary, Doc: m.Doc, Params: d.Params, Secrets: d.Secrets,
		Check: func(params any, language string) error { return d.Check(params, axes.Env{Language: language}) },
	}
	for _, e := range m.Examples {
		info.Examples = append(info.Examples, [2]string{e.Title, e.Text})
	}
	return info
}

// bringing marks the sources that have judged questions of their own.
func bringing(infos []spec.KindInfo) []spec.KindInfo {
	for i := range infos {
		k, _ := axes.Find(source.Kinds(), infos[i].Name)
		infos[i].BringsQuestions, infos[i].LacksQuestions = k.BringsQuestions, k.LacksQuestions
	}
	return infos
}
