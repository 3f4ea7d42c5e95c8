package golden

import (
	"cmp"
	"math"
	"slices"
)

// Words takes a text apart into words, in order, as they are compared.
type Words func(text string) []string

// similarity measures how alike two questions are. Not safe for concurrent use.
type similarity struct {
	ids map[string]int32
}

// likeness is what of a question is compared: the sorted numbers of its different
// words, and of the three-letter runs of its folded text.
type likeness struct {
	words, grams []int32
}

func (s *similarity) of(text string, words Words) likeness {
	var p likeness
	for _, w := range words(text) {
		p.words = append(p.words, s.id("w"+w))
	}
	runes := []rune(" " + Fold(text) + " ")
	for i := 0; i+3 <= len(runes); i++ {
		p.grams = append(p.grams, s.id("g"+string(runes[i:i+3])))
	}
	return likeness{distinct(p.words), distinct(p.grams)}
}

func (s *similarity) id(key string) int32 {
	id, ok := s.ids[key]
	if !ok {
		id = int32(len(s.ids))
		s.ids[key] = id
	}
	return id
}

func distinct(ids []int32) []int32 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// shared counts what two sorted lists have in common.
func shared(a, b []int32) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0], b[0]) {
		case -1:
			a = a[1:]
		case 1:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}

// jaccard is the Jaccard index of the words: |A ∩ B| / |A ∪ B|. It is 0 where the
// sizes alone keep it below least.
func (p likeness) jaccard(o likeness, least float64) float64 {
	small, large := len(p.words), len(o.words)
	if small > large {
		small, large = large, small
	}
	if large == 0 || float64(small) < least*float64(large) {
		return 0
	}
	n := shared(p.words, o.words)
	return float64(n) / float64(small+large-n)
}

// containment is the containment of Broder (1997) on three-letter runs:
// |A ∩ B| / min(|A|, |B|). It is 0 where one question is more than twice as long
// as the other: a long question may hold a short one without asking the same.
func (p likeness) containment(o likeness) float64 {
	small, large := len(p.grams), len(o.grams)
	if small > large {
		small, large = large, small
	}
	if small == 0 || large > 2*small {
		return 0
	}
	return float64(shared(p.grams, o.grams)) / float64(small)
}

// nearPairs are the pairs of questions, by place and in order, that may be
// near-duplicates by one of the measures, and all that have the same text. The
// filter is that of Chaudhuri, Ganti and Kaushik (2006): a set shares at least
// the part least of itself with another only if one of its rarest members, one
// more than it may lack, is in the other.
func nearPairs(prints []likeness, texts []string, jaccard, containment float64) [][2]int {
	found := map[[2]int]bool{}
	at := map[string][]int{}
	for i, text := range texts {
		for _, j := range at[text] {
			found[[2]int{j, i}] = true
		}
		at[text] = append(at[text], i)
	}
	// A Jaccard index of x needs a share of at least x of the smaller set.
	overlapping(prints, func(p likeness) []int32 { return p.words }, jaccard, found)
	overlapping(prints, func(p likeness) []int32 { return p.grams }, containment, found)
	out := make([][2]int, 0, len(found))
	for p := range found {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b [2]int) int { return cmp.Or(a[1]-b[1], a[0]-b[0]) })
	return out
}

func overlapping(prints []likeness, set func(likeness) []int32, least float64, found map[[2]int]bool) {
	holders := map[int32][]int{}
	for i, p := range prints {
		for _, id := range set(p) {
			holders[id] = append(holders[id], i)
		}
	}
	for i, p := range prints {
		own := slices.Clone(set(p))
		slices.SortFunc(own, func(a, b int32) int { return cmp.Or(len(holders[a])-len(holders[b]), int(a-b)) })
		needed := max(1, int(math.Ceil(least*float64(len(own))-1e-9)))
		for _, id := range own[:max(0, len(own)-needed+1)] {
			for _, j := range holders[id] {
				if j != i && len(set(prints[j])) >= len(own) {
					found[[2]int{min(i, j), max(i, j)}] = true
				}
			}
		}
	}
}

// CopiedShare is the share of the question's different words that stand in the
// span, too: |Q ∩ S| / |Q|. A question without words has it all.
func CopiedShare(question, span string, words Words) float64 {
	asked, marked := map[string]bool{}, map[string]bool{}
	for _, w := range words(question) {
		asked[w] = true
	}
	if len(asked) == 0 {
		return 1
	}
	for _, w := range words(span) {
		marked[w] = true
	}
	n := 0
	for w := range asked {
		if marked[w] {
			n++
		}
	}
	return float64(n) / float64(len(asked))
}
