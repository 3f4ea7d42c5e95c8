package lemma

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadTSV(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[а-яіїєґ' -]{1,9}`)
		want := rapid.MapOfN(word, word, 1, 40).Draw(rt, "dictionary")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end of lines")
		var file strings.Builder
		for _, form := range slices.Sorted(maps.Keys(want)) {
			file.WriteString(form + "\t" + want[form] + end)
		}
		text := file.String()
		if rapid.Bool().Draw(rt, "the last line is not ended") {
			text = strings.TrimSuffix(text, end)
		}
		d, err := ReadTSV("x.tsv", []byte(text))
		if err != nil {
			rt.Fatal(err)
		}
		check(rt, d, want)
	})
}

func TestReadTSV_lenience(t *testing.T) {
	t.Parallel()
	d, err := ReadTSV("x.tsv", []byte("\ufeffcafe\u0301s\tcafé\r\n\n\r\nміста\tмісто\nміста\tмісто"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, d, map[string]string{"cafés": "café", "міста": "місто"})
}

func TestReadTSV_refuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxWord+1)
	tests := []struct{ name, file, want string }{
		{"nothing", "", "x.tsv: no line of a form, a tab and a lemma"},
		{"empty lines", "\n\r\n", "x.tsv: no line of a form, a tab and a lemma"},
		{"no tab", "a\tb\nміста місто\n", "x.tsv:2: expected a form, a tab and its lemma, found 0 tabs"},
		{"two tabs", "\na\tb\tc\n", "x.tsv:2: expected a form, a tab and its lemma, found 2 tabs"},
		{"no form", "\tb\n", "x.tsv:1: empty form"},
		{"no lemma", "a\t\r\n", "x.tsv:1: empty lemma"},
		{"no UTF-8", "a\tb\nc\xff\td", "x.tsv:2: not UTF-8"},
		{"a long form", long + "\tb", "x.tsv:1: form of 256 bytes, at most 255 are possible"},
		{"a long lemma", "b\t" + long, "x.tsv:1: lemma of 256 bytes, at most 255 are possible"},
		{
			"two lemmas", "\n\ne\u0301\tb\nc\td\n\u00e9\te\n",
			`x.tsv:5: form "é" has another lemma, "b", in line 3`,
		},
		{
			"all at once", "a\nb\nc\td\ne\n",
			"x.tsv:1: expected a form, a tab and its lemma, found 0 tabs\n" +
				"x.tsv:2: expected a form, a tab and its lemma, found 0 tabs\n" +
				"x.tsv:4: expected a form, a tab and its lemma, found 0 tabs",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ReadTSV("x.tsv", []byte(test.file)); err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
	_, err := ReadTSV("x.tsv", []byte(strings.Repeat("a\n", 1000)))
	if err == nil || strings.Count(err.Error(), "\n") != shownProblems || !strings.HasSuffix(err.Error(), "\nx.tsv: more lines are wrong") {
		t.Errorf("a thousand wrong lines: %v", err)
	}
}

func FuzzReadTSV(f *testing.F) {
	f.Add([]byte("\ufeffміста\tмісто\r\n\nмісту\tмісто"))
	f.Add([]byte("a\tb\na\tc\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := ReadTSV("x.tsv", file)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.tsv:") {
				t.Errorf("error %v names no place", err)
			}
			return
		}
		want := map[string]string{}
		forms, lemmas := entries(d)
		for i, form := range forms {
			want[form] = lemmas[i]
		}
		check(t, d, want)
	})
}
