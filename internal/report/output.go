package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"raglab/axes"
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
	return []axes.Kind[Output]{csvOutput(), perQuestionOutput(), jsonOutput(), markdownOutput()}
}

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
	return replaceOther(o.Path(), present, next)
}

// replaceOther replaces a file whose content changed, and reports whether it did.
func replaceOther(path string, present, next []byte) (bool, error) {
	if present != nil && bytes.Equal(present, next) {
		return false, nil
	}
	return true, replace(path, next)
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
	Path     string   `hcl:"path" path:"true" doc:"File to write."`
	Marker   string   `hcl:"marker" default:"" doc:"Name of the two marker lines between which the tables go; without it the whole file is written."`
	Sections []string `hcl:"sections" default:"" enum:"glance|recommended|mattered|best|worst|axes|tags|interactions|not_measured|spans|losses|latency|ingest|cost|tuning|golden|abstention|expected|limits|full" doc:"Which sections to write, always in this order; none means all." example:"[\"glance\", \"mattered\", \"best\", \"limits\"]"`
}

type markdownFile struct{ MarkdownParams }

func markdownOutput() axes.Kind[Output] {
	return axes.Define(axes.Meta{
		Name: "markdown", Version: "1",
		Summary: "Tables and findings in Markdown, in a file of their own or between two markers of a file.",
		Doc: "With marker = \"NAME\" the file must hold the lines <!-- raglab:NAME --> and <!-- /raglab:NAME -->. " +
			"What stands between them is replaced, and not a byte elsewhere. Sections that there is nothing to say in are left out. " +
			"The order of sections, rows and columns does not depend on the results but where a table is ranked, so that a diff of two runs shows what changed.",
	}, func(p MarkdownParams, _ axes.Env) (Output, error) {
		return markdownFile{p}, nil
	})
}

func (o markdownFile) Path() string { return o.MarkdownParams.Path }

func (o markdownFile) Render(r *Report, present []byte) ([]byte, error) {
	text := Markdown(Pick(r.Tables(), o.Sections))
	if o.Marker != "" {
		return Between(present, o.Marker, text)
	}
	title := r.Experiment
	if r.Title != "" {
		title = r.Title
	}
	return []byte("# " + escapeMarkdown(title) + "\n\n" + text), nil
}
