package tokenizer_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"raglab/internal/testdata"
	"raglab/internal/tokenizer"
)

// example is a line of the fixtures: what the Rust library made of a text, or of
// a pair.
type example struct {
	Text    string  `json:"text"`
	A       string  `json:"a"`
	B       string  `json:"b"`
	IDs     []int32 `json:"ids"`
	TypeIDs []int32 `json:"type_ids"`
}

func readExamples(t testing.TB, path string) []example {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []example
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e example
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no example", path)
	}
	return all
}

func openFixture(t testing.TB, folder string) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Open(testdata.Shared(t, "models/"+folder+"/tokenizer.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestFixtures_idsAreThoseOfTheRustLibrary(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"multilingual-e5-small", "wordpiece"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			tok := openFixture(t, folder)
			checkExamples(t, tok, readExamples(t, testdata.Shared(t, "models/"+folder+"/tokenizer.expected.jsonl")))
			checkPairs(t, tok, readExamples(t, testdata.Shared(t, "models/"+folder+"/tokenizer.pairs.jsonl")))
		})
	}
}

func checkExamples(t *testing.T, tok *tokenizer.Tokenizer, examples []example) {
	t.Helper()
	for _, e := range examples {
		if got := tok.Encode(nil, e.Text); !slices.Equal(got, e.IDs) {
			t.Errorf("%.80q: got %v, want %v", e.Text, brief(got), brief(e.IDs))
		}
		content := tok.Count(e.Text)
		if content != len(e.IDs)-2 {
			t.Errorf("%.80q: counted %d tokens, want %d", e.Text, content, len(e.IDs)-2)
		}
		if spans := tok.Offsets(e.Text); len(spans) != content {
			t.Errorf("%.80q: %d spans for %d tokens", e.Text, len(spans), content)
		}
		const limit = 128
		want, cut := e.IDs, false
		if len(want) > limit {
			want, cut = append(slices.Clone(want[:limit-1]), want[len(want)-1]), true
		}
		if got, truncated := tok.EncodeTruncated(nil, e.Text, limit); !slices.Equal(got, want) || truncated != cut {
			t.Errorf("%.80q at most %d: got %v (truncated %v), want %v", e.Text, limit, brief(got), truncated, brief(want))
		}
	}
}

func checkPairs(t *testing.T, tok *tokenizer.Tokenizer, examples []example) {
	t.Helper()
	for _, e := range examples {
		ids, types := tok.EncodePair(nil, nil, e.A, e.B)
		if !slices.Equal(ids, e.IDs) {
			t.Errorf("pair %.80q, %.80q: got %v, want %v", e.A, e.B, brief(ids), brief(e.IDs))
		}
		if !slices.Equal(types, e.TypeIDs) {
			t.Errorf("pair %.80q, %.80q: types %v, want %v", e.A, e.B, brief(types), brief(e.TypeIDs))
		}
	}
}

// brief keeps a failure readable.
func brief(ids []int32) []int32 { return ids[:min(len(ids), 40)] }
