package spec

import (
	"slices"
	"strings"
)

// Secrets are the texts in the values of sensitive variables. Texts of a letter
// or two are left out: to hide them would only garble what is shown.
func (e *Experiment) Secrets() []string { return e.secrets }

// Sensitive reports whether a variable of the spec is sensitive.
func (e *Experiment) Sensitive(variable string) bool { return e.sensitive[variable] }

// Hide returns a function that replaces the secrets of variables in a text by
// (sensitive).
func (e *Experiment) Hide() func(string) string { return hiding(e.secrets) }

// HasSecrets reports whether [Experiment.Redact] has anything to hide.
func (e *Experiment) HasSecrets() bool { return len(e.secrets)+len(e.ownSecrets) > 0 }

// Redact is like [Experiment.Hide] and hides the secrets of the store and of sources,
// such as the address of a database, too. It is for what is shown and logged, not for keys: where indexes live must not change
// what they are called.
func (e *Experiment) Redact() func(string) string {
	// Long ones first, so that none is broken by a shorter one within it.
	all := slices.Concat(e.ownSecrets, e.secrets)
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return hiding(all)
}

func hiding(secrets []string) func(string) string {
	if len(secrets) == 0 {
		return func(s string) string { return s }
	}
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "(sensitive)")
		if inJSON := strings.Trim(encode(s), `"`); inJSON != s {
			pairs = append(pairs, inJSON, "(sensitive)")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
