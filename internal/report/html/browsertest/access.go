package browsertest

import _ "embed"

//go:embed access.js
var access string

// Barriers returns what stands between the page, as it is shown now, and a reader who
// cannot see it, cannot use a mouse or needs contrast: one sentence each, which begins with the rule and
// the criterion of WCAG 2.2, levels A and AA, that it is about. The rules are in access.js. They cover what of
// axe's rules for these levels a page of reports can break, and besides these: that the focus is seen, has contrast and is
// not covered; contrast of controls and charts; that live regions are there and can speak.
func (p *Page) Barriers() []string {
	p.t.Helper()
	return Eval[[]string](p, access)
}
