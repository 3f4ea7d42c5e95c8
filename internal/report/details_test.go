package report_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"raglab/internal/report"
)

func TestScores_areShortNumbers(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(report.Scores{0, 1, -3, 0.123456789, 123456.7, 1e-9, 123456, math.NaN(), math.Inf(1), math.MaxFloat64})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[0,1,-3,0.12346,1.2346e+05,1e-09,123456,null,null,1.7977e+308]`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}

// shown is an output that says whether it got details.
type shown struct {
	path  string
	wants bool
}

func (s shown) Path() string                                  { return s.path }
func (s shown) Render(*report.Report, []byte) ([]byte, error) { return []byte("without"), nil }
func (s shown) WantsDetails() bool                            { return s.wants }
func (s shown) RenderDetailed(_ *report.Report, d *report.Details, _ []byte) ([]byte, error) {
	return []byte(d.Relevance), nil
}

func TestWriteDetailed_collectsForThoseThatWant(t *testing.T) {
	t.Parallel()
	collected := 0
	details := func() (*report.Details, error) {
		collected++
		return &report.Details{Relevance: "span"}, nil
	}
	for _, tc := range []struct {
		wants   bool
		content string
		after   int
	}{{false, "without", 0}, {true, "span", 1}} {
		o := shown{filepath.Join(t.TempDir(), "x", "report"), tc.wants}
		for _, changes := range []bool{true, false} {
			changed, err := report.WriteDetailed(o, &report.Report{}, details)
			if err != nil || changed != changes {
				t.Errorf("wants %v: changed %v, %v", tc.wants, changed, err)
			}
		}
		if b, err := os.ReadFile(o.path); err != nil || string(b) != tc.content {
			t.Errorf("wrote %q, %v", b, err)
		}
		if collected != 2*tc.after {
			t.Errorf("wants %v: collected %d times", tc.wants, collected)
		}
	}
	failed := errors.New("lost")
	o := shown{filepath.Join(t.TempDir(), "report"), true}
	if _, err := report.WriteDetailed(o, &report.Report{}, func() (*report.Details, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}
