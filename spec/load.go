package spec

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// loader turns files into an experiment and gathers what is wrong with them.
type loader struct {
	opts   LoadOptions
	e      *Experiment
	world  *world
	blocks map[string][]*hclsyntax.Block // top-level blocks by type
	diags  hcl.Diagnostics
	// broken says that a file could not be parsed to its end, so that nothing
	// can be concluded from what is absent.
	broken   bool
	reported map[*evaluation]bool

	functions map[string]function.Function
	vars      map[string]cty.Value
	locals    map[string]cty.Value
	static    *hcl.EvalContext // var, local and the functions
	factors   []string         // the names that axis.NAME may have
	tunes     []string
	excludes  []*exclude
	includes  []*include
	crossing  crossing
}

func newLoader(dir string, opts LoadOptions) *loader {
	w := newWorld(dir, opts.Env)
	e := &Experiment{Dir: dir, Files: map[string]*hcl.File{}, world: w}
	return &loader{
		opts: opts, e: e, world: w,
		blocks:    map[string][]*hclsyntax.Block{},
		functions: functions(w),
		vars:      map[string]cty.Value{},
		locals:    map[string]cty.Value{},
		reported:  map[*evaluation]bool{},
	}
}

func (l *loader) report(d ...*hcl.Diagnostic) { l.diags = append(l.diags, d...) }

func (l *loader) load(files []Source) {
	l.parse(files)
	l.readVariables()
	l.readLocals()
	l.collectNames()
	l.e.eval = newEvaluator(l.e, l.static)
	l.readExperiment()
	l.readCorpus()
	l.readFactors()
	l.readTunes()
	l.readGolden()
	l.readScore()
	l.readOutputs()
	l.readBudget()
	l.readLimits()
	l.checkReferences()
	l.readCrossing()
	l.readExpects()
	l.readAbstains()
	l.readGates()
	l.expand()
	if !l.diags.HasErrors() {
		l.e.Digest = l.digest()
	}
}

// blockLabels says which blocks there are at the top, and how many labels each has.
var blockLabels = map[string]int{
	"experiment": 1, "corpus": 1, "golden": 0, "fixed": 1, "axis": 1, "tune": 1, "exclude": 0, "include": 0,
	"cross": 0, "score": 0, "expect": 0, "abstain": 1, "gate": 0, "budget": 0, "limit": 1, "output": 1, "store": 1, "variable": 1, "locals": 0,
}

// singleBlocks may stand once in an experiment.
var singleBlocks = []string{"experiment", "corpus", "golden", "cross", "score", "budget", "store"}

func (l *loader) topLevel(blocks hclsyntax.Blocks) {
	for _, b := range blocks {
		labels, ok := blockLabels[b.Type]
		if !ok {
			l.report(errorAt(sumUnknownBlock, b.TypeRange, "There is no block %q.%s", b.Type, didYouMean(b.Type, sortedKeys(blockLabels))))
			continue
		}
		if !l.checkLabels(b, labels) {
			continue
		}
		if first := l.blocks[b.Type]; len(first) > 0 && slices.Contains(singleBlocks, b.Type) {
			l.duplicate(b, first[0], "An experiment has one %s block", b.Type)
			continue
		}
		l.blocks[b.Type] = append(l.blocks[b.Type], b)
	}
}

// checkLabels reports a block with another number of labels than it should have.
func (l *loader) checkLabels(b *hclsyntax.Block, want int) bool {
	if len(b.Labels) == want {
		return true
	}
	form := b.Type + " { … }"
	if want == 1 {
		form = b.Type + ` "NAME" { … }`
	}
	l.report(errorAt(sumWrongLabels, b.DefRange(), "The block is written %s.", form))
	return false
}

// duplicate reports a block that may not stand beside an earlier one.
func (l *loader) duplicate(b, first *hclsyntax.Block, format string, args ...any) {
	d := errorAt(sumDuplicateBlock, b.DefRange(), format, args...)
	at := first.DefRange()
	d.Detail += "; the first is at " + place(at) + "."
	l.report(d)
}

// collectNames finds what axis.NAME and tune.NAME may refer to, before any
// expression is looked at.
func (l *loader) collectNames() {
	for _, f := range l.opts.Catalog.Factors() {
		l.factors = append(l.factors, f.Name)
	}
	for _, kind := range []string{"axis", "fixed"} {
		for _, b := range l.blocks[kind] {
			if !slices.Contains(l.factors, b.Labels[0]) {
				l.factors = append(l.factors, b.Labels[0])
			}
		}
	}
	for _, b := range l.blocks["tune"] {
		l.tunes = append(l.tunes, b.Labels[0])
	}
}

// single returns the only block of a type, or nil.
func (l *loader) single(kind string) *hclsyntax.Block {
	if bs := l.blocks[kind]; len(bs) > 0 {
		return bs[0]
	}
	return nil
}

// missingRange is where a block that is not there would have been expected:
// the experiment's heading, or the beginning of the first file.
func (l *loader) missingRange() hcl.Range {
	if b := l.single("experiment"); b != nil {
		return b.DefRange()
	}
	for _, name := range sortedKeys(l.e.Files) {
		return hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	}
	return hcl.Range{}
}
