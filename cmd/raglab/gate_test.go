package main

import (
	"maps"
	"testing"
)

func TestParseFigure(t *testing.T) {
	t.Parallel()
	got := map[string]float64{}
	for _, s := range []string{"ndcg@10=0.5", "p95=50", "recall@5=-1", "ndcg@10=0.6"} {
		if err := parseFigure(s, got, true); err != nil {
			t.Error(err)
		}
	}
	if want := map[string]float64{"ndcg@10": 0.6, "p95": 50, "recall@5": -1}; !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for _, s := range []string{"", "ndcg@10", "=1", "a=b", "a=NaN", "a=1,b=2"} {
		if err := parseFigure(s, got, true); err == nil {
			t.Errorf("%q is read", s)
		}
	}
	if err := parseFigure("p95=-1", got, false); err == nil {
		t.Error("a bound below 0 is read")
	}
}

func FuzzParseLabels(f *testing.F) {
	f.Add("retriever=dense")
	f.Add("retriever=dense, text=lemma")
	f.Add("a=b=c,")
	f.Fuzz(func(t *testing.T, s string) {
		labels, err := parseLabels(s)
		if err == nil && len(labels) == 0 {
			t.Errorf("%q names nothing, and is no error", s)
		}
	})
}

func TestParseLabels(t *testing.T) {
	t.Parallel()
	got, err := parseLabels("retriever=dense, rerank_depth=20,text=a=b")
	if err != nil || !maps.Equal(got, map[string]string{"retriever": "dense", "rerank_depth": "20", "text": "a=b"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "dense", "=dense", "retriever=", "retriever=dense,"} {
		if labels, err := parseLabels(s); err == nil {
			t.Errorf("%q is read as %v", s, labels)
		}
	}
}
