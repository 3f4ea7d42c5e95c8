package main

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"raglab/engine"
)

// planLine is one or more stages with the same outcome and reason.
type planLine struct {
	address      string
	outcome      engine.Outcome
	reason, note string
	stages       int
	fresh, total int
	unit         string
	first        int // the place of its first stage
}

func newPlanLine(address string, o engine.Outcome, r engine.Reason, note string, f *engine.Forecast) planLine {
	l := planLine{address: address, outcome: o, reason: reasonText(r), note: note, stages: 1}
	if f != nil {
		l.fresh, l.total, l.unit = f.New, f.Total, f.Unit
	}
	return l
}

// reasonText is the reason in words, without the key of a result that is missing
// or damaged: a key tells a reader nothing and sets apart what is alike.
func reasonText(r engine.Reason) string {
	if strings.HasPrefix(r.Field, "record ") {
		r.Field = "record"
	}
	return r.String()
}

// kind is the word that the address begins with.
func (l *planLine) kind() string {
	kind, _, _ := strings.Cut(l.address, "[")
	return kind
}

// join adds a line's stages to the one that stands for them.
func (l *planLine) join(other planLine) {
	l.stages, l.fresh, l.total = l.stages+other.stages, l.fresh+other.fresh, l.total+other.total
}

// linesOf lists a plan's stages: those that would do something, joined as [planLines]
// does it, or really all, one by one.
func linesOf(p *engine.Plan, all bool) []planLine {
	var every []planLine
	joined := newPlanLines()
	for i := range p.Stages {
		switch ps := &p.Stages[i]; {
		case ps.Outcome == "":
		case all:
			every = append(every, newPlanLine(ps.Stage.Address, ps.Outcome, ps.Reason, ps.Note, ps.Forecast))
		case ps.Outcome != engine.Cached:
			joined.add(ps.Stage.Address, ps.Outcome, ps.Reason, ps.Note, ps.Forecast)
		}
	}
	if all {
		return every
	}
	return joined.lines()
}

const (
	// manyLines is how many lines of one kind, outcome and reason are shown one by
	// one.
	manyLines = 6
	// mostLines is how many lines of one kind are shown whose reasons differ only in
	// what they name, such as the stage that each follows.
	mostLines = 24
)

// planLines gathers the lines of a plan. The shards of one stage are one line. So are
// the stages of one kind where they are many and the plan says the same, or nearly the
// same, of them: what is held does not grow with the plan.
type planLines struct {
	alike map[said]*likeLines
	added int
}

// said is what a plan says of stages of one kind.
type said struct {
	kind         string
	outcome      engine.Outcome
	reason, note string
}

// likeLines are those of stages of which a plan says nearly the same, by what it says.
type likeLines struct {
	same map[said]*sameLines
	// all stands for them where they are too many.
	all *planLine
}

// sameLines are the lines of stages of which a plan says the same: one for all where they
// are many.
type sameLines struct {
	lines []planLine
	many  bool
}

// shardNumber is the end of an address that names one shard.
var shardNumber = regexp.MustCompile(`\]#[0-9]+`)

func newPlanLines() *planLines { return &planLines{alike: map[said]*likeLines{}} }

func (p *planLines) add(address string, o engine.Outcome, r engine.Reason, note string, f *engine.Forecast) {
	l := newPlanLine(address, o, r, note, f)
	l.first = p.added
	p.added++
	l.address = engine.WithoutShard(address)
	if l.address != address { // which shards each of the shards follows is in the log
		l.reason = shardNumber.ReplaceAllString(l.reason, "]")
	}
	like := said{l.kind(), o, reasonText(withoutNames(r)), withoutOptions(note)}
	a, ok := p.alike[like]
	if !ok {
		a = &likeLines{same: map[said]*sameLines{}}
		p.alike[like] = a
	}
	a.add(l, like)
}

func (a *likeLines) add(l planLine, like said) {
	if a.all != nil {
		a.all.join(l)
		return
	}
	what := said{like.kind, l.outcome, l.reason, l.note}
	s, ok := a.same[what]
	if !ok {
		s = &sameLines{}
		a.same[what] = s
	}
	if added := s.add(l); !added || a.count() <= mostLines {
		return
	}
	lines := a.lines()
	all := joinLines(lines)
	all.reason, all.note = like.reason, like.note
	a.all, a.same = &all, nil
}

// count is how many lines there are.
func (a *likeLines) count() int {
	n := 0
	for _, s := range a.same {
		n += len(s.lines)
	}
	return n
}

func (a *likeLines) lines() []planLine {
	if a.all != nil {
		return []planLine{*a.all}
	}
	var lines []planLine
	for _, s := range a.same {
		lines = append(lines, s.lines...)
	}
	slices.SortFunc(lines, func(a, b planLine) int { return cmp.Compare(a.first, b.first) })
	return lines
}

// add reports whether the line is one more.
func (s *sameLines) add(l planLine) bool {
	at := slices.IndexFunc(s.lines, func(have planLine) bool { return s.many || have.address == l.address })
	if at >= 0 {
		s.lines[at].join(l)
		return false
	}
	s.lines = append(s.lines, l)
	if len(s.lines) > manyLines {
		s.lines, s.many = []planLine{joinLines(s.lines)}, true
		return false
	}
	return true
}

// joinLines is one line for several of a kind.
func joinLines(lines []planLine) planLine {
	all := lines[0]
	for _, l := range lines[1:] {
		all.join(l)
	}
	all.address = withoutOptions(all.address)
	return all
}

// lines are the lines in the order of their first stages.
func (p *planLines) lines() []planLine {
	var lines []planLine
	for a := range maps.Values(p.alike) {
		lines = append(lines, a.lines()...)
	}
	slices.SortFunc(lines, func(a, b planLine) int { return cmp.Compare(a.first, b.first) })
	return lines
}

// withoutNames is a reason without what differs between stages that have it in common.
func withoutNames(r engine.Reason) engine.Reason {
	r.Field, r.More = withoutOptions(r.Field), 0
	if r.Kind != engine.ReasonOutputMissing {
		r.Old, r.New = "", ""
	}
	return r
}

// withoutOptions puts an ellipsis in the place of the options of an address at the end
// of a text.
func withoutOptions(text string) string {
	kind, _, ok := strings.Cut(text, "[")
	if !ok {
		return text
	}
	return kind + "[…]"
}
