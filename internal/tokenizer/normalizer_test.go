package tokenizer

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func normalizeWith(t testing.TB, text, settings string) string {
	t.Helper()
	r := &jsonReader{data: settings}
	all := readNormalizers(r)
	if r.end(); r.err != nil {
		t.Fatal(r.err)
	}
	return normalizeText(text, all...)
}

func normalizeText(text string, all ...normalizer) string {
	var d draft
	d.reset(text, true)
	for _, n := range all {
		d.normalize(n)
	}
	if len(d.origin) != len(d.text) {
		panic(fmt.Sprintf("%d origins for %d bytes", len(d.origin), len(d.text)))
	}
	return string(d.text)
}

// What the Rust library makes of each text.
func TestNormalizers(t *testing.T) {
	t.Parallel()
	const bert = `{"type":"BertNormalizer","clean_text":%v,"handle_chinese_chars":%v,"strip_accents":%v,"lowercase":%v}`
	for _, tt := range []struct{ settings, text, want string }{
		{`null`, "Й", "Й"},
		{`{"type":"Lowercase"}`, "ÄЇİΣẞ", "äїi̇σß"},
		{`{"type":"NFD"}`, "Їé각", "І\u0308e\u0301\u1100\u1161\u11a8"},
		{`{"type":"NFC"}`, "и\u0306e\u0301", "йé"},
		{`{"type":"NFKC"}`, "ﬁ½①\u32ff", "fi1⁄21\u32ff"},
		{`{"type":"NFKD"}`, "ﬁé", "fie\u0301"},
		{`{"type":"Nmt"}`, "a\x01b\tc\u200bd\ufeff", "ab c d "},
		{`{"type":"StripAccents"}`, "и\u0306e\u0301\u0903", "иe"},
		{`{"type":"Strip","strip_left":true,"strip_right":true}`, "\u00a0 a b\n", "a b"},
		{`{"type":"Strip","strip_left":true,"strip_right":false}`, " a ", "a "},
		{`{"type":"Strip","strip_left":true,"strip_right":true}`, " \n ", ""},
		{`{"type":"Prepend","prepend":"▁"}`, "a", "▁a"},
		{`{"type":"Prepend","prepend":"▁"}`, "", ""},
		{`{"type":"Replace","pattern":{"String":"''"},"content":"\""}`, "''a'''", "\"a\"'"},
		{`{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}`, "a   b c  ", "a b c "},
		{`{"type":"Replace","pattern":{"Regex":"\\s+"},"content":"_"}`, "a \u00a0\nb", "a_b"},
		{`{"type":"Replace","pattern":{"Regex":"^\\d|[^\\w\\s]"},"content":"#"}`, "1a2!\n٣", "#a2#\n#"},
		{`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"NFC"}]}`, "йї", "иі"},
		{fmt.Sprintf(bert, true, true, "null", true), "А\u0301й\tİ北\x00\u200b", "аи i 北 "},
		{fmt.Sprintf(bert, true, false, "null", false), "А\u0301й\r\n北", "А\u0301й  北"},
		{fmt.Sprintf(bert, false, false, "true", false), "Їй", "Іи"},
		{fmt.Sprintf(bert, true, false, "false", true), "Ї\u0378\ue000", "ї\u0378"},
	} {
		if got := normalizeWith(t, tt.text, tt.settings); got != tt.want {
			t.Errorf("%s: %+q became %+q, want %+q", tt.settings, tt.text, got, tt.want)
		}
	}
}

func TestUnicodeForms_areUnicodes(t *testing.T) {
	t.Parallel()
	letter := rapid.SampledFrom([]rune("aеиї각가é́̆̈ﬁ½ "))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(letter, 0, 20, -1).Draw(t, "text")
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got := normalizeText(text, newUnicodeForm(form)); got != form.String(text) {
				t.Fatalf("form %d of %+q: %+q, want %+q", form, text, got, form.String(text))
			}
		}
	})
}

// A code point that is taken to be alone in its cluster must be.
func TestLoneRunes(t *testing.T) {
	t.Parallel()
	lone := loneRunes()
	n := 0
	for c := rune(0); c < 1<<16; c++ {
		if !lone.has(c) {
			continue
		}
		n++
		for _, neighbour := range []string{"a", "1", "\n", "\r", "б", "क", "각", "⌚", "×"} {
			if neighbour != "\r" {
				if size := clusterSize([]byte(string(c) + neighbour)); size != utf8.RuneLen(c) {
					t.Errorf("%U and %q are one cluster", c, neighbour)
				}
			}
			if size := clusterSize([]byte(neighbour + string(c))); neighbour != "\r" && size != len(neighbour) {
				t.Errorf("%q and %U are one cluster", neighbour, c)
			}
		}
	}
	if n < 50_000 {
		t.Errorf("%d code points, of some 55,000", n)
	}
	for _, c := range "\r\u0301\u200d\u0e33\u1100\u0600" {
		if lone.has(c) {
			t.Errorf("%U joins others", c)
		}
	}
}

// table makes a charsmap in sentencepiece's layout from single bytes to texts.
func table(rules map[byte]string) string {
	units := make([]uint32, 1024)
	units[0] = 256 << 10 // the root's children are at 256 ^ label
	text := "\x00"
	for label, with := range rules {
		at := 256 ^ uint32(label)
		leaf := uint32(512) + uint32(label)
		units[at] = uint32(label) | 1<<8 | (at^leaf)<<10
		units[leaf] = 1<<31 | uint32(len(text))
		text += with + "\x00"
	}
	data := []byte{0, 16, 0, 0} // 4,096 bytes
	for _, u := range units {
		data = append(data, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return base64.StdEncoding.EncodeToString(append(data, text...))
}

func TestCharsmap(t *testing.T) {
	t.Parallel()
	settings := `{"type":"Precompiled","precompiled_charsmap":"` + table(map[byte]string{'q': "кю", '\t': " ", 'x': ""}) + `"}`
	for text, want := range map[string]string{
		"":          "",
		"aqa\tx":    "aкюa ",
		"q\u0301":   "кю", // a short cluster: the rest of it is lost
		"q\u0301̀̂": "кю\u0301̀̂",
		"\r\nxx.":   "\r\n.",
		"й и\u0306": "й и\u0306",
	} {
		if got := normalizeWith(t, text, settings); got != want {
			t.Errorf("%+q became %+q, want %+q", text, got, want)
		}
	}
	for _, bad := range []string{"?", "AAA=", "BAAAAA==", base64.StdEncoding.EncodeToString([]byte("\x04\x00\x00\x00aaaa\xff"))} {
		if _, err := parseCharsmap(bad); err == nil {
			t.Errorf("the table %q was read", bad)
		}
	}
}

func TestRuleTable(t *testing.T) {
	t.Parallel()
	n := newCharsmap(ruleTable{'ﬁ': []byte("fi"), 'Ü': []byte("Ue"), '\u00a0': []byte(" "), '\u200b': nil})
	for text, want := range map[string]string{
		"ﬁ\u00a0x":       "fi x",
		"и\u0306і\u0308": "йї",
		"U\u0308":        "Ue", // composed, then ruled
		"U\u0308\u0301":  "Ue", // the shortest entry decides
		"a\u200b\u0301":  "a\u0301",
		"ﬁ\u0301":        "fi",
		"x\u0306":        "x\u0306",
	} {
		if got := normalizeText(text, n); got != want {
			t.Errorf("%+q became %+q, want %+q", text, got, want)
		}
	}
}

func TestRuneSet_agreesWithItsTables(t *testing.T) {
	t.Parallel()
	set := newRuneSet(ranges("41 400-40F 1D400-1D40A"), unicode.L, ranges("30-39 1F600"))
	for c := rune(0); c <= unicode.MaxRune; c++ {
		want := unicode.IsLetter(c) || c >= '0' && c <= '9' || c == 0x1F600
		if c == 'A' || c >= 0x400 && c <= 0x40F || c >= 0x1D400 && c <= 0x1D40A {
			want = false
		}
		if set.has(c) != want {
			t.Fatalf("%U: %v, want %v", c, !want, want)
		}
	}
}

func TestDraft_originsFollowTheText(t *testing.T) {
	t.Parallel()
	passes := bertPasses(true, true, true, true)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aЇ ﬁ\u0301北\tİ")), 0, 20, -1).Draw(t, "text")
		var d draft
		d.reset(text, true)
		for _, n := range passes {
			d.normalize(n)
		}
		if len(d.origin) != len(d.text) {
			t.Fatalf("%d origins for %d bytes", len(d.origin), len(d.text))
		}
		for i, span := range d.origin {
			if span.Start > span.End || span.End > len(text) || i > 0 && span.Start < d.origin[i-1].Start {
				t.Fatalf("%+q became %+q with origins %v", text, d.text, d.origin)
			}
			c, source := d.text[i], text[span.Start:span.End]
			if c != ' ' && c < utf8.RuneSelf && !strings.ContainsRune(normalizeText(source, passes...), rune(c)) {
				t.Fatalf("%q does not come from %q", c, source)
			}
		}
	})
}
