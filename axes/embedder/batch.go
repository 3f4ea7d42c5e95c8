package embedder

import "slices"

// tokenBudget is how many tokens a batch has at most, unless one text has more.
// The activations of so many tokens stay in the processor's caches.
const tokenBudget = 1024

// batches puts texts of equal token length together, at most tokenBudget tokens
// each, the longest texts first: the last batches, for which some workers wait,
// are then short. Each batch is a list of places in ids.
func batches(ids [][]int32) [][]int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(ids[b]) - len(ids[a]) })
	var out [][]int
	for from := 0; from < len(order); {
		length := len(ids[order[from]])
		to := from + 1
		for to < len(order) && len(ids[order[to]]) == length && (to-from+1)*length <= tokenBudget {
			to++
		}
		out = append(out, order[from:to])
		from = to
	}
	return out
}
