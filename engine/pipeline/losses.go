package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"raglab/axes/metric"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/internal/trec"
)

// standing is how well a ranking does for a question.
type standing uint8

// In ascending order: nothing relevant is ranked; something is, but below the
// cut-off of the primary metric; something is within it.
const (
	absent standing = iota
	lowRanked
	topRanked
)

// lostAt is the stage, of [report.LossStages], at which a question was lost that
// something is relevant to in the chunks. The legs' standing is that of the best
// one; what comes later counts when it makes the standing worse, and the last such
// stage is the one. The found ranking is that before reranking, the final one after.
func lostAt(legs []standing, found, final standing) string {
	best := slices.Max(legs)
	if best == absent {
		return "depth"
	}
	stage := "cutoff"
	if found < best {
		if stage = "fusion"; slices.Contains(legs, absent) {
			stage = "leg"
		}
	}
	if final < found {
		stage = "reranker"
	}
	return stage
}

// stageInputs are the inputs of a stage that is done.
type stageInputs struct {
	*collector
	stage *engine.Stage
}

func (s stageInputs) blob(input string) (cache.Blob, *engine.Stage, error) {
	for _, in := range s.stage.Inputs {
		if in.Name != input {
			continue
		}
		if blob, ok := s.out.Output(in.From, in.Output); ok {
			return blob, in.From, nil
		}
		return cache.Blob{}, nil, fmt.Errorf("%s has no result", in.From.Address)
	}
	return cache.Blob{}, nil, fmt.Errorf("%s does not read %q", s.stage.Address, input)
}

// open opens what a stage made, or nothing where it made none: see [collector.read].
func (c *collector) open(s *engine.Stage, output string) (io.ReadCloser, error) {
	blob, ok := c.out.Output(s, output)
	if !ok {
		return io.NopCloser(strings.NewReader("")), nil
	}
	r, err := c.store.Open(c.ctx, blob.Digest)
	if err != nil {
		return nil, &engine.LostInputError{Input: output, From: s, Err: err}
	}
	return r, nil
}

// Open implements [inputs].
func (s stageInputs) Open(input string) (io.ReadCloser, error) {
	blob, from, err := s.blob(input)
	if err != nil {
		return nil, err
	}
	r, err := s.store.Open(s.ctx, blob.Digest)
	if err != nil {
		return nil, &engine.LostInputError{Input: input, From: from, Err: err}
	}
	return r, nil
}

// Bytes implements [inputs].
func (s stageInputs) Bytes(input string) ([]byte, error) {
	blob, from, err := s.blob(input)
	if err != nil {
		return nil, err
	}
	raw, err := s.store.ReadAll(s.ctx, blob.Digest)
	if err != nil {
		return nil, &engine.LostInputError{Input: input, From: from, Err: err}
	}
	return raw, nil
}

// tracing finds out where some test questions of rows with the same chunks were lost.
type tracing struct {
	*grading
	c       *collector
	wanted  func(question string) bool
	primary metric.Metric
	// inCorpus and inChunks tell, by question, whether a relevant document is in the
	// corpus, and whether some chunk is relevant.
	inCorpus, inChunks []bool
	// seen are the standings of runs that were judged, by the run's content.
	seen map[cache.Digest][]standing
}

// tracing returns the one for a row's chunks and those of the test questions that are
// wanted, the same ones at each call.
func (c *collector) tracing(row Row, wanted func(question string) bool) (*tracing, error) {
	key := row.Ingest[0] // the first shard's chunks
	if tr, ok := c.traced[key]; ok {
		return tr, nil
	}
	tr := &tracing{c: c, wanted: wanted, seen: map[cache.Digest][]standing{}}
	var err error
	if tr.primary, err = metric.Parse(c.p.Experiment.Score.Primary); err != nil {
		return nil, err
	}
	in, w := stageInputs{c, row.Score}, row.Score.Work.(scoreWork)
	questions, err := readJudgements(in)
	if err != nil {
		return nil, err
	}
	questions = slices.DeleteFunc(questions, func(q golden.Question) bool { return !wanted(q.ID) || w.part != nil && !w.part(q) })
	if tr.grading, err = w.grading(in, questions); err != nil {
		return nil, err
	}
	if err := tr.look(row, w.relevance); err != nil {
		return nil, err
	}
	c.traced[key] = tr
	return tr, nil
}

// look fills in what is known before any run is looked at.
func (tr *tracing) look(row Row, relevance string) error {
	corpus, err := tr.corpus()
	if err != nil {
		return err
	}
	chunked := func(place int, q golden.Question) bool {
		return slices.ContainsFunc(tr.grades(place, q), func(g metric.Grade) bool { return g.Item != metric.Nowhere && g.Grade > 0 })
	}
	if relevance == "document" {
		documents, err := tr.chunkedDocuments(row)
		if err != nil {
			return err
		}
		chunked = func(_ int, q golden.Question) bool {
			return hasRelevant(q, func(doc string) bool { return documents[tr.parts.of(doc)] })
		}
	}
	for i, q := range tr.questions {
		tr.inCorpus = append(tr.inCorpus, hasRelevant(q, func(doc string) bool {
			if relevance == "chunk" {
				doc = artifact.DocumentOf(doc)
			}
			return corpus[doc]
		}))
		tr.inChunks = append(tr.inChunks, chunked(i, q))
	}
	return nil
}

// hasRelevant reports whether something that is relevant to the question is as asked.
func hasRelevant(q golden.Question, is func(doc string) bool) bool {
	return slices.ContainsFunc(q.Relevant, func(r golden.Relevant) bool { return r.Grade > 0 && is(r.Doc) })
}

// judged are the ids that questions are judged by: of documents, of those of chunks,
// and of the wholes that these are parts of. A corpus may have very many others.
func (tr *tracing) judged() map[string]bool {
	ids := map[string]bool{}
	for _, q := range tr.questions {
		for _, r := range q.Relevant {
			for _, id := range []string{r.Doc, artifact.DocumentOf(r.Doc)} {
				ids[id], ids[tr.parts.of(id)] = true, true
			}
		}
	}
	return ids
}

// corpus are the judged ids that are those of documents, or of the wholes that these are
// parts of.
func (tr *tracing) corpus() (map[string]bool, error) {
	r, err := tr.c.open(tr.c.p.Fetch, "order")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read only
	known, judged := map[string]bool{}, tr.judged()
	for id, err := range idsIn(r) {
		if err != nil {
			return nil, err
		}
		for _, id := range []string{id, tr.parts.of(id)} {
			if judged[id] {
				known[id] = true
			}
		}
	}
	return known, nil
}

// chunkedDocuments are the judged documents that have chunks, or the wholes that these
// are parts of.
func (tr *tracing) chunkedDocuments(row Row) (map[string]bool, error) {
	documents, judged := map[string]bool{}, tr.judged()
	for _, index := range row.Indexes[:1] {
		r, err := tr.c.open(index, "chunks")
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }() // it was read only
		for line, err := range tableLines(r) {
			if err != nil {
				return nil, err
			}
			id, err := trec.Unescape(string(line.id))
			if err != nil {
				return nil, fmt.Errorf("read chunk table: %w", err)
			}
			if id = tr.parts.of(id); line.chunks > 0 && judged[id] {
				documents[id] = true
			}
		}
	}
	return documents, nil
}

// standings judges what a stage ranked, by question.
func (tr *tracing) standings(s *engine.Stage) ([]standing, error) {
	blob, ok := tr.c.out.Output(s, "run")
	if !ok {
		return nil, fmt.Errorf("%s has no result", s.Address)
	}
	if known, ok := tr.seen[blob.Digest]; ok {
		return known, nil
	}
	raw, err := tr.c.read(s, "run")
	if err != nil {
		return nil, err
	}
	run, err := artifact.ReadRun(linesWhere(raw, tr.wanted))
	if err != nil {
		return nil, err
	}
	judged, err := tr.judge(run)
	if err != nil {
		return nil, err
	}
	out := make([]standing, len(judged))
	for i, j := range judged {
		switch {
		case tr.primary.Value(j) > 0:
			out[i] = topRanked
		case slices.ContainsFunc(j.Grades, func(g int32) bool { return g > 0 }):
			out[i] = lowRanked
		}
	}
	tr.seen[blob.Digest] = out
	return out, nil
}

// traceable reports whether all is there that tells where questions were lost. A score
// may be kept longer than what it was made from.
func (c *collector) traceable(row Row) bool {
	for _, in := range row.Score.Inputs {
		if _, ok := c.out.Output(in.From, in.Output); !ok {
			return false
		}
	}
	for _, s := range append(slices.Clone(row.Legs), row.Found) {
		if _, ok := c.out.Output(s, "run"); !ok {
			return false
		}
	}
	_, order := c.out.Output(c.p.Fetch, "order")
	_, chunks := c.out.Output(row.Indexes[0], "chunks")
	return order && chunks
}

// losses says where the rows lost the questions that they did not solve: those that
// scores were made for, as far as it can be told. All is found out at once, so that
// nothing is judged but what some row did not solve.
func (c *collector) losses(r *report.Report) error {
	type search struct {
		row      int
		key      string
		unsolved []string
	}
	var left []search
	wanted := map[string]bool{}
	for i, row := range c.p.Rows {
		scores := c.scores[row.Score]
		if scores == nil {
			continue
		}
		unsolved := c.unsolved(scores)
		if len(unsolved) == 0 {
			r.Configurations[i].Losses = report.NewLosses(nil)
			continue
		}
		if !c.traceable(row) {
			continue
		}
		found := search{i, c.lossKey(row), unsolved}
		if known, ok := c.p.Lost.Known(found.key); ok {
			r.Configurations[i].Losses = known
			continue
		}
		left = append(left, found)
		for _, id := range found.unsolved {
			wanted[id] = true
		}
	}
	for _, s := range left {
		l, ok := c.p.Lost.Known(s.key) // from another row that is the same measurement
		if !ok {
			tr, err := c.tracing(c.p.Rows[s.row], func(id string) bool { return wanted[id] })
			if err == nil {
				l, err = tr.losses(c.p.Rows[s.row], s.unsolved)
			}
			if err != nil {
				return fmt.Errorf("find where %s lost questions: %w", r.Configurations[s.row].Name, err)
			}
			c.p.Lost.Keep(s.key, l)
		}
		r.Configurations[s.row].Losses = l
	}
	return nil
}

// unsolved are the questions that the primary metric gives 0.
func (c *collector) unsolved(scores *Scores) []string {
	primary := slices.Index(scores.Metrics, c.p.Experiment.Score.Primary)
	var ids []string
	for _, q := range scores.Questions {
		if v, ok := q.Value(primary); ok && v == 0 {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// linesWhere are the lines of a run that belong to wanted questions. Most of the time
// that reading a run takes goes into lines that nobody asks for.
func linesWhere(run []byte, wanted func(question string) bool) []byte {
	out := make([]byte, 0, len(run))
	var last []byte
	take := false
	for line := range bytes.Lines(run) {
		question, _, _ := bytes.Cut(line, []byte{' '})
		if last == nil || !bytes.Equal(question, last) {
			last = question
			id, err := trec.Unescape(string(question))
			take = err != nil || wanted(id) // what is wrong with it, its reader says
		}
		if take {
			out = append(out, line...)
		}
	}
	return out
}

// lossesVersion is raised when the same results may give other losses.
const lossesVersion = "losses 1"

// lossKey names all that a row's losses follow from: its score, whose key holds
// chunks, judgements and the final run; the other runs; the corpus; the metric.
func (c *collector) lossKey(row Row) string {
	var key bytes.Buffer
	fmt.Fprintln(&key, lossesVersion, c.p.Experiment.Score.Primary, c.out.Keys[row.Score.Index()])
	fmt.Fprintln(&key, c.out.Keys[c.p.Fetch.Index()], c.out.Keys[row.Indexes[0].Index()])
	for _, s := range append(slices.Clone(row.Legs), row.Found) {
		run, _ := c.out.Output(s, "run")
		fmt.Fprintln(&key, run.Digest)
	}
	return cache.DigestOf(key.Bytes()).String()
}

func (tr *tracing) losses(row Row, unsolved []string) (*report.Losses, error) {
	runs := append(slices.Clone(row.Legs), row.Found, row.Run)
	standings := make([][]standing, len(runs))
	for i, s := range runs {
		var err error
		if standings[i], err = tr.standings(s); err != nil {
			return nil, err
		}
	}
	places := make(map[string]int, len(tr.questions))
	for i, q := range tr.questions {
		places[q.ID] = i
	}
	lost, legs := make(map[string]string, len(unsolved)), make([]standing, len(row.Legs))
	for _, id := range unsolved {
		place, ok := places[id]
		if !ok {
			return nil, fmt.Errorf("question %s has a score and no judgements", id)
		}
		for i := range legs {
			legs[i] = standings[i][place]
		}
		switch {
		case !tr.inCorpus[place]:
			lost[id] = "corpus"
		case !tr.inChunks[place]:
			lost[id] = "chunker"
		default:
			lost[id] = lostAt(legs, standings[len(legs)][place], standings[len(legs)+1][place])
		}
	}
	return report.NewLosses(lost), nil
}
