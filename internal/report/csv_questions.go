package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
)

// PerQuestionParams are the parameters of the output per_question.
type PerQuestionParams struct {
	Path  string `hcl:"path" path:"true" doc:"File to write; its folder is made."`
	Ranks bool   `hcl:"ranks" default:"true" doc:"Read all rankings again for the rank of the first relevant result; without it only a metric mrr tells the rank."`
}

type perQuestionFile struct{ PerQuestionParams }

var _ Detailed = perQuestionFile{}

func perQuestionOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "per_question", Version: "1",
		Summary: "CSV with one line for each test question of each configuration.",
		Doc: "The columns are the question's id, its part, its tags, the configuration with its options, all metrics, the rank of the first relevant result, and the stage at which the question was lost, where these are known. " +
			"Lines are in the order of the configurations and of the judged questions. An unmeasured value is an empty field. " + safeDoc,
	}, func(p PerQuestionParams, _ axes.Env) (Output, error) { return perQuestionFile{p}, nil })
}

func (o perQuestionFile) Path() string { return o.PerQuestionParams.Path }

// WantsDetails implements [Detailed].
func (o perQuestionFile) WantsDetails() bool { return o.Ranks }

func (o perQuestionFile) Render(r *Report, _ []byte) ([]byte, error) {
	return r.perQuestion(r.FirstRelevant)
}

// RenderDetailed implements [Detailed]. The details may be of some of the questions.
func (o perQuestionFile) RenderDetailed(r *Report, d *Details, _ []byte) ([]byte, error) {
	places, rows := map[string]int{}, map[string]int{}
	for i, q := range d.Questions {
		places[q.ID] = i
	}
	for i := range r.Configurations {
		rows[r.Configurations[i].Name] = i
	}
	return r.perQuestion(func(c *Configuration, question string) (int, bool) {
		place, ok := places[question]
		if row := rows[c.Name]; ok && row < len(d.Rows) && d.Rows[row].Run >= 0 {
			first := d.Runs[d.Rows[row].Run].First[place]
			return first, first > 0
		}
		return r.FirstRelevant(c, question)
	})
}

// perQuestion is the file, with the rank of a question's first relevant result in a
// row, and false where none is known.
func (r *Report) perQuestion(first func(c *Configuration, question string) (int, bool)) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"question", "part", "tags", "configuration"}
	for _, f := range r.Factors {
		head = append(head, f.Name)
	}
	_ = w.Write(safeCells(append(append(head, r.Metrics...), "first_relevant_rank", "lost")))
	golden := r.questionsByID()
	for i := range r.Configurations {
		c := &r.Configurations[i]
		for _, id := range r.questionsOf(c) {
			_ = w.Write(safeCells(r.questionCells(c, id, golden[id], first)))
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func (r *Report) questionCells(c *Configuration, id string, q *GoldenQuestion, first func(*Configuration, string) (int, bool)) []string {
	part, tags := "test", ""
	if q != nil {
		part, tags = q.Part, strings.Join(q.Tags, " ")
	}
	row := []string{id, part, tags, c.Name}
	for _, f := range r.Factors {
		row = append(row, c.Options[f.Name])
	}
	for _, m := range r.Metrics {
		row = append(row, plain(c.PerQuestion[id][m]))
	}
	rank, lost := "", ""
	if n, ok := first(c, id); ok {
		rank = strconv.Itoa(n)
	}
	if c.Losses != nil {
		lost = c.Losses.Questions[id]
	}
	return append(row, rank, lost)
}

func (r *Report) questionsByID() map[string]*GoldenQuestion {
	by := make(map[string]*GoldenQuestion, len(r.Golden))
	for i := range r.Golden {
		by[r.Golden[i].ID] = &r.Golden[i]
	}
	return by
}

// questionsOf are the questions that a row has values for, in the order of the
// judged set, those that it does not name last.
func (r *Report) questionsOf(c *Configuration) []string {
	ids := make([]string, 0, len(c.PerQuestion))
	listed := make(map[string]bool, len(r.Golden))
	for _, q := range r.Golden {
		listed[q.ID] = true
		if _, ok := c.PerQuestion[q.ID]; ok {
			ids = append(ids, q.ID)
		}
	}
	var rest []string
	for id := range c.PerQuestion {
		if !listed[id] {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	return append(ids, rest...)
}

// FirstRelevant is the rank of the first relevant result of a question, as far as a
// reciprocal rank among the metrics tells; false where none does, and where nothing
// relevant is within the metric's cut-off.
func (r *Report) FirstRelevant(c *Configuration, question string) (int, bool) {
	for _, m := range r.Metrics {
		if name, _, _ := strings.Cut(m, "@"); name != "mrr" {
			continue
		}
		if v := c.PerQuestion[question][m]; v != nil && *v > 0 {
			return int(math.Round(1 / *v)), true
		}
	}
	return 0, false
}
