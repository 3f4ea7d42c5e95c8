package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"raglab/internal/param"
)

// The catalog's names for what is no slot of the pipeline.
const (
	sourceFactor = "source"
	outputFactor = "output"
	storeFactor  = "store"
)

// The attributes of the language's own blocks, with the tags that [Docs] prints.
type (
	experimentBlock struct {
		Title string `hcl:"title" default:"" doc:"The question that the experiment answers."`
	}
	corpusBlock struct {
		Language string `hcl:"language" default:"" doc:"Language of the documents as a BCP 47 tag, such as uk."`
		Size     string `hcl:"size" default:"" doc:"About how large the documents are, such as 20GB, where neither plain local files nor a lock file tell: it decides into how many shards the corpus is cut. A fetch warns of one that is far off." example:"\"20GB\""`
	}
	goldenBlock struct {
		File        string  `hcl:"file" default:"" path:"true" doc:"Judged questions in one file."`
		Format      string  `hcl:"format" default:"auto" enum:"auto|raglab|rag-eval|turkish-rag-eval" doc:"Shape of the file; auto takes it from the content."`
		Drafts      bool    `hcl:"drafts" default:"false" doc:"Take questions of the file that a model drafted, too. Those whose annotators disagree are never taken."`
		Queries     string  `hcl:"queries" default:"" path:"true" doc:"Questions in BEIR's or TREC's shape."`
		Qrels       string  `hcl:"qrels" default:"" path:"true" doc:"Judgements in BEIR's or TREC's shape."`
		Relevance   string  `hcl:"relevance" default:"document" enum:"document|span|chunk" doc:"What a judgement is about: a document; an answer span in it, which relevant chunks hold; or a chunk, named by its document, # and its place in it from 0, as in guide#3. Grades count in all three."`
		Unreachable string  `hcl:"unreachable" default:"zero" enum:"zero|skip" doc:"What becomes of a span that no chunk holds enough of: it counts as relevant and not found, so that a question with no other scores 0, or does not count, so that such a question is left out."`
		Coverage    float64 `hcl:"coverage" default:"1" min:"0" max:"1" doc:"With relevance = \"span\": the share of a span's characters that a relevant chunk holds at least, in one stretch; 1 for the whole span, never 0."`
		Within      string  `hcl:"within" default:"" doc:"With relevance = \"document\": the metadata field in which a document, such as a page, names the one that it is a part of. Rankings and judgements of parts are then those of the whole. Documents without the field are wholes of their own."`
		Missing     string  `hcl:"missing" default:"error" enum:"error|drop" doc:"What becomes of a judgement of a document that the corpus lacks: it is an error, or it is dropped, and with its last one the question."`
		Order       string  `hcl:"order" default:"source" enum:"source|id" doc:"Order of the questions: as they stand where they are from, or the byte order of their ids. Resampling depends on it."`
		StripPrefix string  `hcl:"strip_prefix" default:"" doc:"Text that is taken off the front of each question, with the white space around what is left."`
	}
	splitBlock struct {
		By      string  `hcl:"by" default:"hash" enum:"hash|tag" doc:"What decides whether a question is for dev or test: a hash of its id, or a tag."`
		Dev     float64 `hcl:"dev" default:"0.5" min:"0" max:"1" doc:"Share of the questions that are for dev, when split by hash."`
		Salt    string  `hcl:"salt" default:"" doc:"Text hashed with the id; another one gives another split."`
		DevTag  string  `hcl:"dev_tag" default:"split:dev" doc:"Tag of the dev questions, when split by tag."`
		TestTag string  `hcl:"test_tag" default:"split:test" doc:"Tag of the test questions, when split by tag."`
	}
	scoreBlock struct {
		Depth   int      `hcl:"depth" default:"100" min:"1" unit:"chunks" doc:"How many chunks are ranked for each question."`
		Metrics []string `hcl:"metrics" default:"ndcg@10,recall@5" doc:"What is measured."`
		Primary string   `hcl:"primary" default:"" doc:"The metric to tune, rank and compare by; the first one unless set."`
		Cheap   []string `hcl:"cheap" default:"p95,ingest,index" doc:"What cheap means when a configuration is recommended, what counts most first: p95 (ms for a question), ingest (seconds), index (bytes), usd (for 1,000 questions). Costs within 5 % of the least, or 1 ms, 0.1 s or 10 kB, are the same, and the next one decides. What is unmeasured counts as the highest."`
	}
	budgetBlock struct {
		Seconds float64 `hcl:"seconds" default:"0" min:"0" unit:"s" doc:"Longest time that an apply may take; 0 for no limit."`
		USD     float64 `hcl:"usd" default:"0" min:"0" unit:"USD" doc:"Most money that an apply may spend; 0 for no limit."`
	}
	expectBlock struct {
		Where     map[string]string `hcl:"where" doc:"Factors and the labels that a row must have."`
		Metric    string            `hcl:"metric" default:"" doc:"The metric; the primary one unless set."`
		Value     float64           `hcl:"value" doc:"The figure stated."`
		Tolerance float64           `hcl:"tolerance" default:"0.0005" min:"0" doc:"How far off still agrees."`
		Source    string            `hcl:"source" default:"" doc:"Where the figure is from."`
	}
	crossBlock struct {
		Mode  string            `hcl:"mode" default:"full" enum:"full|one_at_a_time|staged" doc:"Which combinations are measured."`
		Base  map[string]string `hcl:"base" default:"" doc:"Labels that axes hold while another is varied; the first option unless set."`
		Order []string          `hcl:"order" default:"" doc:"In a staged cross, the order in which axes are fixed; as in the pipeline unless set."`
	}
)

func (l *loader) readExperiment() {
	b := l.single("experiment")
	if b == nil {
		if !l.broken {
			l.report(errorAt(sumMissingBlock, l.missingRange(), `A spec begins with experiment "NAME" { title = "…" }.`))
		}
		return
	}
	l.e.Name = b.Labels[0]
	l.checkOptionLabel(l.e.Name, b.LabelRanges[0])
	var p experimentBlock
	l.decode(&p, b)
	l.e.Title = p.Title
}

func (l *loader) readCorpus() {
	b := l.single("corpus")
	if b == nil {
		if !l.broken {
			l.report(errorAt(sumMissingBlock, l.missingRange(), `There is no corpus: add corpus "files" { path = "…" } or another source.`))
		}
		return
	}
	l.e.Corpus = l.readLabelled(b, sourceFactor)
	l.readOwn(b)
}

// readOwn reads the attributes that every corpus has. Its source's kind may know the
// language too.
func (l *loader) readOwn(b *hclsyntax.Block) {
	own := mustFields(&corpusBlock{})
	for _, f := range l.e.Corpus.fields {
		if f.Name == "language" {
			l.e.Language, _ = f.value.(string)
			own = slices.DeleteFunc(slices.Clone(own), func(p param.Field) bool { return p.Name == f.Name })
		}
	}
	var p corpusBlock
	for _, f := range l.fields(own, b.Body.Attributes, staticRoots, "corpus", b.DefRange()) {
		if f.value != nil {
			f.Set(&p, f.value)
		}
	}
	l.e.Language = cmp.Or(l.e.Language, p.Language)
	l.readSize(p.Size, b.Body.Attributes["size"])
}

func (l *loader) readSize(text string, a *hclsyntax.Attribute) {
	if a == nil || text == "" {
		return
	}
	bytes, err := param.ParseSize(text)
	if err != nil || bytes == 0 {
		l.report(errorAt(sumBadValue, a.Expr.Range(), "size of corpus must be a number and a unit, such as 20GB, not %q.", text))
		return
	}
	l.e.Size = Size{bytes, a.SrcRange}
}

// readLabelled reads a block whose label is its kind: a corpus, output or store.
func (l *loader) readLabelled(b *hclsyntax.Block, factor string) *Option {
	o := &Option{Factor: factor, Label: b.Labels[0], Kind: b.Labels[0], Range: b.DefRange()}
	l.readKind(o, b.LabelRanges[0], b.Body, b.DefRange())
	return o
}

func (l *loader) readGolden() {
	b := l.single("golden")
	if b != nil {
		l.readGoldenBlock(b)
	} else {
		setDefaults(&l.e.goldenAsWritten)
		l.e.Golden.Relevance, l.e.Golden.Unreachable = l.e.goldenAsWritten.Relevance, l.e.goldenAsWritten.Unreachable
		l.e.Golden.Coverage = l.e.goldenAsWritten.Coverage
		l.e.Golden.Missing, l.e.Golden.Order = l.e.goldenAsWritten.Missing, l.e.goldenAsWritten.Order
	}
	g := l.e.Golden
	if c := l.e.Corpus; g.Source == nil && g.File == "" && g.Queries == "" && g.Qrels == "" && !l.broken &&
		c != nil && !c.bad && !c.info.BringsQuestions && !l.unreadable(b) {
		at := l.missingRange()
		if b != nil {
			at = b.DefRange()
		}
		l.report(errorAt(sumNoQuestions, at, "The corpus %q brings no questions: give golden a file, or queries and qrels, or a source.", c.Label))
	}
}

// unreadable tells that a path attribute of golden has been reported.
func (l *loader) unreadable(b *hclsyntax.Block) bool {
	if b == nil {
		return false
	}
	return slices.ContainsFunc([]string{"file", "queries", "qrels"}, func(n string) bool { return b.Body.Attributes[n] != nil }) && l.diags.HasErrors()
}

func (l *loader) readGoldenBlock(b *hclsyntax.Block) {
	var p goldenBlock
	l.decode(&p, b, "source", "split")
	l.e.Golden = Golden{
		File: l.world.resolve(p.File), Format: p.Format, Drafts: p.Drafts, Queries: l.world.resolve(p.Queries), Qrels: l.world.resolve(p.Qrels),
		Relevance: p.Relevance, Unreachable: p.Unreachable, Coverage: p.Coverage, Within: p.Within, Range: b.DefRange(),
		Missing: p.Missing, Order: p.Order, StripPrefix: p.StripPrefix,
	}
	l.e.goldenAsWritten = p
	l.checkRelevance(p, b)
	switch {
	case p.File != "" && (p.Queries != "" || p.Qrels != ""):
		l.report(errorAt(sumGoldenFiles, b.DefRange(), "golden has either a file, or queries and qrels."))
	case (p.Queries == "") != (p.Qrels == "") && !l.unreadable(b):
		l.report(errorAt(sumGoldenFiles, b.DefRange(), "queries and qrels belong together: one has the questions, the other the judgements."))
	case p.File == "" && (b.Body.Attributes["format"] != nil || b.Body.Attributes["drafts"] != nil) && !l.unreadable(b):
		l.report(errorAt(sumGoldenFiles, b.DefRange(), "format and drafts are about a file, and golden names none."))
	}
	first := map[string]*hclsyntax.Block{}
	for _, inner := range b.Body.Blocks {
		labels, known := map[string]int{"split": 0, "source": 1}[inner.Type]
		switch {
		case !known || !l.checkLabels(inner, labels):
		case first[inner.Type] != nil:
			l.duplicate(inner, first[inner.Type], "golden has one %s block", inner.Type)
		case inner.Type == "split":
			l.readSplit(inner)
		default:
			l.readGoldenSource(inner, p)
		}
		if first[inner.Type] == nil {
			first[inner.Type] = inner
		}
	}
}

// checkRelevance reports attributes that go with another relevance than the one
// chosen: they would do nothing.
func (l *loader) checkRelevance(p goldenBlock, b *hclsyntax.Block) {
	goesWith := map[string]string{"coverage": "span", "within": "document"}
	for _, name := range sortedKeys(goesWith) {
		if a := b.Body.Attributes[name]; a != nil && p.Relevance != goesWith[name] {
			l.report(errorAt(sumBadValue, a.SrcRange, "%s goes with relevance = %q, not %q.", name, goesWith[name], p.Relevance))
		}
	}
	if a := b.Body.Attributes["coverage"]; a != nil && p.Relevance == "span" && p.Coverage == 0 {
		l.report(errorAt(sumBadValue, a.Expr.Range(), "coverage must be above 0: otherwise every chunk of the document would be relevant."))
	}
}

func (l *loader) readSplit(b *hclsyntax.Block) {
	var p splitBlock
	l.decode(&p, b)
	l.e.Golden.Split = &Split{By: p.By, Dev: p.Dev, Salt: p.Salt, DevTag: p.DevTag, TestTag: p.TestTag, Range: b.DefRange()}
}

func (l *loader) readScore() {
	b := l.single("score")
	p, at := scoreBlock{}, l.missingRange()
	if b == nil {
		setDefaults(&p)
	} else {
		at = b.DefRange()
		l.decode(&p, b)
	}
	metricsAt := func(i int) hcl.Range { return at }
	if b != nil && b.Body.Attributes["metrics"] != nil {
		metricsAt = func(i int) hcl.Range { return elementRange(b.Body.Attributes["metrics"].Expr, i) }
	}
	l.checkMetrics(&p, metricsAt)
	if p.Primary == "" && len(p.Metrics) > 0 {
		p.Primary = p.Metrics[0]
	}
	if !slices.Contains(p.Metrics, p.Primary) {
		primaryAt := at
		if b != nil && b.Body.Attributes["primary"] != nil {
			primaryAt = b.Body.Attributes["primary"].Expr.Range()
		}
		l.report(errorAt(sumPrimary, primaryAt, "primary is %q, which metrics does not list.%s", p.Primary, didYouMean(p.Primary, p.Metrics)))
	}
	l.checkCheap(p.Cheap, func(i int) hcl.Range {
		if b == nil || b.Body.Attributes["cheap"] == nil {
			return at
		}
		return elementRange(b.Body.Attributes["cheap"].Expr, i)
	})
	l.e.Score = Score{Depth: p.Depth, Metrics: p.Metrics, Primary: p.Primary, Cheap: p.Cheap, Range: at}
}

// checkCheap checks the names of costs.
func (l *loader) checkCheap(names []string, at func(int) hcl.Range) {
	if len(names) == 0 {
		l.report(errorAt(sumBadValue, at(0), "cheap must name at least one cost: %s.", strings.Join(CostNames, ", ")))
	}
	for i, name := range names {
		switch {
		case !slices.Contains(CostNames, name):
			l.report(errorAt(sumBadValue, at(i), "cheap lists %q, which is no cost.%s", name, didYouMean(name, CostNames)))
		case slices.Contains(names[:i], name):
			l.report(errorAt(sumBadValue, at(i), "cheap lists %q twice.", name))
		}
	}
}

func (l *loader) checkMetrics(p *scoreBlock, at func(int) hcl.Range) {
	if len(p.Metrics) == 0 {
		l.report(errorAt(sumBadValue, at(0), "metrics must name at least one metric."))
	}
	for i, m := range p.Metrics {
		if err := l.opts.Catalog.Metric(m); err != nil {
			l.report(errorAt(sumUnknownMetric, at(i), "%s", sentence(err)))
			continue
		}
		if slices.Contains(p.Metrics[:i], m) {
			l.report(errorAt(sumBadValue, at(i), "The metric %q is listed twice.", m))
		}
		if k := cutoff(m); k > p.Depth {
			l.report(warningAt(sumShallow, at(i), "%s looks at %d results, but only depth = %d are ranked.", m, k, p.Depth))
		}
	}
}

// cutoff is the k of a metric named such as ndcg@k, or 0.
func cutoff(metric string) int {
	_, after, _ := strings.Cut(metric, "@")
	k, err := strconv.Atoi(after)
	if err != nil {
		return 0
	}
	return k
}

func (l *loader) readOutputs() {
	for _, b := range l.blocks["output"] {
		o := l.readLabelled(b, outputFactor)
		for _, other := range l.e.Outputs {
			if !o.bad && other.Kind == o.Kind && sameValues(o.fields, other.fields) {
				l.report(errorAt(sumDuplicateOutput, b.DefRange(), "The same output is asked for at %s.", place(other.Range)))
			}
		}
		l.e.Outputs = append(l.e.Outputs, o)
	}
	if b := l.single("store"); b != nil {
		l.e.Store = l.readLabelled(b, storeFactor)
	}
}

func sameValues(a, b []field) bool {
	return slices.EqualFunc(a, b, func(x, y field) bool { return reflect.DeepEqual(x.value, y.value) })
}

func (l *loader) readBudget() {
	if b := l.single("budget"); b != nil {
		var p budgetBlock
		l.decode(&p, b)
		l.e.Budget = Budget{Seconds: p.Seconds, USD: p.USD, Range: b.DefRange()}
	}
}

func (l *loader) readExpects() {
	for _, b := range l.blocks["expect"] {
		var p expectBlock
		l.decode(&p, b)
		if p.Metric == "" {
			p.Metric = l.e.Score.Primary
		} else if err := l.opts.Catalog.Metric(p.Metric); err != nil {
			l.report(errorAt(sumUnknownMetric, b.Body.Attributes["metric"].Expr.Range(), "%s", sentence(err)))
		} else if !slices.Contains(l.e.Score.Metrics, p.Metric) {
			l.report(errorAt(sumUnknownMetric, b.Body.Attributes["metric"].Expr.Range(), "The metric %q is not among those that score lists.%s", p.Metric, didYouMean(p.Metric, l.e.Score.Metrics)))
		}
		l.checkChoice(p.Where, b.Body.Attributes["where"], "where", false)
		l.e.Expects = append(l.e.Expects, &Expect{
			Where: p.Where, Metric: p.Metric, Value: p.Value, Tolerance: p.Tolerance, Source: p.Source, Range: b.DefRange(),
		})
	}
}

// checkChoice reports factors and labels that do not exist in a map of them.
func (l *loader) checkChoice(choice map[string]string, a *hclsyntax.Attribute, what string, axesOnly bool) bool {
	ok := true
	for _, name := range sortedKeys(choice) {
		at := a.Expr.Range()
		if key, value := itemRanges(a.Expr, name); key != nil {
			at = *key
			if l.e.Factor(name) != nil {
				at = *value
			}
		}
		ok = l.checkLabel(name, choice[name], at, what, axesOnly) && ok
	}
	return ok
}

func (l *loader) checkLabel(factor, label string, at hcl.Range, what string, axesOnly bool) bool {
	f := l.e.Factor(factor)
	switch {
	case f == nil:
		l.report(errorAt(sumUnknownFactor, at, "%s names the factor %q, which does not exist.%s", capital(what), factor, didYouMean(factor, l.factors)))
	case f.hasBadOption():
		return false
	case axesOnly && !f.IsAxis && f.Options[0].Label != label:
		l.report(errorAt(sumUnknownOption, at, "%s names %s = %q, but that factor is fixed to %q.", capital(what), factor, label, f.Options[0].Label))
	case f.row(label) == nil:
		l.report(errorAt(sumUnknownOption, at, "The factor %s has no option %q.%s", factor, label, didYouMean(label, f.labels())))
	default:
		return true
	}
	return false
}

// itemRanges finds where an object's attribute is written.
func itemRanges(expr hclsyntax.Expression, name string) (key, value *hcl.Range) {
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return nil, nil
	}
	for _, item := range object.Items {
		if v, diags := item.KeyExpr.Value(nil); !diags.HasErrors() && v.IsKnown() && !v.IsNull() && fmt.Sprint(labelOf(v)) == name {
			return item.KeyExpr.Range().Ptr(), item.ValueExpr.Range().Ptr()
		}
	}
	return nil, nil
}
