package sim

import (
	"container/heap"
	"time"
)

// oracle is how long the work takes when somebody who knows how long each stage will
// take begins, whenever a worker is free, the ready stage with the longest way to the
// end: a schedule that is good, and that nobody can make beforehand. No worker is
// lost and no run slow.
func (s Shape) oracle(workers int) time.Duration {
	n := len(s.Wall)
	readers, waits, rank := make([][]int, n), make([]int, n), make([]time.Duration, n)
	for i := n - 1; i >= 0; i-- {
		rank[i] += s.Wall[i]
		for _, in := range s.Plan.Stages[i].Stage.Inputs {
			from := in.From.Index()
			rank[from] = max(rank[from], rank[i])
			readers[from] = append(readers[from], i)
			waits[i]++
		}
	}
	ready := &ranked{rank: rank}
	for i := range n {
		if waits[i] == 0 {
			heap.Push(ready, i)
		}
	}
	c, free := newClock(), workers
	begun := c.now
	var begin func()
	begin = func() {
		for ; free > 0 && len(ready.stages) > 0; free-- {
			i := heap.Pop(ready).(int)
			c.after(s.Wall[i], func() {
				free++
				for _, r := range readers[i] {
					if waits[r]--; waits[r] == 0 {
						heap.Push(ready, r)
					}
				}
				begin()
			})
		}
	}
	begin()
	for c.step() {
	}
	return c.now.Sub(begun)
}

// ranked is a heap of stages, the highest rank first.
type ranked struct {
	stages []int
	rank   []time.Duration
}

func (r *ranked) Len() int           { return len(r.stages) }
func (r *ranked) Less(i, j int) bool { return r.rank[r.stages[i]] > r.rank[r.stages[j]] }
func (r *ranked) Swap(i, j int)      { r.stages[i], r.stages[j] = r.stages[j], r.stages[i] }
func (r *ranked) Push(x any)         { r.stages = append(r.stages, x.(int)) }

func (r *ranked) Pop() any {
	last := len(r.stages) - 1
	x := r.stages[last]
	r.stages = r.stages[:last]
	return x
}
