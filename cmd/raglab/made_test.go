package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raglab/internal/onnx"
	"raglab/internal/pg/pgtest"
)

// vocabulary is the words that made documents are of.
func vocabulary(n int) []string {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	words := make([]string, n)
	for i := range words {
		var b strings.Builder
		for range 2 + random.IntN(3) {
			b.WriteByte("bcdfgklmnprstvz"[random.IntN(15)])
			b.WriteByte("aeiou"[random.IntN(5)])
		}
		words[i] = fmt.Sprintf("%s%d", b.String(), i)
	}
	return words
}

// pick returns n of the words, joined by blanks.
func pick(random *rand.Rand, words []string, n int) string {
	picked := make([]string, n)
	for i := range picked {
		picked[i] = words[random.IntN(len(words))]
	}
	return strings.Join(picked, " ")
}

// newMade makes an experiment of made documents, each with a question of its words,
// in a folder of the test's own. The programs of raglab's own server are there; it
// is stopped and removed when the test ends.
func newMade(t *testing.T, spec string, docs int) string {
	t.Helper()
	random, words := rand.New(rand.NewPCG(7, 7)), vocabulary(200)
	var corpus, golden []any
	for i := range docs {
		text := pick(random, words, 40)
		corpus = append(corpus, map[string]string{"_id": fmt.Sprint("d", i), "title": "", "text": text})
		golden = append(golden, map[string]any{
			"id": fmt.Sprint("q", i), "question": pick(random, strings.Fields(text), 4),
			"relevant": []map[string]string{{"doc": fmt.Sprint("d", i)}},
		})
	}
	dir := t.TempDir()
	withPrograms(t, dir)
	writeLines(t, filepath.Join(dir, "docs.jsonl"), corpus...)
	writeLines(t, filepath.Join(dir, "golden.jsonl"), golden...)
	writeFile(t, filepath.Join(dir, "made.hcl"), spec)
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeLines(t *testing.T, path string, values ...any) {
	t.Helper()
	var b strings.Builder
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	writeFile(t, path, b.String())
}

// withPrograms puts the programs of raglab's own server into a test's cache, as
// links to the user's, and sees that no server is left when the test ends.
func withPrograms(t *testing.T, dir string) {
	t.Helper()
	tree, _ := pgtest.Bundle(t)
	linkAsset(t, dir, filepath.Dir(filepath.Dir(tree)))
	t.Cleanup(func() {
		if err := pgtest.Remove(filepath.Join(dir, ".test", "cache", "postgres")); err != nil {
			t.Error(err)
		}
	})
}

// linkAsset puts an asset of the user's into a test's cache.
func linkAsset(t *testing.T, dir, asset string) {
	t.Helper()
	assets := filepath.Join(dir, ".test", "cache", "assets")
	if err := os.MkdirAll(assets, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(asset, filepath.Join(assets, filepath.Base(asset))); err != nil {
		t.Fatal(err)
	}
}

// withModel makes a sentence encoder for made documents: a word is a random vector,
// a text their mean. False says that there is no library to run it with.
func withModel(t *testing.T, dir string) bool {
	t.Helper()
	user, err := os.UserCacheDir()
	if err != nil {
		return false
	}
	library := filepath.Join(user, "raglab", "assets", "onnxruntime")
	if _, err := os.Stat(library); err != nil {
		t.Logf("SKIP-ASSETS: without the asset onnxruntime there are no vectors: %v", err)
		return false
	}
	linkAsset(t, dir, library)
	model := filepath.Join(dir, "model")
	if err := os.Mkdir(model, 0o755); err != nil {
		t.Fatal(err)
	}
	const dim = 16
	words, random := vocabulary(200), rand.New(rand.NewPCG(3, 3))
	vocab := map[string]int{"[UNK]": 0}
	for i, w := range words {
		vocab[w] = i + 1
	}
	tokenizer, err := json.Marshal(map[string]any{
		"version": "1.0", "pre_tokenizer": map[string]string{"type": "WhitespaceSplit"},
		"model": map[string]any{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(model, "tokenizer.json"), string(tokenizer))
	vectors := make([]float32, len(vocab)*dim)
	for i := range vectors {
		vectors[i] = float32(random.NormFloat64())
	}
	m := onnx.NewModel("made")
	ids := m.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence")
	m.Output(onnx.LastHiddenState, m.Node("Gather", "", []string{m.Floats("words", vectors, len(vocab), dim), ids}),
		onnx.Float32, "batch", "sequence", dim)
	f, err := os.Create(filepath.Join(model, "model.onnx"))
	if err == nil {
		_, err = m.WriteTo(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return true
}
