package html

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"raglab/internal/report"
)

// explorerView is what the template gets.
type explorerView struct {
	Primary string
	// Rankings tells that there are rankings to show.
	Rankings bool
	Notes    []string
}

// explorerData is what the script gets. Its rows are those of decisionsData.
type explorerData struct {
	Primary   string             `json:"primary"`
	Questions []explorerQuestion `json:"questions"`
	Names     []string           `json:"names"`
	// Measurements are the places of the rows' values, as in decisionRow, and Values are
	// by measurement and question.
	Measurements []int           `json:"measurements"`
	Values       []report.Scores `json:"values"`
	// Stages are those at which questions are lost, and Losses, by measurement, pairs of
	// a question and its stage.
	Stages []string `json:"stages"`
	Losses [][]int  `json:"losses"`
	// First are the rows that are chosen at first: the best, and the next that is
	// another measurement.
	First []int `json:"first"`
	// Packed tells that rankings stand behind the scripts: [report.Details] as JSON,
	// packed by gzip, in base64.
	Packed bool `json:"packed"`
}

type explorerQuestion struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	Tags []string `json:"tags,omitempty"`
	Part string   `json:"part,omitempty"`
}

// explorer shows questions one by one, as several rows answer them.
func explorer(in Input) (part, error) {
	r := in.Report
	ids := scoredIDs(r)
	if len(ids) == 0 || len(r.Configurations) == 0 {
		return part{}, nil
	}
	data := explorerData{Primary: r.Primary, Stages: report.LossStages, First: firstRows(r)}
	data.Questions = explorerQuestions(r, ids)
	place := make(map[string]int, len(data.Questions))
	ids = ids[:0]
	for i, q := range data.Questions {
		place[q.ID] = i
		ids = append(ids, q.ID)
	}
	known := map[string]int{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		data.Names = append(data.Names, c.Name)
		at, ok := known[c.Key]
		if !ok || c.Key == "" {
			at = len(data.Values)
			known[c.Key] = at
			data.Values = append(data.Values, valuesOf(r, c, ids))
			data.Losses = append(data.Losses, lossesOf(c, place))
		}
		data.Measurements = append(data.Measurements, at)
	}
	view := explorerView{Primary: r.Primary}
	if in.Details == nil {
		return part{view: view, data: data}, nil
	}
	view.Rankings, view.Notes, data.Packed = true, in.Details.Notes, true
	packed, err := pack(in.Details)
	return part{view: view, data: data, later: packed}, err
}

// explorerQuestions are all questions of the set, those without a value after the
// others in its order; ids alone where a report does not list them.
func explorerQuestions(r *report.Report, ids []string) []explorerQuestion {
	questions := make([]explorerQuestion, 0, max(len(ids), len(r.Golden)))
	listed := map[string]bool{}
	for _, q := range r.Golden {
		listed[q.ID] = true
		questions = append(questions, explorerQuestion{q.ID, q.Text, q.Tags, q.Part})
	}
	for _, id := range ids {
		if !listed[id] {
			questions = append(questions, explorerQuestion{ID: id})
		}
	}
	return questions
}

// valuesOf are a row's values of the primary metric, not a number where there is none.
func valuesOf(r *report.Report, c *report.Configuration, ids []string) report.Scores {
	values := make(report.Scores, len(ids))
	for i, id := range ids {
		values[i] = math.NaN()
		if v := c.PerQuestion[id][r.Primary]; v != nil {
			values[i] = *v
		}
	}
	return values
}

// lossesOf are pairs of a question and the stage at which the row lost it, by question.
func lossesOf(c *report.Configuration, place map[string]int) []int {
	pairs := []int{}
	if c.Losses == nil {
		return pairs
	}
	for id, stage := range c.Losses.Questions {
		q, known := place[id]
		if s := slices.Index(report.LossStages, stage); known && s >= 0 {
			pairs = append(pairs, q<<3|s)
		}
	}
	slices.Sort(pairs)
	out := make([]int, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, p>>3, p&7)
	}
	return out
}

// firstRows are the best row and the next one that is another measurement.
func firstRows(r *report.Report) []int {
	ranked := r.Ranked()
	first := []int{}
	for _, c := range ranked {
		if len(first) > 0 && (c.Key == ranked[0].Key || len(first) == 2) {
			continue
		}
		at := slices.IndexFunc(r.Configurations, func(o report.Configuration) bool { return o.Name == c.Name })
		first = append(first, at)
	}
	return first
}

func pack(d *report.Details) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack details: %w", err)
	}
	if err := json.NewEncoder(w).Encode(d); err != nil {
		return nil, fmt.Errorf("encode details: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack details: %w", err)
	}
	return b.Bytes(), nil
}
