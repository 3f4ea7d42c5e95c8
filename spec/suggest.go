package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest returns the candidate nearest to what was given, by Damerau-Levenshtein
// distance without regard to case, or "" when none is near: more than a third
// of the letters, rounded up, would have to change. Of equally near candidates
// the first in the list is returned.
func Suggest(given string, candidates []string) string {
	word := []rune(strings.ToLower(given))
	best, nearest := "", (len(word)+2)/3+1
	for _, c := range candidates {
		if d := distance(word, []rune(strings.ToLower(c)), nearest); d < nearest {
			best, nearest = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours, no part edited twice. A result of
// limit means limit or more.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

// didYouMean is a sentence that names the nearest candidate, or lists them all
// when none is near; it begins with a space, or is empty without candidates.
func didYouMean(given string, candidates []string) string {
	if s := Suggest(given, candidates); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	switch len(candidates) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" There is only %q.", candidates[0])
	}
	return fmt.Sprintf(" There are %s.", list(candidates, "and"))
}

// list joins quoted words as a sentence does, in alphabetical order.
func list(words []string, conjunction string) string {
	sorted := slices.Sorted(slices.Values(words))
	quoted := make([]string, len(sorted))
	for i, w := range sorted {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " " + conjunction + " " + quoted[last]
}
