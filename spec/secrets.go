package spec

import "strings"

// Secrets are the texts in the values of sensitive variables. Texts of a letter
// or two are left out: to hide them would only garble what is shown.
func (e *Experiment) Secrets() []string { return e.secrets }

// Sensitive reports whether a variable of the spec is sensitive.
func (e *Experiment) Sensitive(variable string) bool { return e.sensitive[variable] }

// Hide returns a function that replaces secrets in a text by (sensitive).
func (e *Experiment) Hide() func(string) string {
	if len(e.secrets) == 0 {
		return func(s string) string { return s }
	}
	var pairs []string
	for _, s := range e.secrets {
		pairs = append(pairs, s, "(sensitive)")
		if inJSON := strings.Trim(encode(s), `"`); inJSON != s {
			pairs = append(pairs, inJSON, "(sensitive)")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
