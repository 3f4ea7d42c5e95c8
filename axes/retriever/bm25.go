package retriever

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/axes/retriever/inverted"
	"raglab/axes/text"
	"raglab/internal/param"
)

// BM25Params are the parameters of the kind bm25.
type BM25Params struct {
	Variant string  `hcl:"variant" at:"search" default:"lucene" enum:"lucene|okapi" doc:"lucene: idf = ln(1 + (N - df + 0.5) / (df + 0.5)); okapi: as rank_bm25's BM25Okapi."`
	K1      float64 `hcl:"k1" at:"search" default:"-1" min:"-1" doc:"How slowly more occurrences of a term stop to matter; -1 is the variant's own: 1.2 for lucene, 1.5 for okapi."`
	B       float64 `hcl:"b" at:"search" default:"0.75" min:"0" max:"1" doc:"How much a document's length counts against it."`
	Epsilon float64 `hcl:"epsilon" at:"search" default:"0.25" min:"0" doc:"okapi only: a term in over half of the chunks gets this times the mean idf."`
}

var bm25 = axes.Define(axes.Meta{
	Name:    "bm25",
	Version: "1",
	Summary: "Lexical retrieval by BM25 over the text kind's terms.",
	Doc: `A chunk's score is the sum, over the distinct terms of the question, of

    count · idf · tf · s / (tf + k1 · (1 - b + b · length / mean length))

where count is how often the question has the term. The variant lucene is that
of Lucene 8.0 and later, s = 1, with exact lengths where Lucene rounds them. The
variant okapi is BM25Okapi of rank_bm25 0.2.2: s = k1 + 1 and idf = ln(N - df +
0.5) - ln(df + 0.5), where a term with a negative one gets epsilon times the
mean idf of all terms. Chunks without terms count in N and in the mean length.

A chunk that has no term of the question is no hit. The index depends on the
chunks and their terms alone: k1, b, epsilon and the variant act in the search.
Sums are made in double precision from the rarest term to the most frequent.`,
}, func(p BM25Params, env axes.Env) (Leaf, error) {
	okapi := p.Variant == "okapi"
	if p.K1 < 0 {
		switch {
		case p.K1 != -1:
			return nil, param.Errorf("k1", "%v is neither -1 nor at least 0", p.K1)
		case okapi:
			p.K1 = 1.5
		default:
			p.K1 = 1.2
		}
	}
	return lexical{
		scoring: inverted.BM25{K1: p.K1, B: p.B, Okapi: okapi, Epsilon: p.Epsilon},
		threads: max(env.Threads, 1),
	}, nil
})

// lexical is the leaf of the kind bm25.
type lexical struct {
	scoring inverted.BM25
	threads int
}

func (lexical) Uses() Uses { return Uses{Text: true} }

func (lexical) Build(ctx context.Context, corpus Corpus, analyzer text.Analyzer, w io.Writer) error {
	b, n := inverted.NewBuilder(), 0
	for s, err := range corpus.Texts() {
		if err != nil {
			return fmt.Errorf("read chunk %d: %w", n, err)
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := b.Add(func(emit func(term []byte)) { analyzer.Terms(s, emit) }); err != nil {
			return err
		}
		n++
	}
	if n != corpus.Len() {
		return fmt.Errorf("the corpus has %d chunks but gave %d", corpus.Len(), n)
	}
	_, err := b.WriteTo(w)
	return err
}

func (l lexical) Open(ctx context.Context, r io.Reader, size int64, analyzer text.Analyzer) (Searcher, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	x, err := inverted.Open(r, size)
	if err != nil {
		return nil, err
	}
	return &lexicalSearcher{inverted.NewSearcher(x, l.scoring), analyzer, l.threads}, nil
}

// keptPostings is how many bytes of postings that were decoded are kept between
// questions: those of the most frequent terms of some millions of chunks.
const keptPostings = 256 << 20

// OpenParts implements [Parted]: frequencies and lengths are those of all parts. The
// parts are not copied into memory; a term's postings are decoded when a question has it.
func (l lexical) OpenParts(ctx context.Context, parts []Part, analyzer text.Analyzer) (Searcher, error) {
	if len(parts) == 0 {
		return nil, errNoParts
	}
	of := make([]inverted.Part, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.threads)
	for i, p := range parts {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			x, err := inverted.Map(p.Index)
			if err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			of[i] = inverted.Part{Index: x, Ordinals: p.Ordinals}
			return checkPart(parts, i, x.Len())
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s, err := inverted.NewPartsSearcher(of, l.scoring, l.threads, keptPostings)
	if err != nil {
		return nil, err
	}
	return &lexicalSearcher{s, analyzer, l.threads}, nil
}

type lexicalSearcher struct {
	index    *inverted.Searcher
	analyzer text.Analyzer
	threads  int
}

func (s *lexicalSearcher) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	terms := func(emit func(term []byte)) { s.analyzer.Terms(q.Text, emit) }
	return s.index.Search(ctx, terms, depth, dst)
}

// SearchBatch answers the questions on as many threads as the instance may use.
func (s *lexicalSearcher) SearchBatch(ctx context.Context, qs []axes.Query, depth int) ([][]axes.Hit, error) {
	return searchEach(ctx, s, qs, depth, s.threads)
}

func (s *lexicalSearcher) Close() error { return nil }
