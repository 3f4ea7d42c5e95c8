package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// series are the values of one figure, turn by turn.
type series []float64

// median is the middle value, or the mean of the two middle ones; NaN when there
// is none.
func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ends are the least and the greatest value; NaN when there is none.
func (s series) ends() (least, greatest float64) {
	if len(s) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(s), slices.Max(s)
}

// unit is what a figure is counted in.
type unit struct {
	name string
	// more says that greater is better, as of a rate.
	more bool
}

var (
	seconds      = unit{name: "s"}
	milliseconds = unit{name: "ms"}
	megabytes    = unit{name: "MB"}
	mebibytes    = unit{name: "MiB"}
	times        = unit{name: "×"}
	perSecond    = func(what string) unit { return unit{name: what + "/s", more: true} }
)

// ahead is how many times better raglab's figure is: above 1 raglab is ahead,
// whether the figure is a rate, a time or a size.
func (u unit) ahead(own, theirs float64) float64 {
	if u.more {
		return own / theirs
	}
	return theirs / own
}

// show writes a value with the digits that mean something.
func show(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 0):
		return "∞"
	case a >= 1000:
		return grouped(v)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// short writes a value without needless digits.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return grouped(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped writes a whole number with commas between thousands.
func grouped(v float64) string {
	digits := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	s := strings.Join(append([]string{digits}, parts...), ",")
	if v < 0 {
		return "-" + s
	}
	return s
}

// String writes the median and, of several values, the ends.
func (s series) String() string {
	if len(s) < 2 {
		return show(s.median())
	}
	least, greatest := s.ends()
	return fmt.Sprintf("%s (%s–%s)", show(s.median()), show(least), show(greatest))
}

// goal is what a figure is to reach. The zero value is none.
type goal struct {
	text  string
	holds func(f figures) bool
}

// under asks for a median below a value.
func under(v float64, u unit) goal {
	return goal{"< " + short(v) + " " + u.name, func(f figures) bool { return f.raglab.median() < v }}
}

// reach asks for a median of at least a value.
func reach(v float64, u unit) goal {
	return goal{"≥ " + short(v) + " " + u.name, func(f figures) bool { return f.raglab.median() >= v }}
}

// ahead asks for a median ratio of at least a value.
func ahead(v float64) goal {
	return goal{"ratio ≥ " + short(v), func(f figures) bool { return f.ratio.median() >= v }}
}

// verdict is "holds" or "missed", or empty when there is no goal or nothing to
// tell by.
func (g goal) verdict(f figures) string {
	switch {
	case g.holds == nil, strings.HasPrefix(g.text, "ratio") && len(f.ratio) == 0:
		return ""
	case g.holds(f):
		return "holds"
	}
	return "missed"
}
