package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"raglab/internal/stats"
)

// leastTagged is how many scored questions a tag needs to be evidence of its own, and
// mostValues how many tags of one prefix, or without one, are.
const (
	leastTagged = 5
	mostValues  = 12
)

// tagged says for each tag what its questions alone say, and which differences
// reverse between tags.
func (r *Report) tagged(memory *Memory) {
	r.Tags, r.Reversals = nil, nil
	rows := r.measurements()
	groups := r.tagGroups(rows)
	if len(groups) == 0 {
		return
	}
	axes := r.axisValues()
	var family []tested
	var at [][2]int
	for _, g := range groups {
		evidence, found, of := g.evidence(r, rows, axes, memory)
		for i, t := range found {
			family, at = append(family, t), append(at, [2]int{len(r.Tags), of[i]})
		}
		r.Tags = append(r.Tags, evidence)
	}
	for i, c := range correct(family) {
		r.Tags[at[i][0]].Effects[at[i][1]].Comparison = &c
	}
	r.reversals(groups, axes, memory)
}

// tagGroup are the questions of a tag, as places in the order.
type tagGroup struct {
	tag    string
	places []int
}

// tagGroups are the tags that enough scored questions carry, but not all of them,
// sorted. Of tags such as source:wiki:123, which tell single questions apart, those
// that too few carry stand together as source:wiki:* or, where these are too few
// still, as source:*; and so do those beyond the most frequent of a prefix.
func (r *Report) tagGroups(rows []*Configuration) []tagGroup {
	tags := map[string][]string{}
	for _, q := range r.Golden {
		tags[q.ID] = q.Tags
	}
	scored := 0
	byTag := map[string][]int{}
	for place, id := range r.Order {
		if !slices.ContainsFunc(rows, func(c *Configuration) bool { return !math.IsNaN(c.Values[place]) }) {
			continue
		}
		scored++
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(tags[id]))) {
			byTag[tag] = append(byTag[tag], place)
		}
	}
	gather(byTag)
	var groups []tagGroup
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		if n := len(byTag[tag]); n >= leastTagged && n < scored {
			groups = append(groups, tagGroup{tag, byTag[tag]})
		}
	}
	return groups
}

// gather puts tags that too few questions carry, and those beyond the most frequent of
// a prefix, under the prefix, the longest prefixes first.
func gather(byTag map[string][]int) {
	depth := 0
	for tag := range byTag {
		depth = max(depth, strings.Count(tag, ":"))
	}
	for ; depth >= 0; depth-- {
		siblings := map[string][]string{}
		for tag := range byTag {
			if path := strings.TrimSuffix(tag, ":*"); strings.Count(path, ":") == depth {
				prefix, _ := cutLast(path)
				siblings[prefix] = append(siblings[prefix], tag)
			}
		}
		for prefix, tags := range siblings {
			slices.SortFunc(tags, func(a, b string) int {
				return cmp.Or(cmp.Compare(len(byTag[b]), len(byTag[a])), strings.Compare(a, b))
			})
			var rest []int
			for i, tag := range tags {
				if i >= mostValues || len(byTag[tag]) < leastTagged {
					rest = append(rest, byTag[tag]...)
					delete(byTag, tag)
				}
			}
			if depth > 0 && len(rest) > 0 {
				slices.Sort(rest)
				byTag[prefix+":*"] = slices.Compact(rest)
			}
		}
	}
}

// cutLast parts a tag at its last colon.
func cutLast(tag string) (prefix, value string) {
	i := strings.LastIndexByte(tag, ':')
	if i < 0 {
		return "", tag
	}
	return tag[:i], tag[i+1:]
}

// axisValues are an axis's options with their values by question.
type axisValues struct {
	effect Effect
	labels []string
	values map[string][]float64
}

func (r *Report) axisValues() []axisValues {
	var out []axisValues
	for _, f := range r.Factors {
		if f.Axis {
			e, values := r.effect(f)
			out = append(out, axisValues{e, f.Labels, values})
		}
	}
	return out
}

// evidence is what the questions of a tag say, with the comparisons of its effects
// before correction and the places of these.
func (g tagGroup) evidence(r *Report, rows []*Configuration, axes []axisValues, memory *Memory) (TagEvidence, []tested, []int) {
	t := TagEvidence{Tag: g.tag, Questions: len(g.places), Means: map[string]*float64{}}
	best := math.Inf(-1)
	byKey := map[string]*float64{}
	for _, c := range rows {
		byKey[c.Key] = g.mean(c.Values)
		if m := byKey[c.Key]; m != nil && *m > best {
			best, t.Best = *m, c.Name
		}
		t.Means[c.Name] = byKey[c.Key]
	}
	for _, c := range r.Configurations {
		if c.Key != "" {
			t.Means[c.Name] = byKey[c.Key]
		}
	}
	var found []tested
	var of []int
	for _, a := range axes {
		e := Effect{Axis: a.effect.Axis, Unbalanced: a.effect.Unbalanced}
		values := map[string][]float64{}
		for _, o := range a.effect.Options {
			option := OptionEffect{Label: o.Label, Rows: o.Rows, Means: map[string]*float64{r.Primary: nil}}
			if all := a.values[o.Label]; all != nil {
				values[o.Label] = pick(all, g.places)
				option.Means[r.Primary] = g.mean(all)
			}
			e.Options = append(e.Options, option)
		}
		e.extremes(r.Primary)
		if c, ok := e.test(a.labels, values, memory); ok {
			found, of = append(found, c), append(of, len(t.Effects))
		}
		t.Effects = append(t.Effects, e)
	}
	return t, found, of
}

// mean is over the measured questions of a group, nil when there is none.
func (g tagGroup) mean(values []float64) *float64 {
	measured := slices.DeleteFunc(pick(values, g.places), math.IsNaN)
	if len(measured) == 0 {
		return nil
	}
	m := stats.Mean(measured)
	return &m
}
