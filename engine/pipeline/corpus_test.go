package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
)

// collect is a leaf whose index is the texts and vectors that it was given.
type collect struct{ vectors bool }

func (c collect) Uses() retriever.Uses { return retriever.Uses{Text: true, Vectors: c.vectors} }

func (c collect) Build(_ context.Context, corpus retriever.Corpus, _ text.Analyzer, w io.Writer) error {
	rows, dim := corpus.Vectors()
	i := 0
	for s, err := range corpus.Texts() {
		if err != nil {
			return err
		}
		var v []float32
		if dim > 0 {
			v = rows[i*dim : (i+1)*dim]
		}
		i++
		fmt.Fprintln(w, s, v)
	}
	if i != corpus.Len() {
		return fmt.Errorf("%d texts of %d", i, corpus.Len())
	}
	return nil
}

func (collect) Open(context.Context, io.Reader, int64, text.Analyzer) (retriever.Searcher, error) {
	return nil, fmt.Errorf("not searched")
}

// TestIndex_seesTheCorpusInOrder deals documents with random ids and numbers of
// chunks out to shards, and expects the index to see them as they came.
func TestIndex_seesTheCorpusInOrder(t *testing.T) {
	t.Parallel()
	const shards = 4
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zа-я #%]{1,6}`), 0, 12, rapid.ID).Draw(rt, "ids")
		l := newLab(t)
		inputs := map[string][]byte{"order": plainLines(t, ids...)}
		chunks := make([][]axes.Chunk, shards)
		want := ""
		for i, id := range ids {
			n := rapid.IntRange(0, 3).Draw(rt, "chunks")
			for j := range n {
				s := shardOf(id, shards)
				chunks[s] = append(chunks[s], axes.Chunk{Doc: id, N: j, Text: fmt.Sprintf("%d.%d", i, j)})
				want += fmt.Sprintf("%d.%d []\n", i, j)
			}
		}
		for i := range shards {
			inputs[shardName("chunks", i)] = lines(t, chunks[i]...)
		}
		out, err := l.run(t, indexKindPure, indexWork{collect{}, nil, shardRange{0, shards, shards}}, inputs)
		if err != nil {
			rt.Fatal(err)
		}
		if string(out["index"]) != want {
			rt.Errorf("the index saw\n%swant\n%s", out["index"], want)
		}
	})
}

func TestIndex_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	order := plainLines(t, "a", "b")
	for name, inputs := range map[string]map[string][]byte{
		"a document that is not in the order": {
			"order": order, "chunks-000": lines(t, axes.Chunk{Doc: "a"}, axes.Chunk{Doc: "c"}),
		},
		"documents out of order": {
			"order": order, "chunks-000": lines(t, axes.Chunk{Doc: "b"}, axes.Chunk{Doc: "a"}),
		},
		"a chunk left out": {
			"order": order, "chunks-000": lines(t, axes.Chunk{Doc: "a"}, axes.Chunk{Doc: "a", N: 2}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := newLab(t).run(t, indexKindPure, indexWork{collect{}, nil, shardRange{0, 1, 1}}, inputs); err == nil {
				t.Errorf("indexed as %q", out["chunks"])
			}
		})
	}
}

func TestFingerprints_rememberWhatIsSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.md")
	write := func(s string, age time.Duration) {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(f *Fingerprints) string {
		files, err := f.Files([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		return files[0].Digest.String()
	}
	write("one", time.Hour)
	f := ParseFingerprints(nil)
	one := digest(f)
	f = ParseFingerprints(f.Encode())
	if got := digest(f); got != one || f.Encode() != nil {
		t.Errorf("a settled file is not remembered: %s, then %s", one, got)
	}
	write("two", time.Hour/2)
	if digest(f) == one {
		t.Error("a file with another time has the old digest")
	}
	write("fresh", 0)
	f = ParseFingerprints(nil)
	digest(f)
	if f.Encode() != nil {
		t.Error("a file that was just written is remembered")
	}
}

func TestUnchanged_namesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := ParseFingerprints(nil).Files([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if err := Unchanged(files); err != nil {
		t.Errorf("an unchanged file: %v", err)
	}
	if err := os.WriteFile(path, []byte("longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Unchanged(files); err == nil {
		t.Error("a longer file passes for unchanged")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := Unchanged(files); err == nil {
		t.Error("a file that is gone passes for unchanged")
	}
}

func TestShardsFor_growsInPowersOfTwo(t *testing.T) {
	t.Parallel()
	last := sharding{}
	for _, size := range []int64{0, 1 << 20, 32<<20 - 1, 32 << 20, 128 << 20, 128<<20 + 1, 256<<20 + 1, 512<<20 - 1, 512 << 20, 512<<20 + 1, 5 << 30, 100 << 30, 1 << 40} {
		s := shardsFor(size)
		if s.shards < last.shards || s.parts < last.parts || s.shards&(s.shards-1) != 0 || s.shards%s.parts != 0 || s.part(0).n > 1<<7 {
			t.Errorf("%+v for %d bytes, %+v for fewer", s, size, last)
		}
		if each := size / int64(s.shards); s.shards < mostShards && (each > shardBytes || s.shards > 128 && 2*size <= int64(s.shards)*shardBytes) {
			t.Errorf("%d bytes to a shard of %d", each, size)
		}
		last = s
	}
	for size, want := range map[int64]sharding{0: {8, 1}, 40 << 20: {32, 1}, 200 << 20: {64, 1}, 500 << 20: {128, 1}, 512 << 20: {128, 4}, 600 << 20: {256, 8}, 50 << 30: {16384, 512}} {
		if got := shardsFor(size); got != want {
			t.Errorf("%d bytes: %+v, want %+v", size, got, want)
		}
	}
	seen := make([]int, 8)
	for i := range 800 {
		seen[shardOf(fmt.Sprint("document ", i), 8)]++
	}
	if slices.Min(seen) < 60 {
		t.Errorf("documents are dealt out unevenly: %v", seen)
	}
}
