package metric_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes/metric"
)

func TestJudge_looksUpGrades(t *testing.T) {
	t.Parallel()
	judge := metric.NewJudge(5)
	grades := []metric.Grade{{0, 1}, {3, 2}, {4, -1}, {1, 0}, {metric.Nowhere, 1}, {metric.Nowhere, 3}}
	for range 2 { // the second time over used arrays
		j, err := judge.Judge([]uint32{2, 3, 4, 1}, grades)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int32{metric.Unjudged, 2, -1, 0}; !slices.Equal(j.Grades, want) {
			t.Errorf("grades %v, want %v", j.Grades, want)
		}
		if want := []int32{3, 2, 1, 1}; !slices.Equal(j.Ideal, want) {
			t.Errorf("ideal %v, want %v", j.Ideal, want)
		}
	}
	j, err := judge.Judge([]uint32{0}, nil)
	if err != nil || j.Grades[0] != metric.Unjudged || len(j.Ideal) != 0 {
		t.Errorf("an earlier question's judgements remain: %+v, %v", j, err)
	}
}

func TestJudge_refuses(t *testing.T) {
	t.Parallel()
	judge := metric.NewJudge(3)
	_, err := judge.Judge([]uint32{2, 0, 1, 0}, nil)
	var duplicate *metric.DuplicateError
	if !errors.As(err, &duplicate) || *duplicate != (metric.DuplicateError{Item: 0, First: 2, Second: 4}) {
		t.Errorf("ranked twice: %v", err)
	}
	if _, err := judge.Judge([]uint32{3}, nil); err == nil || !strings.Contains(err.Error(), "outside the corpus of 3") {
		t.Errorf("outside: %v", err)
	}
	if _, err := judge.Judge(nil, []metric.Grade{{1, 1}, {1, 2}}); err == nil || !strings.Contains(err.Error(), "judged twice") {
		t.Errorf("judged twice: %v", err)
	}
}

func TestCollapse(t *testing.T) {
	t.Parallel()
	judge := metric.NewJudge(3)
	documentOf := []uint32{0, 0, 1, 1, 2}
	got, err := judge.Collapse([]uint32{3, 1, 2, 0, 4}, documentOf)
	if want := []uint32{1, 0, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	var duplicate *metric.DuplicateError
	if _, err := judge.Collapse([]uint32{3, 1, 3}, documentOf); !errors.As(err, &duplicate) || duplicate.First != 1 || duplicate.Second != 3 {
		t.Errorf("a chunk twice: %v", err)
	}
	if _, err := judge.Collapse([]uint32{5}, documentOf); err == nil {
		t.Error("a chunk outside the corpus is accepted")
	}
	if _, err := judge.Collapse([]uint32{0}, []uint32{3}); err == nil {
		t.Error("a document outside the corpus is accepted")
	}
}

func TestCollapse_firstChunkOfEachDocumentInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		documentOf := rapid.SliceOfN(rapid.Uint32Range(0, 9), 1, 50).Draw(t, "documents")
		chunks := rapid.Permutation(order(len(documentOf))).Draw(t, "ranking")
		judge := metric.NewJudge(10)
		got, err := judge.Collapse(chunks, documentOf)
		if err != nil {
			t.Fatal(err)
		}
		var want []uint32
		for _, c := range chunks {
			if d := documentOf[c]; !slices.Contains(want, d) {
				want = append(want, d)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if _, err := judge.Judge(got, nil); err != nil {
			t.Fatalf("collapsed ranking is refused: %v", err)
		}
	})
}
