package golden

import "fmt"

func tokenIoU(a, b []string) float64 {
	sa, sb := map[string]bool{}, map[string]bool{}
	for _, w := range a {
		sa[w] = true
	}
	both := 0
	for _, w := range b {
		if !sb[w] && sa[w] {
			both++
		}
		sb[w] = true
	}
	if len(sa)+len(sb) == 0 {
		return 1
	}
	return float64(both) / float64(len(sa)+len(sb)-both)
}

func tokenF1(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 1
		}
		return 0
	}
	counts := map[string]int{}
	for _, w := range a {
		counts[w]++
	}
	both := 0
	for _, w := range b {
		if counts[w] > 0 {
			counts[w]--
			both++
		}
	}
	if both == 0 {
		return 0
	}
	precision, recall := float64(both)/float64(len(a)), float64(both)/float64(len(b))
	return 2 * precision * recall / (precision + recall)
}

// Kappa is Cohen's κ (1960) of two binary labellings of the same things:
// (p_o − p_e) / (1 − p_e), where p_o is the share of equal labels and p_e what
// chance would give at the rates of the two. Where p_e is 1, both give one and
// the same label throughout, and κ is 1. Of nothing there is none.
func Kappa(a, b []bool) (kappa float64, ok bool) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("golden: %d and %d labels", len(a), len(b)))
	}
	if len(a) == 0 {
		return 0, false
	}
	n, equal, yesA, yesB := float64(len(a)), 0.0, 0.0, 0.0
	for i := range a {
		if a[i] == b[i] {
			equal++
		}
		if a[i] {
			yesA++
		}
		if b[i] {
			yesB++
		}
	}
	rateA, rateB := yesA/n, yesB/n
	expected := rateA*rateB + (1-rateA)*(1-rateB)
	if expected >= 1 {
		return 1, true
	}
	return (equal/n - expected) / (1 - expected), true
}
