package pipeline

import (
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"raglab/internal/param"
	"raglab/spec"
)

// sizing builds the part of a spec that reads the corpus, and returns its fetch.
func sizing(t *testing.T, dir, corpus string) (fetchWork, error) {
	t.Helper()
	e, diags := spec.LoadSources(dir, []spec.Source{{Name: "s.hcl", Bytes: []byte("experiment \"e\" {}\n" + corpus + "\ngolden { file = \"golden.jsonl\" }\n")}},
		spec.LoadOptions{Catalog: Catalog{}, Env: func(string) (string, bool) { return "", false }})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := BuildPart(t.Context(), e, Env{Threads: 1, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Downloads: t.TempDir(), Sketch: true}, false)
	if err != nil {
		return fetchWork{}, err
	}
	return p.Fetch.Work.(fetchWork), p.Close()
}

func TestCorpusSize_isFromFilesLockOrSpec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs.jsonl", `{"_id":"a","text":"b"}`+"\n")
	write("docs.jsonl.gz", "\x1f\x8b")
	write("told.json", `{"source":"beir","from":"d","bytes":700000000,"files":[{"path":"d.zip","size":1}]}`)
	write("silent.json", `{"source":"beir","from":"d","files":[{"bytes":700000000}]}`)
	write("broken.json", `{"source":"beir","bytes":"many"`)
	beir := func(more string) string { return "corpus \"beir\" {\n name = \"d\"\n" + more + "\n}" }
	for name, test := range map[string]struct {
		corpus string
		size   corpusSize
		sharding
	}{
		"plain files":              {`corpus "jsonl" { path = "docs.jsonl" }`, corpusSize{23, true, false}, sharding{8, 1}},
		"packed files":             {`corpus "jsonl" { path = "docs.jsonl.gz" }`, corpusSize{2, false, false}, sharding{8, 1}},
		"packed files and a size":  {"corpus \"jsonl\" {\n path = \"docs.jsonl.gz\"\n size = \"100 MB\"\n}", corpusSize{100e6, false, true}, sharding{32, 1}},
		"nothing tells":            {beir(""), corpusSize{}, sharding{8, 1}},
		"the spec":                 {beir(`size = "3.1GB"`), corpusSize{3.1e9, false, true}, sharding{1024, 32}},
		"a lock":                   {beir(`lock = "told.json"`), corpusSize{7e8, false, false}, sharding{256, 8}},
		"a lock and the spec":      {beir("lock = \"told.json\"\nsize = \"1MB\""), corpusSize{1e6, false, true}, sharding{8, 1}},
		"a lock that says nothing": {beir(`lock = "silent.json"`), corpusSize{}, sharding{8, 1}},
		"a lock that is none":      {beir(`lock = "broken.json"`), corpusSize{}, sharding{8, 1}},
		"a lock that is not there": {beir(`lock = "none.json"`), corpusSize{}, sharding{8, 1}},
	} {
		if got, err := sizing(t, dir, test.corpus); err != nil || got.size != test.size || got.sharding != test.sharding {
			t.Errorf("%s: %+v in %+v, %v; want %+v in %+v", name, got.size, got.sharding, err, test.size, test.sharding)
		}
	}
	_, err := sizing(t, dir, "corpus \"jsonl\" {\n path = \"docs.jsonl\"\n size = \"1GB\"\n}")
	var diags hcl.Diagnostics
	if !errors.As(err, &diags) || diags[0].Subject.Start.Line != 4 || !strings.Contains(diags[0].Detail, "23 B") {
		t.Errorf("the size of plain files: %v", err)
	}
}

// TestSurprise_endsWhenItsAdviceIsTaken holds found sizes against plans, and against the
// plan that the warning asks for.
func TestSurprise_endsWhenItsAdviceIsTaken(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	warned := 0
	for i := range 20_000 {
		found := int64(1) << (10 + r.IntN(30))
		if i%2 == 0 {
			found += r.Int64N(found)
		} else { // just above where a class begins
			found += 1 + r.Int64N(1000)
		}
		for _, planned := range []corpusSize{{}, {bytes: found / 9}, {bytes: 1 << (10 + r.IntN(30)), stated: true}} {
			text := planned.surprise(shardsFor(planned.bytes), found)
			if few := shardsFor(found/2).shards > shardsFor(planned.bytes).shards; few && text == "" {
				t.Fatalf("%d bytes where %+v were planned are no surprise", found, planned)
			}
			if text == "" {
				continue
			}
			warned++
			_, advice, _ := strings.Cut(text, "size = \"")
			advice, _, _ = strings.Cut(advice, "\"")
			taken, err := param.ParseSize(advice)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if again := (corpusSize{bytes: taken, stated: true}).surprise(shardsFor(taken), found); again != "" {
				t.Fatalf("%d bytes: %q, and then %q", found, text, again)
			}
		}
		large := corpusSize{bytes: 9 * found}
		if large.surprise(shardsFor(large.bytes), found) != "" {
			t.Fatal("files that hold less text than bytes are a surprise")
		}
		large.stated = true
		if few := shardsFor(2*found).shards < shardsFor(large.bytes).shards; few && large.surprise(shardsFor(large.bytes), found) == "" {
			t.Fatalf("%d bytes where the spec says nine times as many are no surprise", found)
		}
		if (corpusSize{bytes: 1, exact: true}).surprise(shardsFor(1), found) != "" {
			t.Fatal("plain files are a surprise")
		}
	}
	if warned == 0 {
		t.Error("nothing was a surprise")
	}
	want := `the corpus has 3.1 GB, planned as one of unknown size in 8 shards; write size = "3.1GB" into the corpus block, which cuts it anew`
	if got := (corpusSize{}).surprise(sharding{8, 1}, 3.1e9); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFetch_warnsOfASizeThatWasNotPlanned fetches what is packed far better than the plan
// takes packed files for.
func TestFetch_warnsOfASizeThatWasNotPlanned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "docs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	for i := range 50 {
		fmt.Fprintf(z, "{\"_id\":\"%d\",\"text\":\"%s\"}\n", i, strings.Repeat("word ", 200_000))
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	work, err := sizing(t, dir, `corpus "jsonl" { path = "docs.jsonl.gz" }`)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	if _, err := l.run(t, fetchKind(work.sharding, true), work, nil); err != nil {
		t.Fatal(err)
	}
	if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "the corpus has 50.0 MB, planned as one of ") {
		t.Errorf("said %q", l.warnings)
	}
}

// TestBuildMemory_keepsPartsApart: a worker with 1 GB builds one part of a large corpus
// at a time, and a machine of 16 GB many indexes of small ones.
func TestBuildMemory_keepsPartsApart(t *testing.T) {
	t.Parallel()
	memory := func(size corpusSize, vectors bool) int64 {
		s := shardsFor(size.bytes)
		l := &leafBuilder{builder: &builder{size: size, sharding: s}}
		l.uses.Vectors = vectors
		return l.buildMemory(s.part(s.parts - 1))
	}
	for _, size := range []corpusSize{{bytes: 5e9}, {bytes: 5e9, exact: true}, {bytes: 200e9, stated: true}} {
		words, vectors := memory(size, false), memory(size, true)
		if 2*words <= 1e9 || words > 1e9 && size.bytes < 128<<30 || vectors <= words {
			t.Errorf("%+v: a part takes %d, %d with vectors", size, words, vectors)
		}
	}
	if small := memory(corpusSize{bytes: 1e6, exact: true}, true); 16*small > 4e9 {
		t.Errorf("an index of 1 MB takes %d", small)
	}
	if unknown := memory(corpusSize{}, false); unknown < 200e6 || unknown > 400e6 {
		t.Errorf("an index of unknown size takes %d", unknown)
	}
}
