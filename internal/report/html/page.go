package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"strings"

	"raglab/internal/report"
)

//go:embed assets
var assets embed.FS

// Input is what a page is made of.
type Input struct {
	Report *report.Report
	// Details are what the question explorer shows; without them it has no rankings.
	Details *report.Details
}

// section is one part of the page.
type section struct {
	// id is the id of its element, and the name of its files in assets.
	id    string
	title string
	// build returns the section's part; the zero part leaves the section out.
	build func(in Input) (part, error)
}

// part is what one section shows.
type part struct {
	// view is what its template gets; nil leaves the section out.
	view any
	// data is what its script gets by raglab.data(id), as JSON; nil is none.
	data any
	// later is what its script gets by raglab.later(id), once the page is whole: what is
	// large and not needed at once, so that the page answers before it is read.
	later any
}

// shown is a section as the page's template gets it.
type shown struct {
	ID, Title string
	Body      template.HTML
	Data      template.HTML
	Later     template.HTML
}

// page is what the page's template gets. Script and Style are whole elements: the
// policy holds the hashes of what stands between their tags, to the byte.
type page struct {
	Title, Subtitle string
	Policy          string
	Style, Script   template.HTML
	Sections        []shown
}

// Page returns the file's bytes, which are a function of the input alone.
func Page(in Input) ([]byte, error) {
	p := page{Title: title(in.Report)}
	if p.Title != in.Report.Experiment {
		p.Subtitle = in.Report.Experiment
	}
	styles, scripts := []string{"base", "tables", "charts"}, []string{"base", "state", "tables", "print"}
	for _, s := range sections() {
		made, err := s.build(in)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.id, err)
		}
		if made.view == nil {
			continue
		}
		show, err := s.render(made)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.id, err)
		}
		p.Sections = append(p.Sections, show)
		styles, scripts = append(styles, s.id), append(scripts, s.id)
	}
	style, script := join(styles, ".css"), join(append(scripts, "ready"), ".js")
	p.Style = template.HTML("<style>" + style + "</style>")
	p.Script = template.HTML("<script>" + script + "</script>")
	p.Policy = policy(style, script)
	return execute("page", p)
}

func title(r *report.Report) string {
	if r.Title != "" {
		return r.Title
	}
	return r.Experiment
}

// render fills the section's template.
func (s section) render(made part) (shown, error) {
	body, err := execute(s.id, made.view)
	if err != nil {
		return shown{}, err
	}
	show := shown{ID: s.id, Title: s.title, Body: template.HTML(body)}
	if made.data != nil {
		if show.Data, err = dataElement("data-"+s.id, made.data); err != nil {
			return shown{}, err
		}
	}
	if made.later != nil {
		show.Later, err = dataElement("later-"+s.id, made.later)
	}
	return show, err
}

// dataElement holds data for a script. encoding/json writes <, > and & as escapes,
// so that no text of the data can end the element or open a comment in it.
func dataElement(id string, data any) (template.HTML, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode data: %w", err)
	}
	return template.HTML(`<script type="application/json" id="` + template.HTMLEscapeString(id) + `">` + string(b) + "</script>"), nil
}

// execute fills the template of a name. Every template sees those of shared.tmpl.
func execute(name string, view any) ([]byte, error) {
	t, err := template.New(name).Funcs(functions()).ParseFS(assets, "assets/shared.tmpl", "assets/"+name+".tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name+".tmpl", view); err != nil {
		return nil, fmt.Errorf("fill template: %w", err)
	}
	return b.Bytes(), nil
}

// join puts the files of sections one after the other; a section need not have one.
func join(ids []string, extension string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for _, id := range ids {
		text, err := assets.ReadFile("assets/" + id + extension)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		b.Write(bytes.TrimSpace(text))
		b.WriteString("\n\n")
	}
	return b.String()
}

// policy allows the page's own style and script, images that stand in the file, and
// nothing else.
func policy(style, script string) string {
	return "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
