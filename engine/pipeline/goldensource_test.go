package pipeline

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"raglab/golden"
	"raglab/spec"
)

func TestArrange(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{
		{ID: "q<::>2", Text: "|user|:  Two? "}, {ID: "q<::>10", Text: "|user|: Ten?"}, {ID: "a", Text: "None |user|:"},
	}}
	if err := arrange(spec.Golden{Order: "id", StripPrefix: "|user|:"}, set); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range set.Questions {
		got = append(got, q.ID+" "+q.Text)
	}
	if want := []string{"a None |user|:", "q<::>10 Ten?", "q<::>2 Two?"}; !reflect.DeepEqual(got, want) {
		t.Errorf("questions %q, want %q", got, want)
	}
	bare := &golden.Set{Questions: []golden.Question{{ID: "q", Text: "|user|: "}}}
	if err := arrange(spec.Golden{StripPrefix: "|user|:"}, bare); err == nil || !strings.Contains(err.Error(), "question q has no text but the prefix") {
		t.Errorf("error %v", err)
	}
}

func TestDropMissing(t *testing.T) {
	t.Parallel()
	judged := func(docs ...string) (list []golden.Relevant) {
		for _, d := range docs {
			list = append(list, golden.Relevant{Doc: d, Grade: 1})
		}
		return list
	}
	given := judged("gone", "d1", "lost")
	set := &golden.Set{Questions: []golden.Question{
		{ID: "part", Relevant: given}, {ID: "none", Relevant: judged("gone")}, {ID: "all", Relevant: judged("d1", "d2")}, {ID: "unanswerable"},
	}}
	var said []string
	dropMissing(set, func(id string) bool { return strings.HasPrefix(id, "d") }, func(format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
	})
	want := []golden.Question{{ID: "part", Relevant: judged("d1")}, {ID: "all", Relevant: judged("d1", "d2")}, {ID: "unanswerable"}}
	for i := range set.Questions {
		if len(set.Questions[i].Relevant) == 0 {
			set.Questions[i].Relevant = nil
		}
	}
	if !reflect.DeepEqual(set.Questions, want) {
		t.Errorf("questions\n%+v\nwant\n%+v", set.Questions, want)
	}
	if len(said) != 1 || said[0] != "3 judgements of documents that the corpus lacks were dropped, and 1 questions with them" {
		t.Errorf("said %q", said)
	}
	if given[0].Doc != "gone" {
		t.Error("the source's own list was changed")
	}
}

// TestArrangeFields gives a spec that arranges nothing the key that it had before.
func TestArrangeFields(t *testing.T) {
	t.Parallel()
	if f := arrangeFields(spec.Golden{Missing: "error", Order: "source"}); len(f) != 0 {
		t.Errorf("fields %v", f)
	}
	if f := arrangeFields(spec.Golden{Missing: "drop", Order: "id", StripPrefix: "x"}); len(f) != 3 {
		t.Errorf("fields %v", f)
	}
}
