package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"raglab/axes/metric"
	"raglab/cache"
	"raglab/engine"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/spec"
)

// What of the rankings is kept at most, so that a file with them can be sent and opens
// at once: hits of a ranking, and hits in all.
const (
	maxKept = 10
	minKept = 3
	maxHits = 1_200_000
)

// beyondCutoff is how many hits below the primary metric's cut-off are kept.
const beyondCutoff = 5

// Details collects the rankings of an apply with the chunks in them. It reads them from
// the cache and runs nothing. The report, which must be of the same apply, decides
// which questions are kept where there are too many: those that tell rows apart.
func (p *Pipeline) Details(ctx context.Context, store cache.Store, out *engine.Outcomes, r *report.Report) (*report.Details, error) {
	return p.detailsWithin(ctx, store, out, r, maxHits, maxText)
}

// detailsWithin is Details with other limits of hits and of bytes of text.
func (p *Pipeline) detailsWithin(ctx context.Context, store cache.Store, out *engine.Outcomes, r *report.Report, hits, text int) (*report.Details, error) {
	g := p.Experiment.Golden
	d := &detailer{
		collector: &collector{ctx: ctx, store: store, out: out, p: p},
		Details:   &report.Details{Depth: p.Experiment.Score.Depth, Relevance: g.Relevance, Documents: []report.DetailDocument{}},
		runAt:     map[*engine.Stage]int{}, cutAt: map[*engine.Stage]int{}, docAt: map[string]int{}, textAt: map[string]int{},
		maxText: text,
	}
	if g.Relevance == "span" {
		d.Coverage = g.Coverage
	}
	for _, row := range p.Rows {
		d.addRow(row)
	}
	steps := []func() error{
		func() error { return d.readQuestions(r, hits) },
		d.readParts, d.judgeCuts, d.rankRuns, d.readChunks, d.readDocuments, d.findForms,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d.Details, nil
}

// detailer collects [report.Details]. Its lists run parallel to those.
type detailer struct {
	*collector
	*report.Details
	questions []golden.Question
	place     map[string]int // of a kept question, by id
	parts     *wholes
	runs      []detailRun
	cuts      []*detailCut
	// runAt, cutAt, docAt and textAt are places, by a stage, a chunker's first stage, a
	// document's id and the fields of a text option.
	runAt, cutAt  map[*engine.Stage]int
	docAt, textAt map[string]int
	analyzers     []detailAnalyzer
	// best is the best rank that a chunk has anywhere, by chunk; 0 for one that holds
	// an answer.
	best    []int
	maxText int
}

// detailRun is a run with what it is made by and of.
type detailRun struct {
	stage *engine.Stage
	cut   int
	// wanted are hits, by question and chunk, that a ranking made of this one has high.
	wanted map[[2]int]bool
}

// addRow notes a row's run, with those that it is made of, and its chunker.
func (d *detailer) addRow(row Row) {
	out := report.DetailRow{Run: -1, Chunker: d.cutOf(row), Text: -1}
	if out.Chunker >= 0 {
		out.Run = d.runOf(row.Run, row.Configuration.Option(slotRetriever), row, out.Chunker)
	}
	d.Rows = append(d.Rows, out)
}

func (d *detailer) cutOf(row Row) int {
	var stages []*engine.Stage
	for _, s := range row.Ingest {
		if s.Kind.Name == "chunk" {
			stages = append(stages, s)
		}
	}
	if len(stages) == 0 {
		return -1
	}
	at, ok := d.cutAt[stages[0]]
	if !ok {
		at = len(d.cuts)
		d.cutAt[stages[0]] = at
		d.cuts = append(d.cuts, &detailCut{stages: stages, chunks: map[string]int{}})
		d.Chunkers = append(d.Chunkers, report.DetailChunker{Name: row.Chunks})
	}
	return at
}

// runOf notes the run of a stage that was made by an option, unless it is known.
func (d *detailer) runOf(s *engine.Stage, opt *spec.Option, row Row, cut int) int {
	if at, ok := d.runAt[s]; ok {
		return at
	}
	run := report.DetailRun{Stage: s.Kind.Name, Label: opt.Label}
	switch s.Kind.Name {
	case rerankKindPure.Name:
		run.Label = row.Configuration.Label(slotReranker)
		run.Inputs = []int{d.runOf(inputOf(s, "run"), opt, row, cut)}
	case fuseKind.Name:
		for i, leg := range d.p.Experiment.Refs(opt, row.Configuration) {
			run.Inputs = append(run.Inputs, d.runOf(inputOf(s, legName(i)), leg, row, cut))
		}
	}
	at := len(d.runs)
	d.runAt[s] = at
	d.runs = append(d.runs, detailRun{stage: s, cut: cut, wanted: map[[2]int]bool{}})
	d.Runs = append(d.Runs, run)
	return at
}

func inputOf(s *engine.Stage, name string) *engine.Stage {
	for _, in := range s.Inputs {
		if in.Name == name {
			return in.From
		}
	}
	panic(fmt.Sprintf("%s has no input %s", s.Address, name))
}

// readQuestions reads the judged questions, and keeps as many of them, and of each
// ranking's hits, as there is room for.
func (d *detailer) readQuestions(r *report.Report, hits int) (err error) {
	if len(d.p.Rows) == 0 {
		return nil
	}
	if d.questions, err = readJudgements(stageInputs{d.collector, d.p.Rows[0].Score}); err != nil {
		return err
	}
	texts, err := d.questionTexts()
	if err != nil {
		return err
	}
	d.limit(r, hits)
	d.Questions = make([]report.DetailQuestion, len(d.questions))
	d.place = make(map[string]int, len(d.questions))
	for i, q := range d.questions {
		d.place[q.ID] = i
		d.Questions[i] = report.DetailQuestion{ID: q.ID, Text: texts[q.ID], Judged: []report.DetailJudgement{}}
	}
	return nil
}

// limit decides how many hits are kept of a ranking, and of which questions.
func (d *detailer) limit(r *report.Report, hits int) {
	d.Kept = min(maxKept, d.Depth)
	if m, err := metric.Parse(d.p.Experiment.Score.Primary); err == nil {
		if k, cut := m.Cutoff(); cut {
			d.Kept = min(d.Kept, k+beyondCutoff)
		}
	}
	whole, runs := d.Kept, max(1, len(d.runs))
	for d.Kept > minKept && d.Kept*runs*len(d.questions) > hits {
		d.Kept--
	}
	if d.Kept < whole {
		d.Notes = append(d.Notes, fmt.Sprintf("Of each ranking the first %d hits are here, not the first %d, so that the file stays small.", d.Kept, whole))
	}
	room := max(1, hits/(runs*max(1, d.Kept)))
	if len(d.questions) <= room {
		return
	}
	d.Notes = append(d.Notes, fmt.Sprintf("Rankings are here for %d of %d questions: those on which the rows differ most.", room, len(d.questions)))
	spread := spreads(r)
	order := slices.Clone(d.questions)
	slices.SortStableFunc(order, func(a, b golden.Question) int { return cmp.Compare(spread[b.ID], spread[a.ID]) })
	kept := map[string]bool{}
	for _, q := range order[:room] {
		kept[q.ID] = true
	}
	d.questions = slices.DeleteFunc(d.questions, func(q golden.Question) bool { return !kept[q.ID] })
}

// spreads are the differences between the rows' highest and lowest primary value, by
// question.
func spreads(r *report.Report) map[string]float64 {
	low, high, spread := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range r.Configurations {
		for id, values := range r.Configurations[i].PerQuestion {
			v := values[r.Primary]
			if v == nil {
				continue
			}
			if _, seen := low[id]; !seen {
				low[id], high[id] = *v, *v
			}
			low[id], high[id] = min(low[id], *v), max(high[id], *v)
			spread[id] = high[id] - low[id]
		}
	}
	return spread
}

// readParts reads which documents are judged as parts of others, and notes the
// judgements under the names that count.
func (d *detailer) readParts() error {
	if len(d.p.Rows) > 0 && hasInput(d.p.Rows[0].Score.Inputs, "wholes") {
		var err error
		if d.parts, err = readWholes(stageInputs{d.collector, d.p.Rows[0].Score}); err != nil {
			return err
		}
	}
	for i := range d.questions {
		if d.Relevance == "document" {
			d.questions[i] = renamed(d.questions[i], d.parts.of)
		}
		for _, r := range d.questions[i].Relevant {
			d.Questions[i].Judged = append(d.Questions[i].Judged, report.DetailJudgement{Doc: r.Doc, Grade: r.Grade, Span: r.Span})
		}
	}
	return nil
}

// document is the place of a document in the list.
func (d *detailer) document(id string) int {
	at, ok := d.docAt[id]
	if !ok {
		at = len(d.Documents)
		d.docAt[id] = at
		doc := report.DetailDocument{ID: id}
		if whole := d.parts.of(id); whole != id {
			doc.Whole = whole
		}
		d.Documents = append(d.Documents, doc)
	}
	return at
}
