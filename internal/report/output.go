package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/internal/param"
)

// Output writes a report into a file.
type Output interface {
	// Path is the file.
	Path() string
	// Render returns the file's new content, given the present one, which is
	// nil when there is no file.
	Render(r *Report, present []byte) ([]byte, error)
}

// Outputs lists the kinds of output block.
func Outputs() []axes.Kind[Output] {
	return []axes.Kind[Output]{csvOutput(), jsonOutput(), markdownOutput()}
}

// Describe returns the kinds as descriptions.
func Describe() []axes.Described { return axes.Describe(Outputs()) }

// Write brings an output's file up to date. It reports whether the file
// changed; a file that already says so is not touched. The new file takes the
// old one's place at once.
func Write(o Output, r *Report) (bool, error) {
	present, err := os.ReadFile(o.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read output: %w", err)
	}
	next, err := o.Render(r, present)
	if err != nil {
		return false, fmt.Errorf("render %s: %w", o.Path(), err)
	}
	if present != nil && bytes.Equal(present, next) {
		return false, nil
	}
	return true, replace(o.Path(), next)
}

func replace(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make output folder: %w", err)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(b); err == nil {
		err = f.Chmod(mode)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write output %s: %w", path, err)
	}
	return nil
}

// FileParams are the parameters of outputs that are a file of their own.
type FileParams struct {
	Path string `hcl:"path" path:"true" doc:"File to write; its folder is made."`
}

type csvFile struct{ FileParams }

func csvOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "csv", Version: "1",
		Summary: "One line for each configuration: options, metrics, latency, sizes and times.",
		Doc:     "An unmeasured value is an empty field.",
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
	_ = w.Write(head)
	for i := range r.Configurations {
		_ = w.Write(csvRow(r, &r.Configurations[i], more))
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
	return columns
}

func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

type jsonFile struct{ FileParams }

func jsonOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "json", Version: "1",
		Summary: "Everything, with every question's values.",
		Doc:     "The form has a version, which rises when a field changes its meaning or goes. An unmeasured value is null.",
	}, func(p FileParams, _ axes.Env) (Output, error) { return jsonFile{p}, nil })
}

func (o jsonFile) Path() string { return o.FileParams.Path }

func (o jsonFile) Render(r *Report, _ []byte) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return append(b, '\n'), nil
}

// MarkdownParams are the parameters of the Markdown output.
type MarkdownParams struct {
	Path   string   `hcl:"path" path:"true" doc:"File to write."`
	Marker string   `hcl:"marker" default:"" doc:"Name of the two marker lines between which the tables go; without it the whole file is written."`
	Tables []string `hcl:"tables" default:"" doc:"Which tables to write: best, worst, axes, spans, latency, ingest, cost, tuning, abstention, expected, full; none means all." example:"[\"best\", \"axes\"]"`
}

type markdownFile struct{ MarkdownParams }

func markdownOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "markdown", Version: "1",
		Summary: "The tables in Markdown, in a file of their own or between two markers of a file.",
		Doc: "With marker = \"NAME\" the file must hold the lines <!-- raglab:NAME --> and <!-- /raglab:NAME -->. " +
			"What stands between them is replaced, and not a byte elsewhere.",
	}, func(p MarkdownParams, _ axes.Env) (Output, error) {
		for _, name := range p.Tables {
			if !slices.Contains(TableNames, name) {
				return nil, param.Errorf("tables", "%q is none of %s", name, strings.Join(TableNames, ", "))
			}
		}
		return markdownFile{p}, nil
	})
}

func (o markdownFile) Path() string { return o.MarkdownParams.Path }

func (o markdownFile) Render(r *Report, present []byte) ([]byte, error) {
	text := Markdown(Pick(r.Tables(), o.Tables))
	if o.Marker != "" {
		return Between(present, o.Marker, text)
	}
	title := r.Experiment
	if r.Title != "" {
		title = r.Title
	}
	return []byte("# " + title + "\n\n" + text), nil
}
