package html

import (
	"raglab/axes"
	"raglab/internal/report"
)

// Params are the parameters of the output html.
type Params struct {
	Path     string `hcl:"path" path:"true" doc:"File to write; its folder is made."`
	Rankings bool   `hcl:"rankings" default:"true" doc:"Whether the file holds the rankings of every question and the texts of the chunks in them, which the question explorer shows. Without them no text of a document leaves the machine with the file."`
}

type file struct{ Params }

// Kind is the output kind html.
func Kind() axes.Kind[report.Output] {
	return axes.Define(axes.Meta{
		Name: "html", Version: "1",
		Summary: "Everything as one page that a browser opens by itself: tables, charts, provenance.",
		Doc: "The file needs no network and no server, and asks for nothing: it can be sent by mail. Its tables sort and " +
			"filter, it follows the reader's choice of light or dark, and it prints. Its bench of decisions tells what remains " +
			"under limits that the reader sets; its question explorer shows a question as several configurations answer it, " +
			"with ranks, scores, the legs' ranks, and the texts of the chunks. Of large experiments only a part of the " +
			"rankings and texts is there, which the page says. What is chosen in either is in the address, to be sent as a link.",
	}, func(p Params, _ axes.Env) (report.Output, error) { return file{p}, nil })
}

func (o file) Path() string { return o.Params.Path }

func (o file) Render(r *report.Report, _ []byte) ([]byte, error) {
	return Page(Input{Report: r})
}

// WantsDetails implements [report.Detailed].
func (o file) WantsDetails() bool { return o.Rankings }

// RenderDetailed implements [report.Detailed].
func (o file) RenderDetailed(r *report.Report, d *report.Details, _ []byte) ([]byte, error) {
	return Page(Input{Report: r, Details: d})
}
