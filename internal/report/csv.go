package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
)

// safeDoc tells of [safeCell].
const safeDoc = "A text that a spreadsheet would take for a formula, as it begins with = + - @, a tab or a line end, has an apostrophe before it; numbers stay numbers."

// safeCells makes cells safe in place.
func safeCells(cells []string) []string {
	for i, c := range cells {
		cells[i] = safeCell(c)
	}
	return cells
}

// safeCell keeps a spreadsheet from taking a text for a formula.
func safeCell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "0123456789.eE+-") == "" {
		return s
	}
	return "'" + s
}

type csvFile struct{ FileParams }

func csvOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "csv", Version: "1",
		Summary: "One line for each configuration: options, metrics, latency, sizes and times.",
		Doc:     "An unmeasured value is an empty field. " + safeDoc,
	}, func(p FileParams, _ axes.Env) (Output, error) { return csvFile{p}, nil })
}

func (o csvFile) Path() string { return o.FileParams.Path }

func (o csvFile) Render(r *Report, _ []byte) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"configuration"}
	for _, f := range r.Factors {
		head = append(head, f.Name)
	}
	head = append(append(head, r.Metrics...), "difference", "low", "high", "p", "latency_p50_ms", "latency_p95_ms", "index_bytes", "ingest_seconds", "inert", "key")
	more := r.moreColumns()
	for _, m := range more {
		head = append(head, m.name)
	}
	_ = w.Write(safeCells(head))
	for i := range r.Configurations {
		_ = w.Write(safeCells(csvRow(r, &r.Configurations[i], more)))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func csvRow(r *Report, c *Configuration, more []csvColumn) []string {
	row := []string{c.Name}
	for _, f := range r.Factors {
		row = append(row, c.Options[f.Name])
	}
	for _, m := range r.Metrics {
		row = append(row, plain(c.Metrics[m]))
	}
	if a := c.Against; a != nil {
		row = append(row, plain(&a.Difference), plain(&a.Low), plain(&a.High), plain(&a.P))
	} else {
		row = append(row, "", "", "", "")
	}
	if c.Latency != nil {
		row = append(row, plain(&c.Latency.P50), plain(&c.Latency.P95))
	} else {
		row = append(row, "", "")
	}
	size := ""
	if c.IndexBytes != nil {
		size = strconv.FormatInt(*c.IndexBytes, 10)
	}
	row = append(row, size, plain(c.IngestSeconds), strconv.FormatBool(len(c.Inert) > 0), c.Key)
	for _, m := range more {
		row = append(row, m.value(c))
	}
	return row
}

// csvColumn is a column that is there when some row has a value for it.
type csvColumn struct {
	name  string
	value func(c *Configuration) string
}

func (r *Report) moreColumns() []csvColumn {
	var columns []csvColumn
	if slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.HeapBytes != nil }) {
		columns = append(columns, csvColumn{"heap_bytes", func(c *Configuration) string {
			if c.HeapBytes == nil {
				return ""
			}
			return strconv.FormatInt(*c.HeapBytes, 10)
		}})
	}
	if slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return len(c.Services) > 0 }) {
		columns = append(columns, csvColumn{"services", func(c *Configuration) string { return strings.Join(c.Services, " ") }})
	}
	columns = append(columns, r.costColumns()...)
	for _, k := range r.annCutoffs() {
		column := func(suffix string, get func(*ANNRecall) *float64) csvColumn {
			return csvColumn{fmt.Sprintf("ann_recall@%d%s", k, suffix), func(c *Configuration) string {
				if a := c.annRecallAt(k); a != nil {
					return plain(get(a))
				}
				return ""
			}}
		}
		columns = append(columns,
			column("", func(a *ANNRecall) *float64 { return &a.Mean }),
			column("_p5", func(a *ANNRecall) *float64 { return &a.P5 }))
	}
	if r.anyRounded() {
		columns = append(columns, csvColumn{"score_difference", func(c *Configuration) string {
			if c.ScoreDifference == nil {
				return ""
			}
			return plain(c.ScoreDifference)
		}})
	}
	return columns
}

func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
