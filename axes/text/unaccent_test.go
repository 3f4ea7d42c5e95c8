package text_test

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"raglab/axes/axestest"
	"raglab/axes/text"
)

// TestUnaccent_letters has the letters that Ukrainian and its neighbours write
// with marks, and ґ, whose hook is none. Each is tried in both cases, composed
// and decomposed.
func TestUnaccent_letters(t *testing.T) {
	t.Parallel()
	a := analyzer[text.UnaccentParams](t, "unaccent", "uk", nil)
	letters := map[string]string{
		"й": "и", "ї": "і", "ґ": "г", "ё": "е", "ў": "у", "ѓ": "г", "ќ": "к", "ѝ": "и",
		"а\u0301": "а", "є\u0301": "є", "ї\u0301": "і", "é": "e", "ż": "z", "ş": "s", "ö": "o", "ế": "e",
		// These stay: they are letters of their own, not letters with marks.
		"и": "и", "і": "і", "г": "г", "є": "є", "щ": "щ", "ь": "ь", "ы": "ы", "э": "э", "ł": "ł", "ø": "ø", "ß": "ß", "ı": "ı",
	}
	for letter, want := range letters {
		for _, typed := range []string{letter, strings.ToUpper(letter)} {
			if typed == "I" || typed == "SS" { // the capitals of other letters, too
				continue
			}
			for _, form := range []norm.Form{norm.NFC, norm.NFD} {
				in := form.String("м" + typed + "м " + typed)
				if got := strings.Join(axestest.Terms(a, in), " "); got != "м"+want+"м "+want {
					t.Errorf("%+q gives %q, want %q", in, got, "м"+want+"м "+want)
				}
			}
		}
	}
}

// TestUnaccent_apostrophes has every code point that is typed for an apostrophe:
// between letters it is dropped, elsewhere it separates, unless it is a letter
// itself.
func TestUnaccent_apostrophes(t *testing.T) {
	t.Parallel()
	a := analyzer[text.UnaccentParams](t, "unaccent", "uk", nil)
	marks := []rune{
		'\'', '`', 0xB4, 0x2018, 0x2019, 0x201B, 0x2032, 0x2035, 0xFF07,
		0x2B9, 0x2BB, 0x2BC, 0x2BD, 0x2C8, 0x2CA, 0x2CB, 0xA78C,
	}
	tests := []struct{ in, want string }{
		{"п*ять", "пять"},
		{"З*ЇЗД", "зізд"},
		{"об*єкт*ний", "обєктнии"},
		{"кур*єр Лук*ян", "курєр лукян"},
		{"*п*", "п"},
		{"п**ять", "п ять"},
		{"п *ять* п* ять", "п ять п ять"},
		{"5*6", "56"},
		{"п-*ять", "п ять"},
	}
	for _, mark := range marks {
		for _, test := range tests {
			in := strings.ReplaceAll(test.in, "*", string(mark))
			if got := strings.Join(axestest.Terms(a, in), " "); got != test.want {
				t.Errorf("U+%04X: %q gives %q, want %q", mark, in, got, test.want)
			}
		}
	}
	for _, other := range []string{"\"", "«", ",", "„", "”", "′′", "·"} {
		in := "п" + other + "ять"
		if got := strings.Join(axestest.Terms(a, in), " "); got != "п ять" {
			t.Errorf("%q gives %q, though it holds no apostrophe", in, got)
		}
	}
}
