package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
)

// What is kept of the chunks' texts at most: bytes in all, and characters of one.
const (
	maxText      = 10 << 20
	maxCharacter = 2_000
)

// How much of an answer span a chunk must hold for that to be shown, as a share and in
// characters, how many of the chunks that hold a piece are named, and how many that are
// relevant.
const (
	leastPiece  = 0.2
	leastLetter = 6
	mostPieces  = 3
	mostAnswers = 5
)

// telling reports whether a piece of a span is more than what texts have in common by
// chance.
func telling(p metric.Piece, body string) bool {
	return p.Share == 1 || p.Share >= leastPiece && utf8.RuneCountInString(body[p.Start:p.End]) >= leastLetter
}

// detailCut is a chunker's work as far as details need it.
type detailCut struct {
	stages []*engine.Stage
	chunks map[string]int // places in the list of chunks, by name
	// relevant are, by question, the grades above 0 of chunks, by name.
	relevant []map[string]int
}

// judgedChunk is a chunk of a judged document.
type judgedChunk struct {
	name string
	body string
}

// judgeCuts finds out what the chunkers made of the answer spans, and which chunks are
// relevant.
func (d *detailer) judgeCuts() error {
	spans := slices.ContainsFunc(d.questions, func(q golden.Question) bool { return len(spansOf(q)) > 0 })
	for at, cut := range d.cuts {
		cut.relevant = make([]map[string]int, len(d.questions))
		for q := range cut.relevant {
			cut.relevant[q] = map[string]int{}
		}
		d.Chunkers[at].Fates = make([][]report.DetailFate, len(d.questions))
		var err error
		if d.Relevance == "chunk" {
			err = d.judgeByName(cut)
		}
		if err == nil && spans {
			err = d.judgeSpans(at)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Chunkers[at].Name, err)
		}
		for q := range cut.relevant {
			names := slices.Sorted(maps.Keys(cut.relevant[q]))
			for _, name := range names[:min(len(names), mostAnswers)] {
				d.chunk(at, name, 0)
			}
		}
	}
	return nil
}

// spansOf are the places of the judgements with an answer span.
func spansOf(q golden.Question) []int {
	var places []int
	for i, r := range q.Relevant {
		if golden.Fold(r.Span) != "" {
			places = append(places, i)
		}
	}
	return places
}

// judgeByName takes judged ids for chunks' names, those of chunks in a passage for the
// passage.
func (d *detailer) judgeByName(cut *detailCut) error {
	judging := map[string][]int{} // questions by judged chunk
	for q := range d.questions {
		for _, r := range d.questions[q].Relevant {
			judging[r.Doc] = append(judging[r.Doc], q)
		}
	}
	return d.eachChunk(cut, func(c axes.Chunk) {
		name := artifact.ChunkName(c.Doc, c.N)
		for _, q := range judging[name] {
			for _, r := range d.questions[q].Relevant {
				if r.Doc == name && r.Grade > 0 {
					ranked := rankedName(c)
					cut.relevant[q][ranked] = max(cut.relevant[q][ranked], r.Grade)
				}
			}
		}
	})
}

func (d *detailer) eachChunk(cut *detailCut, take func(axes.Chunk)) error {
	for _, s := range cut.stages {
		if err := readLines(d.ctx, d.store, d.out, s, "chunks", take); err != nil {
			return fmt.Errorf("read chunks: %w", err)
		}
	}
	return nil
}

// judgeSpans looks for the questions' answer spans in a chunker's chunks.
func (d *detailer) judgeSpans(at int) error {
	cut, asked := d.cuts[at], make([]golden.Question, len(d.questions))
	documents := map[string][]judgedChunk{}
	for i, q := range d.questions {
		asked[i] = golden.Question{ID: q.ID}
		for _, j := range spansOf(q) {
			asked[i].Relevant = append(asked[i].Relevant, q.Relevant[j])
			documents[q.Relevant[j].Doc] = nil
		}
	}
	spans, err := metric.NewSpans(asked, d.p.Experiment.Golden.Coverage)
	if err != nil {
		return err
	}
	var names []string // by the ordinals that spans have
	err = d.eachChunk(cut, func(c axes.Chunk) {
		chunks, judged := documents[c.Doc]
		if !judged {
			return
		}
		name := rankedName(c)
		if n := len(names); n == 0 || names[n-1] != name {
			names = append(names, name)
			documents[c.Doc] = append(chunks, judgedChunk{name, c.Returned()})
		}
		spans.Add(uint32(len(names)-1), c)
	})
	if err != nil {
		return err
	}
	for q := range asked {
		if d.Relevance == "span" {
			for _, g := range spans.Judgements(q, metric.UnreachableSkip) {
				if g.Grade > 0 {
					cut.relevant[q][names[g.Item]] = int(g.Grade)
				}
			}
		}
		places := spansOf(d.questions[q])
		for _, f := range spans.Fates(q) {
			fate := report.DetailFate{Judgement: places[f.Judgement], Fate: f.Fate, Share: f.Share}
			if f.Fate != metric.SpanWhole {
				r := asked[q].Relevant[f.Judgement]
				fate.Pieces = d.pieces(at, r.Span, documents[r.Doc])
			}
			d.Chunkers[at].Fates[q] = append(d.Chunkers[at].Fates[q], fate)
		}
	}
	return nil
}

// pieces are the chunks of a document that hold the most of a span.
func (d *detailer) pieces(cut int, span string, chunks []judgedChunk) []report.DetailPiece {
	type found struct {
		place int
		share float64
	}
	var all []found
	for i, c := range chunks {
		if p := metric.FindPiece(span, c.body); telling(p, c.body) {
			all = append(all, found{i, p.Share})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.share, a.share) })
	all = all[:min(len(all), mostPieces)]
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.place, b.place) })
	var out []report.DetailPiece
	for _, f := range all {
		out = append(out, report.DetailPiece{Chunk: d.chunk(cut, chunks[f.place].name, 0), Share: f.share})
	}
	return out
}

// readChunks reads the chunks that are in the list, and the texts of those that have
// the best ranks.
func (d *detailer) readChunks() error {
	spans := map[string][][2]int{} // questions and judgements, by document
	for q := range d.questions {
		for _, j := range spansOf(d.questions[q]) {
			doc := d.questions[q].Relevant[j].Doc
			spans[doc] = append(spans[doc], [2]int{q, j})
		}
	}
	for at, cut := range d.cuts {
		err := d.eachChunk(cut, func(c axes.Chunk) {
			place, ok := cut.chunks[rankedName(c)]
			if ok && d.Chunks[place].N < 0 {
				d.fill(place, c, spans)
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", d.Chunkers[at].Name, err)
		}
		d.listRelevant(at)
	}
	d.trim()
	return nil
}

// fill describes a chunk of the list.
func (d *detailer) fill(place int, c axes.Chunk, spans map[string][][2]int) {
	out := &d.Chunks[place]
	out.N, out.Start, out.End, out.Heading = c.Ranked(), c.Start, c.End, c.Heading
	if c.Around != nil {
		out.Start, out.End, out.Passage = c.Around.Start, c.Around.End, true
	}
	body := c.Returned()
	var marks []mark
	doc := d.parts.of(c.Doc)
	for _, at := range spans[doc] {
		p := metric.FindPiece(d.questions[at[0]].Relevant[at[1]].Span, body)
		if telling(p, body) {
			marks = append(marks, mark{at[0], p.Start, p.End})
		}
	}
	window(out, body, marks)
}

// mark is a piece of a question's answer span in a chunk's text, in bytes.
type mark struct{ question, start, end int }

// window keeps the first characters of a text, or those around the first mark.
func window(out *report.DetailChunk, body string, marks []mark) {
	from, to := 0, len(body)
	if n := utf8.RuneCountInString(body); n > maxCharacter {
		from = windowStart(body, marks, n)
		out.Before = utf8.RuneCountInString(body[:from])
		to = from + byteLength(body[from:], maxCharacter)
		out.After = utf8.RuneCountInString(body[to:])
	}
	out.Text = body[from:to]
	for _, m := range marks {
		start, end := max(m.start, from), min(m.end, to)
		if start < end {
			out.Marks = append(out.Marks, m.question, utf16Length(body[from:start]), utf16Length(body[from:end]))
		}
	}
}

// windowStart is the byte at which the window begins: a quarter of its length before
// the first mark that would not be in the first characters.
func windowStart(body string, marks []mark, characters int) int {
	if len(marks) == 0 {
		return 0
	}
	m := marks[0]
	if utf8.RuneCountInString(body[:m.end]) <= maxCharacter {
		return 0
	}
	before := utf8.RuneCountInString(body[:m.start]) - maxCharacter/4
	return byteLength(body, max(0, min(before, characters-maxCharacter)))
}

// byteLength is the length of the first n characters of a text.
func byteLength(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

func utf16Length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// listRelevant lists the relevant chunks that are in the list of chunks.
func (d *detailer) listRelevant(at int) {
	if d.Relevance == "document" {
		return
	}
	cut := d.cuts[at]
	d.Chunkers[at].Relevant = make([][]int, len(d.questions))
	for q := range cut.relevant {
		pairs := []int{}
		for _, name := range slices.Sorted(maps.Keys(cut.relevant[q])) {
			if place, ok := cut.chunks[name]; ok {
				pairs = append(pairs, place, cut.relevant[q][name])
			}
		}
		d.Chunkers[at].Relevant[q] = pairs
	}
}

// trim takes away the texts that there is no room for, of the worst ranks first.
func (d *detailer) trim() {
	order := make([]int, len(d.Chunks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.best[a], d.best[b]) })
	left, without := d.maxText, 0
	for _, at := range order {
		c := &d.Chunks[at]
		if left -= len(c.Text); left >= 0 {
			continue
		}
		if c.After += utf8.RuneCountInString(c.Text); c.Text != "" {
			without++
		}
		c.Text, c.Marks = "", nil
	}
	if without > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("The texts of %d of %d chunks are left out, so that the file stays small: those that rank lowest.", without, len(d.Chunks)))
	}
}

// readDocuments reads the titles of the documents in the list.
func (d *detailer) readDocuments() error {
	for _, output := range d.p.Fetch.Kind.Outputs {
		if !strings.HasPrefix(output, "documents-") {
			continue
		}
		err := readLines(d.ctx, d.store, d.out, d.p.Fetch, output, func(doc axes.Document) {
			if at, ok := d.docAt[doc.ID]; ok {
				d.Documents[at].Title = doc.Title
			}
		})
		if err != nil {
			return fmt.Errorf("read documents: %w", err)
		}
	}
	return nil
}
