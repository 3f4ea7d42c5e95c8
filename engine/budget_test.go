package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A budget of money ends scheduling once runs were billed for that much, failed ones
// and those of earlier applies included; it counts nothing that was cached.
func TestApply_budgetOfMoney(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Capacity.CPU = 1
	l.ex.BudgetUSD = 1
	for i := range 4 {
		l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), func(_ context.Context, t *Task) error {
			t.Measure(PaidUSD, 0.5)
			if i == 1 {
				return errors.New("billed, and broken")
			}
			return t.Write("out", []byte(t.Address))
		})
	}
	out := l.apply()
	if fmt.Sprint(out.State) != "[done failed queued queued]" || out.OverBudget != "usd" || out.PaidUSD != 1 {
		t.Errorf("states %v, over budget %q, paid %v", out.State, out.OverBudget, out.PaidUSD)
	}
	l.ex.PaidUSD = 0.75
	if out = l.apply(); fmt.Sprint(out.State) != "[done failed queued queued]" || out.OverBudget != "usd" || out.PaidUSD != 1.25 {
		t.Errorf("second apply: states %v, over budget %q, paid %v", out.State, out.OverBudget, out.PaidUSD)
	}
	l.ex.PaidUSD = 1.25
	if out = l.apply(); out.Executed != 0 || out.OverBudget != "usd" {
		t.Errorf("third apply: executed %d, over budget %q", out.Executed, out.OverBudget)
	}
	l.ex.PaidUSD, l.ex.BudgetUSD = 0, 10
	if out = l.apply(); out.OverBudget != "" || out.PaidUSD != 1.5 {
		t.Errorf("fourth apply: over budget %q, paid %v", out.OverBudget, out.PaidUSD)
	}
}
