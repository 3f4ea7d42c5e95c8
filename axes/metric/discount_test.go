package metric

import (
	"math"
	"testing"
)

func TestDiscounts_areCorrectlyRounded(t *testing.T) {
	t.Parallel()
	var d discounts
	table := d.upTo(70_000)
	for n, want := range map[int]float64{ // to 30 digits, which the compiler rounds
		3: 1.58496250072115618145373894395, 5: 2.32192809488736234787031942949, 6: 2.58496250072115618145373894395,
		7: 2.80735492205760410744196931723, 10: 3.32192809488736234787031942949, 11: 3.45943161863729725619936304673,
		13: 3.70043971814109216039681265155, 1000: 9.96578428466208704361095828847, 65537: 16.000022013611360340496489072883,
	} {
		if got := table[n-2]; got != want {
			t.Errorf("log2(%d) = %.20g, want %.20g", n, got, want)
		}
	}
	for i, got := range table {
		n := float64(i + 2)
		if math.Abs(got-math.Log2(n)) > 4e-15 {
			t.Fatalf("log2(%v) = %v", n, got)
		}
		if frac, exp := math.Frexp(n); frac == 0.5 && got != float64(exp-1) {
			t.Fatalf("log2(%v) = %v", n, got)
		}
	}
}

func TestDiscounts_growWithTheSameValues(t *testing.T) {
	t.Parallel()
	var d discounts
	short := d.upTo(10)
	long := d.upTo(1000)
	if len(long) < 1000 {
		t.Fatalf("%d entries", len(long))
	}
	for i := range short {
		if short[i] != long[i] {
			t.Errorf("rank %d: %v, then %v", i+1, short[i], long[i])
		}
	}
}
