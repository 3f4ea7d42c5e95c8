package golden

import (
	"slices"
	"strings"

	"raglab/internal/stats"
)

// Rule tells when two annotators agree about an answer. By either rule they do
// when one folded span contains the other.
type Rule string

// The rules.
const (
	// ByJaccard also takes a token Jaccard index of at least 0.6.
	ByJaccard Rule = "jaccard"
	// ByF1 also takes a token F1 of at least 0.5.
	ByF1 Rule = "f1"
)

// What the rules ask for.
const (
	agreeJaccard = 0.6
	agreeF1      = 0.5
)

// Annotated is a question with what its annotators marked, at least two.
type Annotated struct {
	Question
	By []Annotation
}

// Second returns the questions of a set that were annotated twice, in file order:
// those with a second annotation of their own, and those that several entries ask
// in the same words, of which the one that is no second_of another comes first.
func Second(set *Set) []Annotated {
	var out []Annotated
	at := map[string]int{}
	for _, q := range set.Questions {
		key := Fold(q.Text)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Annotated{Question: q})
		}
		if ok && isSecond(out[i].Question) && !isSecond(q) {
			out[i].Question = q
		}
		out[i].By = append(out[i].By, Annotation{annotatorOf(q), q.Relevant})
		if q.Second != nil {
			out[i].By = append(out[i].By, *q.Second)
		}
	}
	return slices.DeleteFunc(out, func(a Annotated) bool { return len(a.pairs()) == 0 })
}

func isSecond(q Question) bool {
	return slices.ContainsFunc(q.Tags, func(t string) bool { return strings.HasPrefix(t, "second_of:") })
}

// annotatorOf is who marked the answer; a question that does not say is of the
// original set.
func annotatorOf(q Question) string {
	for _, t := range q.Tags {
		if name, ok := strings.CutPrefix(t, "annotator:"); ok {
			return name
		}
	}
	return ""
}

// Match joins two annotations of the same questions, by their ids, or else by
// their words. The problems are questions that only one of the two has.
func Match(a, b *Set) (both []Annotated, unmatched []Problem) {
	byID, byText := map[string]int{}, map[string]int{}
	for i, q := range b.Questions {
		byID[q.ID] = i
		byText[Fold(q.Text)] = i
	}
	used := map[int]bool{}
	for _, q := range a.Questions {
		i, ok := byID[q.ID]
		if !ok || Fold(b.Questions[i].Text) != Fold(q.Text) {
			i, ok = byText[Fold(q.Text)]
		}
		if !ok || used[i] {
			unmatched = append(unmatched, q.problem("", "no other annotation asks this"))
			continue
		}
		used[i] = true
		both = append(both, Annotated{q, []Annotation{{"A", q.Relevant}, {"B", b.Questions[i].Relevant}}})
	}
	for i, q := range b.Questions {
		if !used[i] {
			unmatched = append(unmatched, q.problem("", "no other annotation asks this"))
		}
	}
	return both, unmatched
}

// pairs are the annotations of different annotators, two by two.
func (a Annotated) pairs() [][2]Annotation {
	var out [][2]Annotation
	for i, x := range a.By {
		for _, y := range a.By[i+1:] {
			if x.Annotator != y.Annotator {
				out = append(out, [2]Annotation{x, y})
			}
		}
	}
	return out
}

// Chunker is a way of cutting documents, for [Agree].
type Chunker struct {
	Name string
	// Texts are those of a document's chunks; none when there is no such document.
	Texts func(doc string) []string
}

// PairAgreement compares two annotations of one question.
type PairAgreement struct {
	Annotators [2]string
	Spans      [2]string
	// Identical is by words, Verbatim by characters.
	Identical, Verbatim bool
	// IoU is the Jaccard index of the spans' word sets, |A ∩ B| / |A ∪ B|, 1 when
	// neither has words. F1 is the harmonic mean of the shares of words, counted as
	// often as they stand there, that the two have in common, as SQuAD's evaluation
	// has it (Rajpurkar et al. 2016).
	IoU, F1 float64
	// Agree is by the rule.
	Agree bool
	// Kappa is Cohen's κ by chunker; nil where the documents have no chunks.
	Kappa []*float64
	// Differ tells of each chunker whether some chunk holds one span only.
	Differ []bool
}

// QuestionAgreement are the pairs of one question, and their means.
type QuestionAgreement struct {
	Question Question
	Pairs    []PairAgreement
	IoU, F1  float64
	Kappa    []*float64
}

// Agreement is how far annotators agree about a set. Every question counts once,
// however many annotators it has.
type Agreement struct {
	Rule      Rule
	Chunkers  []string
	Questions []QuestionAgreement
	// Pairs counts comparisons, Identical, Verbatim and Agreed those that are.
	Pairs, Identical, Verbatim, Agreed int
	// NoSpan counts questions that were left out because an annotation marks no
	// span.
	NoSpan  int
	IoU, F1 float64
	// Kappa are the means by chunker, over the questions that have one; nil when
	// none has.
	Kappa []*float64
	// Differ counts the pairs whose labels differ, by chunker.
	Differ []int
}

// Agree compares the annotations of questions.
func Agree(questions []Annotated, words Words, rule Rule, chunkers []Chunker) Agreement {
	out := Agreement{Rule: rule, Differ: make([]int, len(chunkers))}
	for _, c := range chunkers {
		out.Chunkers = append(out.Chunkers, c.Name)
	}
	for _, q := range questions {
		pairs := q.pairs()
		if slices.ContainsFunc(pairs, func(p [2]Annotation) bool { return p[0].span() == "" || p[1].span() == "" }) {
			out.NoSpan++
			continue
		}
		if len(pairs) == 0 {
			continue
		}
		one := QuestionAgreement{Question: q.Question}
		for _, p := range pairs {
			c := compare(p, words, rule, chunkers)
			out.count(c)
			one.Pairs = append(one.Pairs, c)
		}
		one.means(len(chunkers))
		out.Questions = append(out.Questions, one)
	}
	out.IoU = mean(out.Questions, func(q QuestionAgreement) float64 { return q.IoU })
	out.F1 = mean(out.Questions, func(q QuestionAgreement) float64 { return q.F1 })
	out.Kappa = meanKappa(out.Questions, len(chunkers), func(q QuestionAgreement) []*float64 { return q.Kappa })
	return out
}

func (a *Agreement) count(p PairAgreement) {
	a.Pairs++
	for into, is := range map[*int]bool{&a.Identical: p.Identical, &a.Verbatim: p.Verbatim, &a.Agreed: p.Agree} {
		if is {
			*into++
		}
	}
	for i, d := range p.Differ {
		if d {
			a.Differ[i]++
		}
	}
}

func (q *QuestionAgreement) means(chunkers int) {
	q.IoU = mean(q.Pairs, func(p PairAgreement) float64 { return p.IoU })
	q.F1 = mean(q.Pairs, func(p PairAgreement) float64 { return p.F1 })
	q.Kappa = meanKappa(q.Pairs, chunkers, func(p PairAgreement) []*float64 { return p.Kappa })
}

func mean[T any](items []T, value func(T) float64) float64 {
	if len(items) == 0 {
		return 0
	}
	values := make([]float64, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	return stats.Mean(values)
}

func meanKappa[T any](items []T, chunkers int, kappa func(T) []*float64) []*float64 {
	out := make([]*float64, chunkers)
	for i := range out {
		var values []float64
		for _, item := range items {
			if k := kappa(item)[i]; k != nil {
				values = append(values, *k)
			}
		}
		if len(values) > 0 {
			m := stats.Mean(values)
			out[i] = &m
		}
	}
	return out
}

// span is all that an annotator marked, as one text.
func (a Annotation) span() string {
	var spans []string
	for _, r := range a.Relevant {
		if r.Span != "" && r.Grade > 0 {
			spans = append(spans, r.Span)
		}
	}
	return strings.Join(spans, " ")
}

func compare(p [2]Annotation, words Words, rule Rule, chunkers []Chunker) PairAgreement {
	a, b := p[0].span(), p[1].span()
	wa, wb := words(a), words(b)
	out := PairAgreement{
		Annotators: [2]string{p[0].Annotator, p[1].Annotator}, Spans: [2]string{a, b},
		Identical: slices.Equal(wa, wb), Verbatim: a == b, IoU: tokenIoU(wa, wb), F1: tokenF1(wa, wb),
	}
	fa, fb := Fold(a), Fold(b)
	out.Agree = strings.Contains(fa, fb) || strings.Contains(fb, fa)
	switch rule {
	case ByF1:
		out.Agree = out.Agree || out.F1 >= agreeF1
	default:
		out.Agree = out.Agree || out.IoU >= agreeJaccard
	}
	for _, c := range chunkers {
		la, lb := labels(p, c)
		k, ok := Kappa(la, lb)
		if !ok {
			out.Kappa = append(out.Kappa, nil)
		} else {
			out.Kappa = append(out.Kappa, &k)
		}
		out.Differ = append(out.Differ, !slices.Equal(la, lb))
	}
	return out
}

// labels tell of each chunk of the documents that a pair names whether it holds
// a span of the one and of the other.
func labels(p [2]Annotation, c Chunker) (a, b []bool) {
	var docs []string
	for _, one := range p {
		for _, r := range one.Relevant {
			if r.Span != "" && r.Grade > 0 && !slices.Contains(docs, r.Doc) {
				docs = append(docs, r.Doc)
			}
		}
	}
	for _, doc := range docs {
		for _, text := range c.Texts(doc) {
			folded := Fold(text)
			a = append(a, p[0].holds(doc, folded))
			b = append(b, p[1].holds(doc, folded))
		}
	}
	return a, b
}

func (a Annotation) holds(doc, folded string) bool {
	return slices.ContainsFunc(a.Relevant, func(r Relevant) bool {
		return r.Doc == doc && r.Span != "" && r.Grade > 0 && strings.Contains(folded, Fold(r.Span))
	})
}
