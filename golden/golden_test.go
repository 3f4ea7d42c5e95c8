package golden_test

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		" \n\t":                     "",
		"  The  QUICK\r\nfox ":      "the quick fox",
		"a\u00a0\u2003b\u3000\x1cc": "a b c",
		"ЇЖАК Ґанок":                "їжак ґанок",
		"ISPARTA İzmir ılık":        "isparta i\u0307zmir ılık",
		"ΟΔΟΣ οδος":                 "οδοσ οδοσ",
		"zero\u200bwidth":           "zero\u200bwidth",
		"STRAẞE":                    "straße",
	} {
		if got := golden.Fold(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		once := golden.Fold(text)
		if twice := golden.Fold(once); twice != once {
			t.Fatalf("%q folds to %q, which folds to %q", text, once, twice)
		}
		if cut := golden.Fold(" " + strings.ReplaceAll(text, " ", " \n ")); cut != once {
			t.Fatalf("white space changes %q to %q", once, cut)
		}
	})
}

func TestSplit_hash(t *testing.T) {
	t.Parallel()
	// The rule as documented, in whole numbers.
	part := func(text string, dev float64) golden.Part {
		sum := sha256.Sum256([]byte(text))
		fraction := new(big.Rat).SetFrac(new(big.Int).SetBytes(sum[:8]), new(big.Int).Lsh(big.NewInt(1), 64))
		if fraction.Cmp(new(big.Rat).SetFloat64(dev)) < 0 {
			return golden.Dev
		}
		return golden.Test
	}
	rapid.Check(t, func(t *rapid.T) {
		q := golden.Question{ID: rapid.String().Draw(t, "id")}
		dev := rapid.Float64Range(0, 1).Draw(t, "dev")
		salt := rapid.StringN(1, 5, -1).Draw(t, "salt")
		if got, want := (golden.Split{By: "hash", Dev: dev}).Part(q), part(q.ID, dev); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if got, want := (golden.Split{By: "hash", Dev: dev, Salt: salt}).Part(q), part(salt+"\x00"+q.ID, dev); got != want {
			t.Fatalf("with salt: got %s, want %s", got, want)
		}
	})
	for dev, want := range map[float64]golden.Part{0: golden.Test, 1: golden.Dev} {
		for i := range 1000 {
			if got := (golden.Split{By: "hash", Dev: dev}).Part(golden.Question{ID: fmt.Sprint(i)}); got != want {
				t.Errorf("share %v: question %d is in %s", dev, i, got)
			}
		}
	}
}

func TestSplit_hashIsAboutTheShareAndStable(t *testing.T) {
	t.Parallel()
	set := &golden.Set{}
	for i := range 2000 {
		set.Questions = append(set.Questions, golden.Question{ID: fmt.Sprintf("q%d", i)})
	}
	dev, test, err := golden.Split{By: "hash", Dev: 0.3}.Divide(set)
	if err != nil || len(dev.Questions)+len(test.Questions) != 2000 || len(dev.Questions) < 540 || len(dev.Questions) > 660 {
		t.Errorf("%d dev, %d test, %v", len(dev.Questions), len(test.Questions), err)
	}
	half, _, err := golden.Split{By: "hash", Dev: 0.5}.Divide(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range dev.Questions { // a larger share keeps what a smaller one has
		if !slices.ContainsFunc(half.Questions, func(h golden.Question) bool { return h.ID == q.ID }) {
			t.Errorf("%s left dev when the share grew", q.ID)
		}
	}
}

func TestSplit_tag(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{
		{ID: "a", Tags: []string{"x", "split:dev"}},
		{ID: "b", Tags: []string{"split:test"}},
		{ID: "c", Tags: []string{"split:dev", "split:test"}, Pos: golden.Position{File: "g", Line: 3}},
		{ID: "d", Pos: golden.Position{File: "g", Line: 4}},
	}}
	_, _, err := golden.Split{By: "tag"}.Divide(set)
	want := `g:3: question c: it has both of the tags split:dev and split:test; give it one of the two
g:4: question d: it has neither of the tags split:dev and split:test; give it one of the two`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	dev, test, err := golden.Split{By: "tag", DevTag: "x", TestTag: "split:test"}.Divide(&golden.Set{Questions: set.Questions[:2]})
	if err != nil || len(dev.Questions) != 1 || dev.Questions[0].ID != "a" || test.Questions[0].ID != "b" {
		t.Errorf("%+v, %+v, %v", dev, test, err)
	}
}

func TestSplit_emptyPartIsAnError(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{{ID: "a"}, {ID: "b"}}}
	_, _, err := golden.Split{By: "hash", Dev: 0}.Divide(set)
	if err == nil || err.Error() != "none of the 2 questions is a dev question; the share of dev questions is 0; change it or the salt" {
		t.Errorf("got %v", err)
	}
}

var corpus = map[string]string{
	"rivers/dnipro.md": "Дніпро\nНайбільша річка  України, четверта за довжиною в Європі.",
	"rivers/dniester":  "Дністер",
	"cities/Lviv":      "Львів",
	"empty":            "",
}

func checked(set *golden.Set) []string {
	var out []string
	for _, p := range golden.Check(set, golden.Corpus{
		Has:     func(id string) bool { _, ok := corpus[id]; return ok },
		Content: func(id string) (string, bool) { text := corpus[id]; return text, text != "" },
		IDs: func(yield func(string) bool) {
			for _, id := range []string{"rivers/dnipro.md", "rivers/dniester", "cities/Lviv"} {
				if !yield(id) {
					return
				}
			}
		},
	}) {
		out = append(out, p.String())
	}
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	q := func(id string, relevant ...golden.Relevant) golden.Question {
		return golden.Question{ID: id, Relevant: relevant, Pos: golden.Position{File: "g", Line: 1}}
	}
	got := checked(&golden.Set{Questions: []golden.Question{
		q("ok", golden.Relevant{Doc: "rivers/dnipro.md", Span: "РІЧКА України"}, golden.Relevant{Doc: "cities/Lviv"}),
		q("span", golden.Relevant{Doc: "rivers/dnipro.md", Span: "найбільша річка України й четверта"}, golden.Relevant{Doc: "cities/Lviv", Span: "Краків"}),
		q("typo", golden.Relevant{Doc: "rivers/dneister"}, golden.Relevant{Doc: "rivers/dnipro"}, golden.Relevant{Doc: "lviv"}, golden.Relevant{Doc: "x"}),
		q("later", golden.Relevant{Doc: "rivers/dnipro.md", Span: "п'ята"}, golden.Relevant{Doc: "empty", Span: "a"}),
	}})
	want := []string{
		`g:1: question span: document rivers/dnipro.md does not hold the span "найбільша річка України й четверта"; after "більша річка україни" it has ", четверта за довжин", where the span has " й четверта"`,
		`g:1: question span: document cities/Lviv does not hold the span "Краків"`,
		`g:1: question typo: document rivers/dneister is not in the corpus; did you mean rivers/dniester?`,
		`g:1: question typo: document rivers/dnipro is not in the corpus; did you mean rivers/dnipro.md?`,
		`g:1: question typo: document lviv is not in the corpus; did you mean cities/Lviv?`,
		`g:1: question typo: document x is not in the corpus`,
		`g:1: question later: document rivers/dnipro.md does not hold the span "п'ята"`,
		`g:1: question later: document empty has no text`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A span that is cut from a text is always found in it.
func TestCheck_spansOfTheTextAreHeld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := []rune(rapid.StringOf(rapid.RuneFrom([]rune("aBіЇ \n\tΣσςİ."))).Draw(t, "text"))
		from := rapid.IntRange(0, len(runes)).Draw(t, "from")
		to := rapid.IntRange(from, len(runes)).Draw(t, "to")
		set := &golden.Set{Questions: []golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: string(runes[from:to])}}}}}
		problems := golden.Check(set, golden.Corpus{
			Has:     func(string) bool { return true },
			Content: func(string) (string, bool) { return string(runes), true },
		})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
	})
}

func TestLint(t *testing.T) {
	t.Parallel()
	relevant := []golden.Relevant{{Doc: "d", Grade: 1}}
	problems := golden.Lint(&golden.Set{Questions: []golden.Question{
		{ID: "a", Text: "Who?", Relevant: relevant},
		{ID: "b", Text: "Where?", Relevant: []golden.Relevant{{Doc: "d", Grade: 0}}},
		{ID: "c", Text: "who? ", Relevant: relevant},
	}})
	if len(problems) != 2 || problems[0].String() != "question b: nothing is relevant to it; it is left out of every mean" || problems[1].String() != "question c: question a asks the same" {
		t.Errorf("got %v", problems)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{
		{ID: "a", Tags: []string{"z", "split:dev"}, Relevant: []golden.Relevant{{Doc: "1", Grade: 1, Span: "s"}, {Doc: "1", Grade: 2, Span: "t"}}},
		{ID: "b", Tags: []string{"z", "split:test"}, Relevant: []golden.Relevant{{Doc: "2", Grade: 0}}},
		{ID: "c"},
	}}
	got := golden.Count(set, &golden.Split{By: "tag"})
	want := golden.Counts{
		Questions: golden.PartCount{Dev: 1, Test: 1, Neither: 1}, Unanswered: 2, Judgements: 3, Relevant: 2, Spans: 2, Graded: 1, Documents: 2,
		Tags: []golden.TagCount{
			{Tag: "split:dev", PartCount: golden.PartCount{Dev: 1}},
			{Tag: "split:test", PartCount: golden.PartCount{Test: 1}},
			{Tag: "z", PartCount: golden.PartCount{Dev: 1, Test: 1}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if all := golden.Count(set, nil); all.Questions != (golden.PartCount{Test: 3}) || all.Questions.Total() != 3 {
		t.Errorf("without a split: %+v", all.Questions)
	}
}
