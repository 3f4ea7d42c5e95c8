package spec

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// space is the set of all combinations, and what is known of its points. It is
// written to while a spec is loaded, and under its own lock afterwards.
type space struct {
	e       *Experiment
	factors []*Factor
	index   map[string]int // factors by name
	all     []int
	// reads are, for each factor, the factors on which depends what its options
	// do: all that any option reads where they can refer to others.
	reads [][]int

	rules []*rule
	judge Judge

	mu sync.Mutex // held by [Stages.Next]
	// shapes remembers, for each factor, what an option does by the labels
	// of the factors in reads; see [space.shape].
	shapes     []map[int]shape
	signatures map[string]int32
	kindSets   map[string]int32
	kindLists  [][]string
	verdicts   map[string]string
}

// shape tells apart what an option and all that it refers to do: options of
// equal signature do the same. Kinds numbers the list of their kinds.
type shape struct {
	signature, kinds int32
}

func newSpace(e *Experiment, judge Judge) *space {
	s := &space{
		e: e, factors: e.Factors, judge: judge,
		index:      map[string]int{},
		shapes:     make([]map[int]shape, len(e.Factors)),
		signatures: map[string]int32{}, kindSets: map[string]int32{}, verdicts: map[string]string{},
	}
	for i, f := range e.Factors {
		s.index[f.Name] = i
		s.all = append(s.all, i)
		s.shapes[i] = map[int]shape{}
	}
	everything := s.readBy(e.options())
	for _, f := range e.Factors {
		if slices.ContainsFunc(f.Options, (*Option).refers) {
			s.reads = append(s.reads, everything)
		} else {
			s.reads = append(s.reads, s.readBy(f.Options))
		}
	}
	return s
}

// readBy numbers the factors whose choice can change what some of the options do.
func (s *space) readBy(options []*Option) []int {
	var numbers []int
	for _, o := range options {
		for _, name := range s.e.reads(o) {
			if i := s.index[name]; !slices.Contains(numbers, i) {
				numbers = append(numbers, i)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

// reads lists the factors whose choice can change what the option does: those
// that its expressions read, and those that its tunes are fitted per.
func (e *Experiment) reads(o *Option) []string {
	names := slices.Clone(o.refs.axes)
	for _, tune := range o.refs.tunes {
		if t := e.Tune(tune); t != nil {
			names = append(names, t.Per...)
		}
	}
	return names
}

// size is the number of combinations, or math.MaxInt when there are more.
func (s *space) size() int {
	n := 1
	for _, f := range s.factors {
		if n > math.MaxInt/len(f.Options) {
			return math.MaxInt
		}
		n *= len(f.Options)
	}
	return n
}

// place is the place of a choice in the product of the numbered factors.
func (s *space) place(choice []int32, among []int) int {
	n := 0
	for _, i := range among {
		n = n*len(s.factors[i].Options) + int(choice[i])
	}
	return n
}

func (s *space) configuration(choice []int32) *Configuration {
	return &Configuration{Ordinal: s.place(choice, s.all), space: s, choice: choice}
}

// next turns a choice into the one that follows in the product, and reports
// whether there is one.
func (s *space) next(choice []int32) bool { return s.nextAmong(choice, s.all) }

// nextAmong is next for the product of the numbered factors.
func (s *space) nextAmong(choice []int32, among []int) bool {
	for _, i := range slices.Backward(among) {
		if choice[i]++; int(choice[i]) < len(s.factors[i].Options) {
			return true
		}
		choice[i] = 0
	}
	return false
}

// shape describes what the option that c has for factor i does.
func (s *space) shape(i int, c *Configuration) shape {
	key := s.shapeKey(i, c)
	if sh, ok := s.shapes[i][key]; ok {
		return sh
	}
	o := s.factors[i].Options[c.choice[i]]
	var kinds []string
	for _, chosen := range s.e.Chosen(c, s.factors[i].Name) {
		kinds = append(kinds, chosen.Kind)
	}
	sh := shape{
		signature: number(s.signatures, s.signature(o, c, nil)),
		kinds:     number(s.kindSets, strings.Join(kinds, "\x00")),
	}
	if int(sh.kinds) == len(s.kindLists) {
		s.kindLists = append(s.kindLists, kinds)
	}
	s.shapes[i][key] = sh
	return sh
}

// shapeKey tells apart the combinations in which factor i may do different things.
func (s *space) shapeKey(i int, c *Configuration) int {
	return s.place(c.choice, s.reads[i])*len(s.factors[i].Options) + int(c.choice[i])
}

// forget lets go of what is only needed to tell configurations apart.
func (s *space) forget() { s.shapes, s.signatures, s.verdicts, s.rules = nil, nil, nil, nil }

// number gives texts numbers from 0 in order of appearance.
func number(numbers map[string]int32, text string) int32 {
	n, ok := numbers[text]
	if !ok {
		n = int32(len(numbers))
		numbers[text] = n
	}
	return n
}

// signature writes down what an option does in a configuration: its definition
// and those of all that it refers to. Above are the options that referred to
// it; circles have been reported.
func (s *space) signature(o *Option, c *Configuration, above []*Option) string {
	if o.Kind == "" {
		return "" // a value does nothing by itself
	}
	if o.bad || slices.Contains(above, o) {
		return "?" + o.Factor + "\x00" + o.Label
	}
	var b strings.Builder
	b.WriteString(s.e.definition(o, c))
	above = append(above, o)
	for _, other := range s.e.Refs(o, c) {
		b.WriteString("(" + s.signature(other, c, above) + ")")
	}
	return b.String()
}

// impossible returns why the kinds of a configuration cannot work together.
func (s *space) impossible(c *Configuration) string {
	if s.judge == nil {
		return ""
	}
	key := make([]byte, 0, 4*len(s.factors))
	for i, f := range s.factors {
		if !f.Free {
			key = appendNumber(key, s.shape(i, c).kinds)
		}
	}
	if verdict, ok := s.verdicts[string(key)]; ok {
		return verdict
	}
	kinds := map[string][]string{}
	for i, f := range s.factors {
		if !f.Free {
			kinds[f.Name] = s.kindLists[s.shape(i, c).kinds]
		}
	}
	verdict := s.judge.Impossible(kinds)
	s.verdicts[string(key)] = verdict
	return verdict
}

// does writes down what a configuration does.
func (s *space) does(c *Configuration) string {
	key := make([]byte, 0, 4*len(s.factors))
	for i, f := range s.factors {
		if !f.Free {
			key = appendNumber(key, s.shape(i, c).signature)
		}
	}
	return string(key)
}

func appendNumber(b []byte, n int32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
