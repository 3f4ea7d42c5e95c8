package browsertest

import _ "embed"

//go:embed access.js
var access string

// Barriers returns what stands between the page, as it is shown now, and a reader who
// cannot see it, cannot use a mouse or needs contrast: elements without a name,
// headings out of order, ids that are not unique or not there, tables without heads,
// boxes that scroll and cannot be focused, text below WCAG's contrast AA.
func (p *Page) Barriers() []string {
	p.t.Helper()
	return Eval[[]string](p, access)
}
