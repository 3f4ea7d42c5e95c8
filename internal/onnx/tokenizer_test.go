package onnx

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"raglab/internal/assets/assetstest"
	"raglab/internal/testdata"
)

// The tokenizer inside the 4-bit file gives the ids of the model's tokenizer.json.
func TestOpenTokenizer_packed(t *testing.T) {
	t.Parallel()
	f, err := os.Open(testdata.Shared(t, "models/multilingual-e5-small/tokenizer.expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := OpenTokenizer(assetstest.Dir(t, "multilingual-e5-small-q4"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var want struct {
			Text string
			IDs  []int32
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(nil, want.Text); !slices.Equal(got, want.IDs) {
			t.Errorf("%q\n got %v\nwant %v", want.Text, got, want.IDs)
		}
		n++
	}
	if err := lines.Err(); err != nil || n == 0 {
		t.Fatalf("%d texts, %v", n, err)
	}
}

func TestOpenTokenizer_missing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := OpenTokenizer(dir); err == nil {
		t.Error("no error for an empty folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "model.bin"), []byte("E5S1"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTokenizer(dir); err == nil {
		t.Error("no error for a model file cut short")
	}
}
