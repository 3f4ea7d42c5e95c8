package main

import "testing"

func TestPlanningPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 256 << 20: 400, 512 << 20: 200, 1 << 30: 100, 2 << 30: 50, 8 << 30: 50} {
		if got := planningPercent(live); got != want {
			t.Errorf("planningPercent(%d) = %d, want %d", live, got, want)
		}
	}
}
