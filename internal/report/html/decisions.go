package html

import (
	"slices"

	"raglab/internal/report"
)

// decisionsView is what the template gets: which limits can tell rows apart at all.
type decisionsView struct {
	Primary string
	// Billed, Asking, Served and Unmeasured tell that some row is billed for, asks a
	// service, needs a database server, has a cost that nobody measured.
	Billed, Asking, Served, Unmeasured bool
}

// decisionsData is what the script gets.
type decisionsData struct {
	Primary string `json:"primary"`
	// Order is what cheap means, the first cost first.
	Order []string      `json:"order"`
	Rows  []decisionRow `json:"rows"`
	// Values are the primary metric's by measurement and scored question, null where
	// it is not measured.
	Values []report.Scores `json:"values"`
}

// decisionRow is a row with what it costs; null is unmeasured.
type decisionRow struct {
	Name string `json:"name"`
	// Measurement is the place of its values: rows that are one measurement share it;
	// -1 without a score.
	Measurement int      `json:"measurement"`
	Quality     *float64 `json:"quality"`
	P95         *float64 `json:"p95"`
	Composed    bool     `json:"composed,omitempty"`
	Index       *float64 `json:"index"`
	Ingest      *float64 `json:"ingest"`
	// USD is for 1,000 questions: 0 for a row that nobody bills for. Its price is what
	// the spec declares, and its tokens may be an estimate.
	USD       *float64 `json:"usd"`
	Estimated bool     `json:"estimated,omitempty"`
	Service   bool     `json:"service,omitempty"`
	Server    bool     `json:"server,omitempty"`
	// Against is the comparison with the best of all rows: its interval and verdict.
	Against *against `json:"against,omitempty"`
}

type against struct {
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Verdict    string  `json:"verdict"`
}

// decisions are the rows under limits that the reader sets.
func decisions(in Input) (part, error) {
	r := in.Report
	if len(r.Configurations) < 2 {
		return part{}, nil
	}
	data := decisionsData{Primary: r.Primary, Order: report.DefaultCostOrder}
	if len(r.CostOrder) > 0 {
		data.Order = r.CostOrder
	}
	view := decisionsView{Primary: r.Primary}
	ids := scoredIDs(r)
	for i, c := range r.Configurations {
		row := decisionRowOf(r, &c)
		if c.Key == "" || len(c.PerQuestion) == 0 {
			row.Measurement = -1
		} else if at := slices.IndexFunc(r.Configurations[:i], func(o report.Configuration) bool { return o.Key == c.Key }); at >= 0 {
			row.Measurement = data.Rows[at].Measurement
		} else {
			row.Measurement = len(data.Values)
			data.Values = append(data.Values, valuesOf(r, &c, ids))
		}
		view.Billed = view.Billed || c.Cost != nil
		view.Asking = view.Asking || row.Service
		view.Served = view.Served || row.Server
		view.Unmeasured = view.Unmeasured || row.P95 == nil || row.Index == nil || row.Ingest == nil || row.USD == nil
		data.Rows = append(data.Rows, row)
	}
	return part{view: view, data: data}, nil
}

func decisionRowOf(r *report.Report, c *report.Configuration) decisionRow {
	free := 0.0
	row := decisionRow{
		Name: c.Name, Quality: c.Metrics[r.Primary], P95: p95(c), Index: float(c.IndexBytes), Ingest: c.IngestSeconds,
		USD: &free, Service: len(c.Services) > 0, Server: c.HeapBytes != nil,
	}
	row.Composed = c.Latency != nil && c.Latency.Composed
	if c.Cost != nil {
		row.USD, row.Estimated = c.Cost.Questions, c.Cost.Estimated
	}
	if a := c.Against; a != nil {
		row.Against = &against{a.Difference, a.Low, a.High, verdict(a)}
	}
	return row
}

// scoredIDs are the questions that some row has a value for: in the order of the set,
// those that it does not list after them.
func scoredIDs(r *report.Report) []string {
	scored := map[string]bool{}
	for i := range r.Configurations {
		for id := range r.Configurations[i].PerQuestion {
			scored[id] = true
		}
	}
	var ids []string
	for _, q := range r.Golden {
		if scored[q.ID] {
			ids = append(ids, q.ID)
			delete(scored, q.ID)
		}
	}
	rest := make([]string, 0, len(scored))
	for id := range scored {
		rest = append(rest, id)
	}
	slices.Sort(rest)
	return append(ids, rest...)
}
