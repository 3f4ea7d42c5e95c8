package report

import (
	"strings"
	"testing"
)

// TestTables_rounded: how far scores are off stands beside ann_recall, for the rows
// whose index keeps vectors in a lower precision.
func TestTables_rounded(t *testing.T) {
	t.Parallel()
	r := sample()
	if strings.Contains(Markdown(r.Tables()), scoreOffColumn) {
		t.Fatal("the tables have the column without such a row")
	}
	off := 3.14e-4
	half, unknown := &r.Configurations[0], &r.Configurations[1]
	half.Rounded, half.ScoreDifference = true, &off
	unknown.Rounded = true
	for c, want := range map[*Configuration]string{half: "3.1e-04", unknown: unmeasured, &r.Configurations[2]: notApplicable} {
		if got := c.scoreOff(); got != want {
			t.Errorf("%s: %s, want %s", c.Name, got, want)
		}
	}
	text := Markdown(r.Tables())
	if !strings.Contains(text, " | ann_recall@10 | "+scoreOffColumn+" |") || !strings.Contains(text, "| 3.1e-04 |") {
		t.Errorf("%s", text)
	}
	var o Output = csvFile{}
	csv, err := o.Render(r, nil)
	lines := strings.Split(strings.TrimSpace(string(csv)), "\n")
	if err != nil || !strings.HasSuffix(lines[0], ",score_difference") || !strings.HasSuffix(lines[1], ",0.000314") || !strings.HasSuffix(lines[2], ",") {
		t.Errorf("%v\n%s", err, csv)
	}
	if limits := strings.Join(r.unmeasuredLimits(), "\n"); !strings.Contains(limits, "change of scores by rounding of 1 row") {
		t.Errorf("%s", limits)
	}
}
