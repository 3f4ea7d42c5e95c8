package spec

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// readGoldenSource reads the source that questions have of their own.
func (l *loader) readGoldenSource(b *hclsyntax.Block, p goldenBlock) {
	o := l.readLabelled(b, sourceFactor)
	l.e.Golden.Source = o
	if p.File != "" || p.Queries != "" || p.Qrels != "" {
		l.report(errorAt(sumGoldenFiles, b.DefRange(), "golden has either a source, or a file, or queries and qrels."))
	}
	for _, name := range l.ownAttributes(o) {
		if a := b.Body.Attributes[name]; a != nil && !slices.ContainsFunc(o.fields, func(f field) bool { return f.Name == name }) {
			l.report(errorAt(sumUnknownAttribute, a.NameRange, "The %s is that of the corpus, and said there.", name))
		}
	}
	l.checkLocks(o)
	if !o.bad && !o.info.BringsQuestions {
		var bringing []string
		for _, k := range l.opts.Catalog.Kinds(sourceFactor) {
			if k.BringsQuestions {
				bringing = append(bringing, k.Name)
			}
		}
		slices.Sort(bringing)
		l.report(errorAt(sumNoQuestions, b.LabelRanges[0], "The source kind %q brings no questions; those that do are %s.", o.Kind, joinWords(bringing)))
		o.bad = true
	}
}

// checkLocks reports two sources that would write one lock file.
func (l *loader) checkLocks(golden *Option) {
	lockOf := func(o *Option) (string, *field) {
		for i := range o.fields {
			if f := &o.fields[i]; f.Name == "lock" && f.attr != nil {
				path, _ := f.value.(string)
				return path, f
			}
		}
		return "", nil
	}
	if l.e.Corpus == nil {
		return
	}
	ours, _ := lockOf(l.e.Corpus)
	theirs, f := lockOf(golden)
	if theirs != "" && l.world.resolve(ours) == l.world.resolve(theirs) {
		l.report(errorAt(sumBadValue, f.attr.Expr.Range(), "The corpus has the lock file %q: the source of the questions needs one of its own.", theirs))
	}
}

// joinWords writes a list with "and" before its last word.
func joinWords(words []string) string {
	out := ""
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			out += " and "
		case i > 0:
			out += ", "
		}
		out += w
	}
	return out
}

// checkQuestions reports a source that is to bring the questions and whose parameters
// name none.
func (l *loader) checkQuestions() {
	g := l.e.Golden
	o := g.Source
	if o == nil && g.File == "" && g.Queries == "" && g.Qrels == "" {
		o = l.e.Corpus
	}
	if o == nil || o.bad || !o.info.BringsQuestions || o.info.LacksQuestions == nil {
		return
	}
	done := l.e.eval.evaluate(o, nil, nil)
	if done.params == nil || done.diags.HasErrors() {
		return
	}
	if missing := o.info.LacksQuestions(done.params); missing != "" {
		block := "corpus"
		if o == g.Source {
			block = "source"
		}
		l.report(errorAt(sumNoQuestions, o.Range, "The %s %q brings no questions: %s.", block, o.Label, missing))
	}
}

// hideSecrets keeps the secrets in the parameters of store and sources out of all that
// is shown.
func (l *loader) hideSecrets() {
	for _, o := range []*Option{l.e.Store, l.e.Corpus, l.e.Golden.Source} {
		if o == nil || o.info.Secrets == nil {
			continue
		}
		if params := l.e.eval.evaluate(o, nil, nil).params; params != nil {
			l.e.ownSecrets = append(l.e.ownSecrets, o.info.Secrets(params)...)
		}
	}
}
