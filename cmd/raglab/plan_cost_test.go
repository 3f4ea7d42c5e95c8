package main

import (
	"testing"

	"raglab/engine/workspace"
)

func TestCostLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		summary workspace.PlanSummary
		budget  float64
		want    string
	}{
		{workspace.PlanSummary{}, 0, ""},
		{workspace.PlanSummary{EstimateUSD: 0.00123}, 0, " It costs about 0.0012 USD by the prices stated."},
		{workspace.PlanSummary{Unpriced: 1}, 0, " What it costs is not known yet: there is 1 stage that is billed and whose texts are not made yet."},
		{workspace.PlanSummary{EstimateUSD: 2, Unpriced: 3}, 0.5, " It costs about 2.00 USD by the prices stated, without 3 stages that are billed and whose texts are not made yet. The budget is 0.50 USD: about 25 % of it will fit."},
		{workspace.PlanSummary{EstimateUSD: 0.2}, 12, " It costs about 0.20 USD by the prices stated. The budget is 12.00 USD."},
	}
	for _, test := range tests {
		if got := costLine(test.summary, test.budget); got != test.want {
			t.Errorf("%+v: %q, want %q", test.summary, got, test.want)
		}
	}
}
