package report

import (
	"slices"
	"testing"
)

func TestWordingLimits(t *testing.T) {
	t.Parallel()
	asked := func(part string, relevant int, w *Wording) GoldenQuestion {
		return GoldenQuestion{Part: part, Relevant: relevant, Wording: w}
	}
	const flatter = " The more of a question's words are the document's own, the more these results flatter search by words."
	for name, tc := range map[string]struct {
		golden []GoldenQuestion
		want   []string
	}{
		"no texts":     {[]GoldenQuestion{asked("test", 1, nil)}, nil},
		"no questions": {nil, nil},
		"documents":    {[]GoldenQuestion{asked("test", 1, &Wording{Document: 0.5}), asked("test", 2, &Wording{Document: 1})}, []string{"Of a test question's different words 75 % stand on average in its relevant document." + flatter}},
		"all": {[]GoldenQuestion{
			asked("test", 1, &Wording{0.8, new(0.25), new(0.5)}), asked("test", 1, &Wording{0.4, new(0.75), nil}), asked("test", 1, nil),
			asked("dev", 1, &Wording{1, new(1.0), new(1.0)}), asked("test", 0, &Wording{Document: 1}),
		}, []string{"Of a test question's different words, in 2 of 3, 60 % stand on average in its relevant document and 50 % in one that is relevant to another question; 50 % stand in its answer span." + flatter}},
	} {
		r := &Report{Golden: tc.golden}
		if got := r.wordingLimits(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		r.limit()
		if len(tc.want) > 0 && !slices.Contains(r.Limits, tc.want[0]) {
			t.Errorf("%s: the limits %q do not say it", name, r.Limits)
		}
	}
}
