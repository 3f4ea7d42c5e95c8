package chunker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
	"raglab/internal/stats"
)

// SemanticParams are the parameters of the kind semantic.
type SemanticParams struct {
	Cut       string  `hcl:"cut" default:"percentile" enum:"percentile|deviation|absolute" doc:"What the threshold is: a percentile of the document's distances, standard deviations above their mean, or a distance."`
	Threshold float64 `hcl:"threshold" default:"95" doc:"The document is cut where neighbouring sentences are further apart than this says."`
	Buffer    int     `hcl:"buffer" default:"1" unit:"sentences" min:"0" doc:"Sentences on each side that are embedded along with one."`
	MinSize   int     `hcl:"min_size" default:"0" unit:"units" min:"0" doc:"A shorter chunk takes in what follows if both fit."`
	MaxSize   int     `hcl:"max_size" default:"350" unit:"units" min:"1" doc:"Longest chunk, in the unit."`
	Unit      string  `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer string  `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Title     string  `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title goes with the first sentence, heads every chunk, or is dropped."`
	Headings  string  `hcl:"headings" default:"keep" enum:"keep|drop" doc:"Whether headings stay in the text."`
	Syntax    string  `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked."`
}

// What a threshold is.
const (
	cutPercentile = "percentile"
	cutDeviation  = "deviation"
	cutAbsolute   = "absolute"
)

// Semantic is the kind that cuts where the meaning changes.
func Semantic() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:     "semantic",
		Version:  "1",
		Volatile: true,
		Summary:  "Runs of sentences that are near each other in meaning, by the embedder of the configuration.",
		Doc: "Every sentence is embedded as a passage, together with buffer sentences on each side of it and with runs of white " +
			"space as one blank. The distance of two neighbours is 1 less the cosine of their embeddings, and the document is cut " +
			"between those whose distance is greater than the threshold: with \"percentile\", that percentile of the document's own " +
			"distances, interpolated linearly; with \"deviation\", their mean plus threshold times their (population) standard " +
			"deviation; with \"absolute\", the threshold itself, from 0 to 2. Usual are 95, 3 and, for models whose cosines " +
			"are spread, 0.5; LangChain's SemanticChunker and LlamaIndex's SemanticSplitterNodeParser have the same buffer and " +
			"percentile. Two bounds go before: a chunk " +
			"shorter than min_size is not closed, a last one that is shorter goes with the one before, and a chunk is " +
			"closed before the sentence with which it would be longer than max_size. Embeddings are remembered: another threshold " +
			"or size embeds nothing again, and another embedder cuts anew. Sentences are found by the rules of the corpus's " +
			"language, as the kind sentence finds them. " + unitDoc,
	}, newSemantic)
	return axes.NeedsOf(kind, func(p SemanticParams) axes.Needs {
		needs := tokenizerNeeds(p.Unit, p.Tokenizer)
		needs.Embedder = true
		return needs
	})
}

type semantic struct {
	params    SemanticParams
	sentences *splitSentences
}

var _ Embedded = (*semantic)(nil)

func newSemantic(p SemanticParams, env axes.Env) (Chunker, error) {
	if p.MinSize > p.MaxSize {
		return nil, param.Errorf("min_size", "%d is more than max_size, which is %d", p.MinSize, p.MaxSize)
	}
	if least, most := p.bounds(); !(p.Threshold >= least && p.Threshold <= most) {
		return nil, param.Errorf("threshold", "with cut = %q it is a number from %v to %v, not %v", p.Cut, least, most, p.Threshold)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	return &semantic{p, &splitSentences{
		measure: m, prose: newProse(rulesLanguage, nil, p.MaxSize, longSplit, env),
		layout: layout{title: p.Title, headings: p.Headings, collapse: collapseNone, syntax: markdown.Syntax(p.Syntax), most: p.MaxSize},
	}}, nil
}

// bounds are those of the threshold.
func (p SemanticParams) bounds() (least, most float64) {
	switch p.Cut {
	case cutPercentile:
		return 0, 100
	case cutDeviation:
		return -10, 10
	}
	return 0, 2
}

// Chunk implements [Chunker].
func (c *semantic) Chunk(axes.Document) ([]axes.Chunk, error) { return nil, ErrNoVectors }

// Sentences implements [Embedded]. Where there is nothing to decide there is none.
func (c *semantic) Sentences(doc axes.Document) ([]string, error) {
	found, err := c.sentences.of(doc)
	if err != nil {
		return nil, err
	}
	units := found.units[found.lead:]
	if len(units) < 2 {
		return nil, nil
	}
	texts := make([]string, len(units))
	for i := range units {
		start, end := units[max(0, i-c.params.Buffer)].Start, units[min(len(units)-1, i+c.params.Buffer)].End
		texts[i] = strings.Join(strings.Fields(found.emitter.view.text[start:end]), " ")
	}
	return texts, nil
}

// Cut implements [Embedded].
func (c *semantic) Cut(doc axes.Document, vectors [][]float32) ([]axes.Chunk, error) {
	found, err := c.sentences.of(doc)
	if err != nil {
		return nil, err
	}
	apart := make([]bool, len(found.units)) // whether a unit is far from the one before
	if n := len(found.units) - found.lead; n > 1 {
		if len(vectors) != n {
			return nil, fmt.Errorf("%d sentences have %d vectors", n, len(vectors))
		}
		distances := neighbourDistances(vectors)
		threshold := c.threshold(distances)
		for i, d := range distances {
			apart[found.lead+i+1] = d > threshold
		}
	}
	e := found.emitter
	for _, s := range c.group(found.units, apart, e.ruler) {
		e.add(s, c.sentences.layout.heading(doc))
	}
	return c.sentences.layout.finish(e, c.sentences.measure)
}

// group puts sentences together up to where they are apart.
func (c *semantic) group(units []unit, apart []bool, r ruler) []Span {
	var spans []Span
	n := 0
	for i := 0; i < len(units); {
		s := units[i].Span
		n = units[i].n
		for i++; i < len(units); i++ {
			more := n + r.gap(s.End, units[i].Start) + units[i].n
			if more > c.params.MaxSize || apart[i] && n >= c.params.MinSize {
				break
			}
			s.End, n = units[i].End, more
		}
		spans = append(spans, s)
	}
	last := len(spans) - 1
	if last < 1 || n >= c.params.MinSize || r.length(spans[last-1].Start, spans[last].End) > c.params.MaxSize {
		return spans
	}
	spans[last-1].End = spans[last].End
	return spans[:last]
}

// threshold is the distance above which a document is cut; there is at least one.
func (c *semantic) threshold(distances []float64) float64 {
	switch c.params.Cut {
	case cutPercentile:
		return stats.Quantile(slices.Sorted(slices.Values(distances)), c.params.Threshold/100)
	case cutDeviation:
		return stats.Mean(distances) + float64(c.params.Threshold*deviation(distances))
	}
	return c.params.Threshold
}

// neighbourDistances are 1 less the cosines of neighbours. A vector of zeros is at a
// distance of 1 from all.
func neighbourDistances(vectors [][]float32) []float64 {
	distances := make([]float64, len(vectors)-1)
	for i := range distances {
		distances[i] = 1 - cosine(vectors[i], vectors[i+1])
	}
	return distances
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i, x := range a {
		y := b[i]
		dot += float64(float64(x) * float64(y)) // not fused with the sum: machines agree
		aa += float64(float64(x) * float64(x))
		bb += float64(float64(y) * float64(y))
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// deviation is the standard deviation of a population.
func deviation(values []float64) float64 {
	mean, squares := stats.Mean(values), 0.0
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	return math.Sqrt(squares / float64(len(values)))
}
