package html

import (
	"fmt"
	"strconv"

	"raglab/internal/report"
)

// What stands where there is no number: a word for what was not measured, a dash for
// what does not apply.
const (
	unmeasured    = "unmeasured"
	notApplicable = "–"
)

// number is a cell with a value in units; it sorts by the value itself.
func number(v *float64, unit float64, decimals int) cell {
	if v == nil {
		return cell{Text: unmeasured, Class: "none"}
	}
	return cell{Text: strconv.FormatFloat(*v/unit, 'f', decimals, 64), Value: strconv.FormatFloat(*v, 'g', -1, 64)}
}

func score(v *float64) cell { return number(v, 1, 3) }

// millis has as many decimals as mean something.
func millis(v *float64) cell {
	switch {
	case v == nil:
		return number(nil, 1, 0)
	case *v < 0.1:
		return number(v, 1, 3)
	case *v < 10:
		return number(v, 1, 2)
	case *v < 100:
		return number(v, 1, 1)
	}
	return number(v, 1, 0)
}

func seconds(v *float64) cell {
	if v != nil && *v < 10 {
		return number(v, 1, 2)
	}
	return number(v, 1, 0)
}

func megabytes(b *int64) cell { return number(float(b), 1e6, 2) }

func count(n int) cell { return cell{Text: strconv.Itoa(n)} }

func float(b *int64) *float64 {
	if b == nil {
		return nil
	}
	v := float64(*b)
	return &v
}

// share is a part of one as per cent.
func share(v *float64) cell {
	c := number(v, 0.01, 0)
	if v != nil {
		c.Text += " %"
	}
	return c
}

func interval(low, high float64) string { return fmt.Sprintf("%.3f to %.3f", low, high) }

func differences(low, high float64) string { return fmt.Sprintf("%+.3f to %+.3f", low, high) }

// verdict is a comparison's, as a word.
func verdict(c *report.Comparison) string {
	switch {
	case c == nil:
		return report.NotTested
	case c.Verdict != "":
		return c.Verdict
	case c.Tell:
		return report.Separated
	}
	return report.Level
}

// verdictCell bears a class by which the page's style marks the word.
func verdictCell(word string) cell {
	class := map[string]string{report.Separated: "separated", report.Level: "level"}[word]
	return cell{Text: word, Class: "verdict " + class}
}

// compared are the cells of a comparison: the difference, its interval, its verdict.
func compared(c *report.Comparison) []cell {
	if c == nil {
		return []cell{{Text: notApplicable}, {Text: notApplicable}, verdictCell(report.NotTested)}
	}
	return []cell{
		{Text: fmt.Sprintf("%+.3f", c.Difference), Value: strconv.FormatFloat(c.Difference, 'g', -1, 64)},
		{Text: differences(c.Low, c.High), Value: strconv.FormatFloat(c.Low, 'g', -1, 64)},
		verdictCell(verdict(c)),
	}
}

// p95 is a row's latency, nil when unmeasured.
func p95(c *report.Configuration) *float64 {
	if c.Latency == nil {
		return nil
	}
	return &c.Latency.P95
}
