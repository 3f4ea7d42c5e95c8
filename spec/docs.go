package spec

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"raglab/internal/param"
)

// blockDoc describes a block of the language itself.
type blockDoc struct {
	name    string
	doc     string
	fields  func() []param.Field // nil when the attributes are described in doc
	example string
}

func fieldsOf[P any]() []param.Field { return param.MustFields(new(P)) }

// blockDocs are in the order in which a spec is usually written.
var blockDocs = []blockDoc{
	{"experiment", "Names the experiment. Once.", fieldsOf[experimentBlock], `experiment "lexical" {
  title = "Does lexical handling change retrieval quality?"
}`},
	{"variable", "Declares var.NAME, which is set by -var, -var-file or " + VariablePrefix + "NAME. type is string, number, bool, list(…), map(…) or object({…}); a variable without a default must be set; sensitive = true keeps its value out of messages.", nil, `variable "docs" {
  type        = string
  default     = "docs/"
  description = "Folder of the documents."
}`},
	{"locals", "Defines local.NAME, in any order.", nil, `locals {
  sizes = [for i in range(1, 4) : i * 128]
}`},
	{"corpus", "Says where the documents come from; the label is a kind of source. Once.", fieldsOf[corpusBlock], `corpus "files" {
  path     = var.docs
  language = "uk"
}`},
	{"golden", "Says where the judged questions are: in files, or in a source of their own, whose label is a kind of source that brings questions. May be left out when the corpus brings its own.", fieldsOf[goldenBlock], `golden {
  file = "golden.jsonl"
  split {
    by  = "hash"
    dev = 0.5
  }
}`},
	{"split", "Inside golden: divides the questions into dev, where values are tuned, and test, where rows are scored.", fieldsOf[splitBlock], `golden {
  file = "golden.jsonl"
  split { by = "tag" }
}`},
	{"source", "Inside golden: where the questions come from when neither files nor the corpus have them; the label is a kind of source that brings questions.", nil, `golden {
  missing = "drop"
  source "huggingface" {
    repository       = "BeIR/scifact"
    queries          = ["queries.jsonl.gz"]
    qrels            = ["test.tsv"]
    qrels_repository = "BeIR/scifact-qrels"
    lock             = "questions.lock.json"
  }
}`},
	{"fixed", "Chooses one option for a factor. use names a kind that needs no parameters; option gives one a label and parameters, its kind being the label unless set; leg is an option that others may refer to and that is no row.", nil, `fixed "retriever" {
  option "rrf" { legs = ["dense", "lexical"] }
  leg "dense" { kind = "exact" }
  leg "lexical" { kind = "bm25" }
}`},
	{"axis", "Compares the options of a factor, or, under a name of your own, values that options read as axis.NAME.", nil, `axis "chunk_tokens" {
  values = [128, 256, 512]
}

axis "chunker" {
  use = "whole"
  option "fixed" { tokens = axis.chunk_tokens }
}`},
	{"tune", "Fits tune.NAME on the dev questions over the values of grid, before test questions are scored.", fieldsOf[tuneBlock], `tune "rrf_k" {
  grid = [10, 20, 40, 60, 100]
  per  = ["chunker"]
}`},
	{"exclude", "Leaves out combinations for which a condition over axis.NAME is true.", nil, `exclude {
  when = axis.chunker == "whole" && axis.chunk_tokens != 128
}`},
	{"include", "Adds one combination; factors that are not named hold the base option.", nil, `include {
  chunker      = "whole"
  chunk_tokens = 256
}`},
	{"cross", "Says which combinations are measured: full takes all; one_at_a_time varies each axis around a base; staged fixes the best option axis by axis on dev.", fieldsOf[crossBlock], `cross {
  mode = "one_at_a_time"
  base = { chunker = "fixed" }
}`},
	{"score", "Says what is measured, and how deep, and what makes a configuration cheap: of those that the data cannot tell from the best, the cheapest is recommended.", fieldsOf[scoreBlock], `score {
  depth   = 30
  metrics = ["ndcg@10", "recall@5"]
}`},
	{"expect", "States a published or earlier figure to hold results against.", fieldsOf[expectBlock], `expect {
  where  = { retriever = "rrf" }
  metric = "ndcg@10"
  value  = 0.592
  source = "README of the data set"
}`},
	{"abstain", "Shows how accurate the first results are when only questions with a strong signal are answered, and picks a threshold for each floor of accuracy: on the dev questions when there is a split, told on the test questions then. The label is the signal: margin is (s1 − s2) / s1 of the first two scores, score is the first score; a single result has the margin 1, a first score of 0 or less the margin 0. An answered question is right when its first result is relevant, so that one to which nothing is relevant is wrong; one without a result is never answered. Scores are what the ranking has: those of a fused one are sums of 1 / (k + rank), whose margins are small, and want thresholds of their own.", fieldsOf[abstainBlock], `abstain "score" {
  leg    = "dense"
  where  = { retriever = "rrf" }
  floors = [0.7, 0.8, 0.9]
}`},
	{"gate", "Says when raglab gate passes the results: floors under metrics, bounds on costs, and how far a metric may fall below that of a baseline, row by row. Each where has one block; of several about a row, the last that names a metric counts. The expect blocks must hold as well.", fieldsOf[gateBlock], `gate {
  floors   = { "ndcg@10" = 0.5 }
  allow    = { "ndcg@10" = 0.02 }
  max      = { p95 = 50 }
  baseline = "results/main.json"
}`},
	{"budget", "Stops an apply between stages when it is used up.", fieldsOf[budgetBlock], `budget {
  seconds = 3600
}`},
	{"limit", "Bounds how many of some stages run at a time: here, and over all workers when the stages are handed to a queue, as where a service admits so many callers. It changes no result. The label is a name for people.", fieldsOf[limitBlock], `limit "embedding_api" {
  concurrent = 4
  stages     = ["embed"]
}`},
	{"output", "Writes results; the label is a kind of output.", nil, `output "csv" { path = "results.csv" }`},
	{"store", "Says where indexes that need a server live; the label is a kind of store.", nil, `store "postgres" { dsn = env("RAGLAB_DSN") }`},
}

// Topics lists what [Docs] can be asked about.
func Topics(c Catalog) []string {
	var topics []string
	for _, f := range c.Factors() {
		topics = append(topics, f.Name)
	}
	topics = append(topics, sourceFactor, outputFactor, storeFactor)
	for _, b := range blockDocs {
		if !slices.Contains(topics, b.name) {
			topics = append(topics, b.name)
		}
	}
	return append(topics, "functions")
}

// Docs prints the documentation of a topic: a factor, "source", "output" or
// "store" with its kinds, or one of these kinds; a block; "functions". An empty
// topic prints an overview. All of it comes from the structs that specs are
// decoded into.
func Docs(w io.Writer, c Catalog, topic, kind string) error {
	p := &docPrinter{w: w, catalog: c}
	kinds := c.Kinds(topic)
	switch {
	case topic == "":
		p.overview()
	case !slices.Contains(Topics(c), topic):
		return fmt.Errorf("no documentation of %q.%s", topic, didYouMean(topic, Topics(c)))
	case kind != "":
		i := slices.IndexFunc(kinds, func(k KindInfo) bool { return k.Name == kind })
		if i < 0 {
			return fmt.Errorf("no %s kind %q.%s", topic, kind, didYouMean(kind, kindNames(kinds)))
		}
		p.kind(topic, kinds[i])
	case topic == "functions":
		p.functions()
	default:
		p.topic(topic, kinds)
	}
	return p.err
}

// docPrinter keeps the first error of the writer.
type docPrinter struct {
	w       io.Writer
	catalog Catalog
	err     error
}

func (p *docPrinter) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *docPrinter) overview() {
	p.printf("Factors (raglab docs FACTOR [KIND]):\n")
	for _, f := range p.catalog.Factors() {
		p.entry(f.Name, f.Doc)
		p.entry("", strings.Join(kindNames(p.catalog.Kinds(f.Name)), ", "))
	}
	for _, name := range []string{sourceFactor, outputFactor, storeFactor} {
		p.entry(name, "Kinds of "+name+".")
		p.entry("", strings.Join(kindNames(p.catalog.Kinds(name)), ", "))
	}
	p.printf("\nBlocks (raglab docs BLOCK):\n")
	for _, b := range blockDocs {
		doc, _, _ := strings.Cut(b.doc+" ", ". ")
		p.entry(b.name, strings.TrimSuffix(doc, ".")+".")
	}
	p.printf("\nFunctions: raglab docs functions\n")
}

// docWidth is how wide text is wrapped.
const docWidth = 80

// entry prints a name and, beside it, text.
func (p *docPrinter) entry(name, text string) {
	const indent = 16
	lines := wrap(text, docWidth-indent)
	if len(name) > indent-3 {
		p.printf("  %s\n", name)
		name = ""
	}
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		p.printf("%s\n", strings.TrimRight(fmt.Sprintf("  %-*s%s", indent-2, name, line), " "))
	}
}

func (p *docPrinter) paragraph(text string) {
	for _, line := range wrap(text, docWidth) {
		p.printf("%s\n", line)
	}
}

// wrap breaks text into lines of at most width characters where it can.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for word := range strings.FieldsSeq(text) {
		k := len([]rune(word))
		if n > 0 && n+1+k > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+k
	}
	if n > 0 {
		lines = append(lines, line)
	}
	return lines
}

func (p *docPrinter) functions() {
	p.printf("Functions that expressions may call; none reads a clock or chance:\n")
	for _, name := range Functions() {
		p.entry(name, describeFunction(name))
	}
}

// describeFunction fills in where go-cty and hcl have nothing to say.
func describeFunction(name string) string {
	switch name {
	case "can":
		return "Whether an expression can be evaluated."
	case "try":
		return "The first of the arguments that can be evaluated."
	}
	if typ, ok := strings.CutPrefix(name, "to"); ok {
		return "Converts a value to a " + typ + "."
	}
	return strings.ReplaceAll(functions(nil)[name].Description(), `\"`, `"`)
}

func (p *docPrinter) topic(name string, kinds []KindInfo) {
	for _, f := range p.catalog.Factors() {
		if f.Name == name {
			p.paragraph(f.Doc)
			if f.Default != "" {
				p.printf("Without a block: %s.\n", f.Default)
			}
		}
	}
	for _, b := range blockDocs {
		if b.name == name {
			p.block(b)
		}
	}
	for i, k := range kinds {
		if i > 0 || p.err == nil {
			p.printf("\n")
		}
		p.printf("%s\n", k.Name)
		p.entry("", k.Summary)
		p.fields(param.MustFields(k.Params()))
	}
}

func (p *docPrinter) block(b blockDoc) {
	p.paragraph(b.doc)
	if b.fields != nil {
		p.printf("\n")
		p.fields(b.fields())
	}
	p.example(b.example)
}

func (p *docPrinter) kind(factor string, k KindInfo) {
	p.printf("%s %s\n", factor, k.Name)
	p.paragraph(k.Summary)
	for paragraph := range strings.SplitSeq(k.Doc, "\n\n") {
		if strings.TrimSpace(paragraph) != "" {
			p.printf("\n")
			p.paragraph(paragraph)
		}
	}
	fields := param.MustFields(k.Params())
	if len(fields) > 0 {
		p.printf("\n")
		p.fields(fields)
	}
	p.example(Example(p.catalog, factor, k))
	for _, e := range k.Examples {
		p.titled("Example, "+e[0], e[1])
	}
}

func (p *docPrinter) fields(fields []param.Field) {
	for _, f := range fields {
		p.entry(f.Name, constraint(f))
		p.entry("", f.Doc)
	}
}

func (p *docPrinter) example(text string) { p.titled("Example", text) }

// titled prints a part of a spec under a title.
func (p *docPrinter) titled(title, text string) {
	p.printf("\n%s:\n", title)
	for line := range strings.SplitSeq(text, "\n") {
		p.printf("%s\n", strings.TrimRight("    "+line, " "))
	}
}

// constraint says what a parameter may be.
func constraint(f param.Field) string {
	parts := []string{f.TypeName()}
	if f.Path {
		parts[0] = strings.Replace(parts[0], "string", "path", 1)
	}
	if f.Ref != "" {
		parts = append(parts, "options of "+f.Ref)
	}
	if len(f.Enum) > 0 {
		parts = append(parts, strings.Join(f.Enum, " | "))
	}
	if f.Min != nil || f.Max != nil {
		parts = append(parts, (&field{Field: f}).bounds())
	}
	if f.Unit != "" {
		parts = append(parts, "in "+f.Unit)
	}
	switch {
	case f.Required:
		parts = append(parts, "required")
	case f.Default != "":
		parts = append(parts, "default "+f.Default)
	default:
		parts = append(parts, "optional")
	}
	return strings.Join(parts, "; ")
}
