package pgindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// vectorOf encodes terms.
func vectorOf(l *Lexemes, terms []string) ([]byte, error) {
	l.Reset()
	for _, term := range terms {
		l.Add([]byte(term))
	}
	return l.AppendVector(nil)
}

// copyTexts makes a table with a tsvector for each list of terms.
func copyTexts(t rapid.TB, db *pg.DB, key string, texts [][]string) string {
	ix := pg.Index{Key: key, Kind: "test", Definition: "(id integer not null, lexemes tsvector not null)"}
	_, _, err := db.Build(context.Background(), ix, func(ctx context.Context, b *pg.Building) error {
		var l Lexemes
		i := -1
		n, err := Copy(ctx, b, []string{"id", "lexemes"}, func(buf []byte) ([]byte, error) {
			if i++; i == len(texts) {
				return buf, io.EOF
			}
			buf, field := Begin(AppendOrdinal(buf, i))
			vector, err := vectorOf(&l, texts[i])
			buf = append(buf, vector...)
			End(buf, field)
			return buf, err
		})
		if err == nil && n != int64(len(texts)) {
			err = fmt.Errorf("%d rows of %d", n, len(texts))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	name, err := db.Table(key)
	if err != nil {
		t.Fatal(err)
	}
	return name.Sanitize()
}

// column returns the first column of what a statement gives.
func column[T any](t rapid.TB, db *pg.DB, sql string, args ...any) []T {
	rows, err := db.Pool().Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// words draws texts of plain words, which Postgres's parser leaves as they are.
func words() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.StringMatching(`[a-d][a-dx]{0,2}`), 0, 40)
}

// TestLexemes_equalToTSVector compares what is sent with what Postgres makes of the
// same text, lexemes and positions.
func TestLexemes_equalToTSVector(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(words(), 1, 10).Draw(t, "texts")
		n++
		table := copyTexts(t, db, fmt.Sprintf("%064x", uint64(n)<<40)[24:]+strings.Repeat("0", 24), texts)
		got := column[string](t, db, "select lexemes::text from "+table+" order by id")
		for i, terms := range texts {
			want := column[string](t, db, "select to_tsvector('simple', $1)::text", strings.Join(terms, " "))
			if got[i] != want[0] {
				t.Fatalf("%q is %s, want %s", terms, got[i], want[0])
			}
		}
	})
}

// TestLexemes_limits are those of to_tsvector.
func TestLexemes_limits(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	many := make([]string, 20_000)
	for i := range many {
		many[i] = fmt.Sprint("w", i%7000)
	}
	texts := [][]string{
		{"a", strings.Repeat("x", 2046), "b", strings.Repeat("x", 2047), "c"},
		strings.Fields(strings.Repeat("a b ", 300)),
		many,
		append(append([]string{}, many[:16_382]...), "z", "z", "z"),
	}
	table := copyTexts(t, db, strings.Repeat("1", 64), texts)
	got := column[string](t, db, "select lexemes::text from "+table+" order by id")
	for i, terms := range texts {
		want := column[string](t, db, "select to_tsvector('simple', $1)::text", strings.Join(terms, " "))
		if diff := cmp.Diff(want[0], got[i]); diff != "" {
			t.Errorf("text %d (-to_tsvector +sent):\n%.2000s", i, diff)
		}
	}
	var l Lexemes
	if _, err := vectorOf(&l, texts[0]); err != nil || l.Dropped != 1 {
		t.Errorf("dropped %d, %v", l.Dropped, err)
	}
	var big []string
	for i := range 600 {
		big = append(big, fmt.Sprint(strings.Repeat("y", 2000), i))
	}
	_, err := vectorOf(&l, big)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Bytes < 600*2000 {
		t.Errorf("more than a tsvector takes: %v", err)
	}
	// The largest that is let through is taken by the server too.
	for size := 0; ; {
		next, err := vectorOf(&l, big[:size+1])
		if err != nil {
			break
		}
		if size++; len(next) < maxVector*9/10 {
			continue
		}
		copyTexts(t, db, fmt.Sprintf("%064d", size)[24:]+strings.Repeat("2", 24), [][]string{big[:size]})
	}
}

// nasty draws a term of whatever bytes there are, quotes and operators among them.
func nasty() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune{'\'', '\\', ' ', '!', '&', '|', '(', ')', ':', '*', '<', '-', '>', '\x00', 'a', 'A', 'й', '\t', '\n', '"', '$', '1', 0x10FFFF}), 1, 6, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 4), func(b []byte) string { return string(b) }),
	)
}

// read is what stands for a term in Postgres.
func read(term string) string {
	return strings.ReplaceAll(string([]rune(term)), "\x00", string(utf8.RuneError))
}

// TestLexemes_anyTermsFindTheirTexts: the texts that match are exactly those that
// share a term with the question, and their terms are read back as they were sent.
func TestLexemes_anyTermsFindTheirTexts(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		vocabulary := rapid.SliceOfN(nasty(), 1, 12).Draw(t, "vocabulary")
		terms := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 8)
		texts := rapid.SliceOfN(terms, 1, 8).Draw(t, "texts")
		question := terms.Draw(t, "question")
		n++
		table := copyTexts(t, db, fmt.Sprintf("%040x", n)+strings.Repeat("0", 24), texts)

		var l Lexemes
		for _, term := range question {
			l.Add([]byte(term))
		}
		text, distinct := l.AppendQuery(nil)
		query := string(text)
		if (query == "") != (len(question) == 0) || (distinct == 0) != (query == "") {
			t.Fatalf("%q is asked as %s", question, query)
		}
		asked := map[string]bool{}
		for _, term := range question {
			asked[read(term)] = true
		}
		var want []int32
		for i, text := range texts {
			distinct := map[string]bool{}
			matches := false
			for _, term := range text {
				distinct[read(term)] = true
				matches = matches || asked[read(term)]
			}
			if matches {
				want = append(want, int32(i))
			}
			for _, lexeme := range column[string](t, db, "select unnest(tsvector_to_array(lexemes)) from "+table+" where id = $1", i) {
				if !distinct[lexeme] {
					t.Fatalf("%q has the lexeme %q", text, lexeme)
				}
				delete(distinct, lexeme)
			}
			if len(distinct) > 0 {
				t.Fatalf("%q lacks the lexemes %v", text, distinct)
			}
		}
		if query == "" {
			return
		}
		got := column[int32](t, db, "select id from "+table+" where lexemes @@ $1::tsquery order by id", query)
		if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
			t.Fatalf("%s matches (-shares a term +matches):\n%s", query, diff)
		}
	})
}

func FuzzLexemes(f *testing.F) {
	f.Add("a b a", "a")
	f.Add("it's \\ | & \x00 \xff", "'")
	f.Fuzz(func(t *testing.T, indexed, question string) {
		var l Lexemes
		vector, err := vectorOf(&l, strings.Split(indexed, " "))
		if err != nil {
			return
		}
		// What follows the count can be read back.
		rest := vector[4:]
		previous := ""
		for range int(vector[0])<<24 | int(vector[1])<<16 | int(vector[2])<<8 | int(vector[3]) {
			lexeme, after, found := strings.Cut(string(rest), "\x00")
			if !found || lexeme <= previous || !utf8.ValidString(lexeme) {
				t.Fatalf("%q after %q", lexeme, previous)
			}
			positions := int(after[0])<<8 | int(after[1])
			previous, rest = lexeme, []byte(after[2+2*positions:])
		}
		if len(rest) > 0 {
			t.Fatalf("%d bytes are left", len(rest))
		}
		l.Reset()
		l.Add([]byte(question))
		text, _ := l.AppendQuery(nil)
		query := string(text)
		inner := strings.TrimSuffix(strings.TrimPrefix(query, "'"), "'")
		inner = strings.NewReplacer("''", "", `\\`, "").Replace(inner)
		if strings.ContainsAny(inner, `'\`) || strings.Contains(query, "\x00") || !utf8.ValidString(query) {
			t.Fatalf("%q is asked as %q", question, query)
		}
	})
}
