package html

import (
	"fmt"
	"strings"

	"raglab/internal/report"
)

// glanceView is what a reader should know who reads nothing else.
type glanceView struct {
	Notes []string
	Facts []fact
	// Otherwise says what would have to be true for another row to be chosen.
	Otherwise []string
	Tables    []table
}

// fact is a term with what there is to say of it; Detail may be empty.
type fact struct{ Term, Value, Detail string }

func glance(in Input) (part, error) {
	r := in.Report
	view := glanceView{Notes: r.Notes, Facts: facts(r)}
	if r.Recommended != nil {
		view.Otherwise = r.Recommended.Otherwise
	}
	for i, t := range report.Pick(r.Tables(), []string{"best", "worst"}) {
		view.Tables = append(view.Tables, ofReport(fmt.Sprintf("glance-table-%d", i+1), t))
	}
	return part{view: view}, nil
}

func facts(r *report.Report) []fact {
	var list []fact
	if ranked := r.Ranked(); len(ranked) > 0 && ranked[0].Metrics[r.Primary] != nil {
		list = append(list, fact{"Best by " + r.Primary, ranked[0].Name, mean(r, ranked[0])})
	}
	if rec := r.Recommended; rec != nil {
		list = append(list, recommended(r, rec))
	}
	list = append(list, fact{
		"Questions", fmt.Sprintf("%d scored", r.Questions.Scored),
		fmt.Sprintf("of %d: %d to tune on, %d to test on, %d of these without a relevant document", r.Questions.Total, r.Questions.Dev, r.Questions.Test, r.Questions.Excluded),
	})
	if c := r.Ceiling; c != nil {
		list = append(list, fact{
			"Room", fmt.Sprintf("%.0f %% solved by all", c.All*100),
			fmt.Sprintf("%.0f %% by none; %.0f %% have the highest value from all", c.None*100, c.Perfect*100),
		})
	}
	return append(list, fact{"Configurations", fmt.Sprint(len(r.Configurations)), r.Accounting})
}

// mean is a row's mean of the primary metric with its interval.
func mean(r *report.Report, c *report.Configuration) string {
	text := r.Primary + " " + score(c.Metrics[r.Primary]).Text
	if i := c.Intervals[r.Primary]; i != nil {
		text += ", 95 % interval " + interval(i.Low, i.High)
	}
	return text
}

func recommended(r *report.Report, rec *report.Recommendation) fact {
	f := fact{Term: "Recommended", Value: rec.Row}
	c := find(r, rec.Row)
	if c == nil {
		return f
	}
	f.Detail = fmt.Sprintf("The cheapest of %d that may be as good as the best, by %s: %s; p95 %s, index %s, ingest %s",
		len(rec.Level), strings.Join(rec.Order, ", then "), mean(r, c),
		withUnit(millis(p95(c)), "ms"), withUnit(megabytes(c.IndexBytes), "MB"), withUnit(seconds(c.IngestSeconds), "s"))
	return f
}

func withUnit(c cell, unit string) string {
	if c.Text == unmeasured {
		return unmeasured
	}
	return c.Text + " " + unit
}

// find returns the row of a name, nil when there is none.
func find(r *report.Report, name string) *report.Configuration {
	for i := range r.Configurations {
		if r.Configurations[i].Name == name {
			return &r.Configurations[i]
		}
	}
	return nil
}
