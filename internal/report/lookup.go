package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Lookup is a question with where each row ranks what is relevant to it.
type Lookup struct {
	ID     string      `json:"id"`
	Text   string      `json:"text"`
	Tags   []string    `json:"tags,omitempty"`
	Part   string      `json:"part,omitempty"` // dev or test
	Judged []Judgement `json:"judged"`
	// Ranks are in the order of the rows; empty for a question that is not scored.
	Ranks []Rank `json:"ranks"`
}

// Judgement is a document, or a chunk, with what an annotator said of it.
type Judgement struct {
	Document string `json:"document"`
	Span     string `json:"span,omitempty"`
	Grade    int    `json:"grade"`
}

// Rank is where a row has what is relevant to a question.
type Rank struct {
	Row string `json:"configuration"`
	// First is the rank of the first relevant result, 0 when none is ranked, and
	// Ranked how many there are: documents, or chunks, as the experiment judges.
	First  int `json:"first_relevant_rank"`
	Ranked int `json:"ranked"`
	// Top are the first chunks.
	Top []string `json:"top"`
}

// QuestionTables show a question: what is judged, and what became of it in each row,
// best first.
func (r *Report) QuestionTables(l *Lookup) []Table {
	about := Table{Name: "question", Title: "Question " + l.ID, Items: []string{l.Text}}
	if l.Part != "" {
		about.Items = append(about.Items, "Part: "+l.Part)
	}
	if len(l.Tags) > 0 {
		about.Items = append(about.Items, "Tags: "+strings.Join(l.Tags, ", "))
	}
	for _, j := range l.Judged {
		s := fmt.Sprintf("Judged: %s, grade %d", j.Document, j.Grade)
		if j.Span != "" {
			s += ", answer “" + j.Span + "”"
		}
		about.Items = append(about.Items, s)
	}
	if len(l.Ranks) == 0 {
		about.Foot = "It is not among the scored questions: no row has a ranking to show."
		return []Table{about}
	}
	return []Table{about, r.rankTable(l)}
}

func (r *Report) rankTable(l *Lookup) Table {
	t := Table{Name: "question", Title: "Row by row", Note: "First is the rank of the first relevant result; rows in which it is better come first."}
	axes := r.axes()
	for _, a := range axes {
		t.Columns = append(t.Columns, Column{Name: a})
	}
	for _, m := range r.Metrics {
		t.Columns = append(t.Columns, Column{m, true})
	}
	t.Columns = append(t.Columns, Column{"first", true}, Column{"ranked", true}, Column{Name: "lost at"}, Column{Name: "top results"})
	ranks := map[string]Rank{}
	for _, rank := range l.Ranks {
		ranks[rank.Row] = rank
	}
	var rows []*Configuration
	seen := map[string]bool{}
	for _, c := range r.Ranked() {
		if _, ok := ranks[c.Name]; ok && !seen[c.Key] {
			rows, seen[c.Key] = append(rows, c), true
		}
	}
	slices.SortStableFunc(rows, func(a, b *Configuration) int {
		return compareRanks(ranks[a.Name], ranks[b.Name])
	})
	for _, c := range rows {
		rank, row := ranks[c.Name], c.labels(axes)
		for _, m := range r.Metrics {
			row = append(row, score(c.PerQuestion[l.ID][m]))
		}
		first, lost := notApplicable, notApplicable
		if rank.First > 0 {
			first = strconv.Itoa(rank.First)
		}
		if c.Losses != nil && c.Losses.Questions[l.ID] != "" {
			lost = c.Losses.Questions[l.ID]
		}
		t.Rows = append(t.Rows, append(row, first, strconv.Itoa(rank.Ranked), lost, strings.Join(rank.Top, " ")))
	}
	if left := len(l.Ranks) - len(rows); left > 0 {
		t.Foot = fmt.Sprintf("Rows that are the same measurement under other labels are left out: %d.", left)
	}
	return t
}

// compareRanks orders by the first relevant result; rows without one come last.
func compareRanks(a, b Rank) int {
	switch {
	case a.First == b.First:
		return 0
	case a.First == 0:
		return 1
	case b.First == 0:
		return -1
	}
	return a.First - b.First
}

// ConfigurationTables show one row: its options, metrics, times, costs, and the
// questions that it lost.
func (r *Report) ConfigurationTables(c *Configuration) []Table {
	tables := []Table{r.optionsTable(c), r.metricsTable(c)}
	if c.Latency != nil {
		tables = append(tables, c.partsTable(r.WarmUp))
	}
	if c.Losses != nil && len(c.Losses.Questions) > 0 {
		tables = append(tables, c.lostTable())
	}
	return tables
}

func (r *Report) optionsTable(c *Configuration) Table {
	t := Table{Name: "configuration", Title: c.Name, Columns: []Column{{Name: "factor"}, {Name: "option"}, {Name: "kind"}, {Name: "parameters"}}}
	if len(c.Inert) > 0 {
		t.Foot = "* the axis makes no difference to this row."
	}
	if len(c.InertWith) > 0 {
		t.Foot = strings.TrimSpace(t.Foot + " The same measurement as: " + strings.Join(c.InertWith, "; ") + ".")
	}
	for _, f := range r.Factors {
		label := c.Options[f.Name]
		if slices.Contains(c.Inert, f.Name) {
			label += "*"
		}
		d := r.detail(f.Name, c.Options[f.Name])
		if d == nil {
			if f.Axis {
				t.Rows = append(t.Rows, []string{f.Name, label, "", ""})
			}
			continue
		}
		var settings []string
		if len(d.Legs) > 0 {
			settings = append(settings, "of "+strings.Join(d.Legs, " + "))
		}
		usual := 0
		for _, s := range d.Settings {
			if s.Default {
				usual++
				continue
			}
			settings = append(settings, s.Name+" = "+s.Value+r.fitted(s.Value))
		}
		if usual > 0 {
			settings = append(settings, count(usual, "default", "defaults"))
		}
		t.Rows = append(t.Rows, []string{f.Name, label, d.Kind, strings.Join(settings, ", ")})
	}
	return t
}

// fitted is the value that was chosen for a parameter that is tuned, where there is
// one for all rows.
func (r *Report) fitted(value string) string {
	name, ok := strings.CutPrefix(value, "tune.")
	for _, t := range r.Tuning {
		if i := slices.Index(t.Names, name); ok && i >= 0 && i < len(t.Chosen) {
			return ", fitted: " + t.Chosen[i]
		}
	}
	return ""
}

func (r *Report) metricsTable(c *Configuration) Table {
	t := Table{Name: "configuration", Title: "Metrics and costs", Columns: []Column{{Name: "what"}, {"value", true}, {"95 %", true}}}
	add := func(name, value, bounds string) { t.Rows = append(t.Rows, []string{name, value, bounds}) }
	for _, m := range r.Metrics {
		bounds := notApplicable
		if i := c.Intervals[m]; i != nil {
			bounds = fmt.Sprintf("%.3f…%.3f", i.Low, i.High)
		}
		add(m, score(c.Metrics[m]), bounds)
	}
	if a := c.Against; a != nil {
		add(r.Primary+" against the best", signed(a.Difference), fineInterval(a.Low, a.High))
		t.Foot = fmt.Sprintf("Held against the best row, %s: %s.", r.Ranked()[0].Name, a.verdict())
	} else if r.Ranked()[0] == c {
		t.Foot = "It is the best row."
	}
	add("questions without results", strconv.Itoa(c.Empty), notApplicable)
	add("index MB", megabytes(c.IndexBytes), notApplicable)
	add("ingest s", seconds(c.IngestSeconds), notApplicable)
	if c.Cost != nil {
		add("ingest USD", dollars(c.Cost.Ingest, c.Cost.Estimated), notApplicable)
		add("USD per 1,000 questions", dollars(c.Cost.Questions, c.Cost.Estimated), notApplicable)
	}
	if k, _ := r.annCutoff(); c.Approximate {
		add(fmt.Sprintf("ann_recall@%d", k), c.annRecall(k), notApplicable)
	}
	if c.Rounded {
		add(scoreOffColumn, c.scoreOff(), notApplicable)
	}
	t.Foot = strings.TrimSpace(t.Foot + " Key: " + c.Key)
	t.Plot = r.metricMarks(c, len(t.Rows))
	return t
}

// metricMarks place the metrics between 0 and 1, and nothing beside other rows.
func (r *Report) metricMarks(c *Configuration, rows int) []*Mark {
	marks := make([]*Mark, rows)
	for i, m := range r.Metrics {
		if v := c.Metrics[m]; v != nil && *v <= 1 {
			marks[i] = &Mark{*v, *v, *v}
			if b := c.Intervals[m]; b != nil {
				marks[i].Low, marks[i].High = b.Low, b.High
			}
		}
	}
	return marks
}

func (c *Configuration) partsTable(warmUp int) Table {
	t := Table{
		Name: "configuration", Title: "Latency", Note: fmt.Sprintf("Milliseconds for a question, after %d to warm up. Parts do not add up to the whole's percentiles.", warmUp),
		Columns: []Column{{Name: "part"}, {"p50 ms", true}, {"p95 ms", true}},
	}
	for _, name := range LatencyParts {
		if _, ok := c.Latency.Parts[name]; ok {
			t.Rows = append(t.Rows, append([]string{name}, c.Latency.part(name)...))
		}
	}
	t.Rows = append(t.Rows, append([]string{"whole"}, latency(c.Latency)...))
	return t
}

// lostTable names the questions that the row lost, by stage.
func (c *Configuration) lostTable() Table {
	t := Table{Name: "configuration", Title: "Lost questions", Columns: []Column{{Name: "lost at"}, {"questions", true}, {Name: "which"}}}
	for _, stage := range LossStages {
		var ids []string
		for _, id := range slices.Sorted(maps.Keys(c.Losses.Questions)) {
			if c.Losses.Questions[id] == stage {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			t.Rows = append(t.Rows, []string{stage, strconv.Itoa(len(ids)), firstIDs(ids)})
		}
	}
	return t
}
