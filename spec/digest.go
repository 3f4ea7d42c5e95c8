package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// tokens splits an expression, leaving out comments and line breaks.
func tokens(src []byte) hclsyntax.Tokens {
	all, _ := hclsyntax.LexExpression(src, "", hcl.InitialPos)
	return slices.DeleteFunc(all, func(t hclsyntax.Token) bool {
		return t.Type == hclsyntax.TokenComment || t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenEOF
	})
}

// tokenText writes an expression so that layout makes no difference.
func tokenText(src []byte) string {
	var parts []string
	for _, t := range tokens(src) {
		parts = append(parts, string(t.Bytes))
	}
	return strings.Join(parts, "\x00")
}

// plainText writes an expression on one line, with single spaces where there
// was any space.
func plainText(src []byte) string {
	var b strings.Builder
	end := 0
	for _, t := range tokens(src) {
		if b.Len() > 0 && t.Range.Start.Byte > end {
			b.WriteByte(' ')
		}
		b.Write(t.Bytes)
		end = t.Range.End.Byte
	}
	return b.String()
}

// definition writes down what an option is in a configuration: kind and
// parameters after defaults, and for those that are tuned the expression with
// the values of axis that it reads and the groups in which it is fitted.
// References count by what they lead to, which is the caller's to add.
func (e *Experiment) definition(o *Option, c *Configuration) string {
	done := e.eval.evaluate(o, c, e.firstOfGrids())
	if done.params == nil {
		return "?" + o.Factor + "\x00" + o.Label
	}
	text := fmt.Appendf(nil, "%q%q", o.Factor, o.Kind)
	for i := range o.fields {
		f := &o.fields[i]
		var what any
		switch {
		case f.Ref != "":
			what = len(refLabels(f.Get(done.params)))
		case len(f.refs.tunes) > 0:
			what = e.tunedText(f, c)
		default:
			what = f.Get(done.params)
		}
		text = fmt.Appendf(append(text, f.Name...), "=%#v", what)
	}
	return string(text)
}

func (e *Experiment) tunedText(f *field, c *Configuration) []string {
	text := []string{e.expressionText(f.attr.Expr)}
	for _, name := range f.refs.axes {
		text = append(text, c.Label(name))
	}
	for _, name := range f.refs.tunes {
		text = append(text, e.Tune(name).Group(c))
	}
	return text
}

func (e *Experiment) expressionText(expr hclsyntax.Expression) string {
	at := expr.Range()
	return tokenText(e.Files[at.Filename].Bytes[at.Start.Byte:at.End.Byte])
}

// encode writes a value as JSON, whose maps are sorted by key.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("spec: encode " + err.Error()) // values are made of texts, finite numbers and lists
	}
	return string(b)
}

func (l *loader) digestCorpus() []any {
	parts := []any{l.e.Language, l.written(l.e.Corpus)}
	if size := l.e.Size.Bytes; size > 0 {
		parts = append(parts, size)
	}
	return parts
}

// digest hashes all that the spec means.
func (l *loader) digest() string {
	e := l.e
	g := e.goldenAsWritten
	var split any
	if s := e.Golden.Split; s != nil {
		split = []any{s.By, s.Dev, s.Salt, s.DevTag, s.TestTag}
	}
	var reads []string
	for _, r := range e.Reads() {
		reads = append(reads, encode([]string{r.Kind, r.Name, r.Digest}))
	}
	whole := map[string]any{
		"experiment": []string{e.Name, e.Title},
		"corpus":     l.digestCorpus(),
		"golden":     []any{g, split},
		"factors":    l.digestFactors(),
		"tunes":      sortedTexts(e.Tunes, func(t *Tune) any { return []any{t.Name, t.Labels, t.Per} }),
		"score":      []any{e.Score.Depth, e.Score.Metrics, e.Score.Primary},
		"outputs":    sortedTexts(e.Outputs, func(o *Option) any { return l.written(o) }),
		"store":      l.written(e.Store),
		"budget":     []float64{e.Budget.Seconds, e.Budget.USD},
		"expects":    sortedTexts(e.Expects, func(x *Expect) any { return []any{x.Where, x.Metric, x.Value, x.Tolerance, x.Source} }),
		"excludes":   sortedTexts(l.excludes, func(x *exclude) any { return l.writtenExpression(x.expr) }),
		"includes":   sortedTexts(l.includes, func(x *include) any { return x.labels }),
		"cross":      []any{l.crossing.mode, e.cross.Base, l.crossing.order},
		"reads":      reads,
	}
	if len(e.Abstains) > 0 {
		whole["abstains"] = sortedTexts(e.Abstains, func(a *Abstain) any { return a.written() })
	}
	if !slices.Equal(e.Score.Cheap, defaultCheap) {
		whole["cheap"] = e.Score.Cheap
	}
	if len(e.Limits) > 0 {
		whole["limits"] = sortedTexts(e.Limits, func(m *Limit) any { return m.written() })
	}
	if len(e.Gates) > 0 {
		whole["gates"] = sortedTexts(e.Gates, func(g *Gate) any { return g.written() })
	}
	if e.Golden.Source != nil {
		whole["golden source"] = l.written(e.Golden.Source)
	}
	return digest([]byte(encode(whole)))
}

func sortedTexts[T any](items []T, f func(T) any) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = encode(f(item))
	}
	slices.Sort(texts)
	return texts
}

func (l *loader) digestFactors() []string {
	return sortedTexts(l.e.Factors, func(f *Factor) any {
		options := sortedTexts(slices.Concat(f.Options, f.Legs), func(o *Option) any { return l.written(o) })
		return []any{f.Name, f.Free, f.IsAxis, options}
	})
}

// written says what an option is without a configuration: values where they are
// known, else expressions. Paths stay relative.
func (l *loader) written(o *Option) any {
	if o == nil {
		return nil
	}
	if o.Kind == "" {
		return []any{o.Label, o.Value.Type().FriendlyName()}
	}
	parts := []any{o.Label, o.Kind, o.IsLeg}
	defaults := o.info.Params()
	for _, f := range o.fields {
		switch {
		case f.dynamic:
			parts = append(parts, f.Name, l.writtenExpression(f.attr.Expr))
		case f.value != nil:
			parts = append(parts, f.Name, f.value)
		default:
			parts = append(parts, f.Name, f.Get(defaults))
		}
	}
	return parts
}

// writtenExpression is an expression and the values of var and local in it.
func (l *loader) writtenExpression(expr hclsyntax.Expression) []string {
	parts := []string{l.e.expressionText(expr)}
	for _, t := range expr.Variables() {
		if root := t.RootName(); root != "var" && root != "local" {
			continue
		}
		v, diags := t.TraverseAbs(l.static)
		if !diags.HasErrors() {
			parts = append(parts, valueText(v))
		}
	}
	return parts
}
