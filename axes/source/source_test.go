package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/internal/param"
)

// write makes files below a new folder and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newSource makes a source of a kind from its defaults and what set changes.
func newSource[P any](t testing.TB, kind axes.Kind[source.Source], set func(*P)) source.Source {
	t.Helper()
	p := kind.Params().(*P)
	set(p)
	s, err := kind.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newJSONL(t testing.TB, path string, sets ...func(*source.JSONLParams)) source.Source {
	t.Helper()
	return newSource(t, source.JSONL(), func(p *source.JSONLParams) {
		p.Path = path
		for _, set := range sets {
			set(p)
		}
	})
}

func newFiles(t testing.TB, path string, sets ...func(*source.FilesParams)) source.Source {
	t.Helper()
	return newSource(t, source.Files(), func(p *source.FilesParams) {
		p.Path = path
		for _, set := range sets {
			set(p)
		}
	})
}

func newBEIR(t testing.TB, path string, sets ...func(*source.BEIRParams)) source.Source {
	t.Helper()
	return newSource(t, source.BEIR(), func(p *source.BEIRParams) {
		p.Path = path
		for _, set := range sets {
			set(p)
		}
	})
}

// wantProblem reads a source and checks that its error says every text.
func wantProblem(t *testing.T, s source.Source, says ...string) {
	t.Helper()
	docs, err := sourcetest.Collect(t.Context(), s)
	if err == nil {
		t.Fatalf("no error, %d documents", len(docs))
	}
	checkProblem(t, err, says...)
}

func checkProblem(t *testing.T, err error, says ...string) {
	t.Helper()
	if e := (*source.Error)(nil); !errors.As(err, &e) || e.Path == "" || e.Problem == "" {
		t.Errorf("error %v is no source.Error with a path and a problem", err)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// wantWarning checks that one of the source's warnings says the text.
func wantWarning(t *testing.T, s source.Source, says string) {
	t.Helper()
	warnings := s.(source.Warner).Warnings()
	if !strings.Contains(strings.Join(warnings, "\n"), says) {
		t.Errorf("warnings %q do not say %q", warnings, says)
	}
}

func TestKinds_describeThemselves(t *testing.T) {
	t.Parallel()
	for _, d := range axes.Describe(source.Kinds()) {
		if len(param.MustFields(d.Params())) == 0 {
			t.Errorf("%s has no parameter", d.About().Name)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	docs := `{"_id":"a","title":"Київ","text":"Столиця України.","url":"https://example.org/a"}` + "\n" +
		`{"_id":"b","title":"","text":"Друга."}` + "\n"
	queries := `{"_id":"q1","text":"Яка столиця?"}` + "\n" + `{"_id":"q2","text":"Що друге?"}` + "\n"
	qrels := "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2\n"
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{
			"a.md": "---\ntitle: А\n---\n# А\n\nТекст.\n", "b/c.txt": "Простий текст.\n", "b/d.html": "<h1>Заголовок</h1><p>Абзац",
		})
		sourcetest.Run(t, func(t *testing.T) source.Source { return newFiles(t, dir) })
	})
	t.Run("jsonl", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"docs.jsonl": docs})
		sourcetest.Run(t, func(t *testing.T) source.Source { return newJSONL(t, filepath.Join(dir, "docs.jsonl")) })
	})
	t.Run("beir", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"corpus.jsonl": docs, "queries.jsonl": queries, "qrels/test.tsv": qrels})
		sourcetest.Run(t, func(t *testing.T) source.Source { return newBEIR(t, dir) })
	})
}

func TestErrors_areCapped(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"docs.jsonl": strings.Repeat("{\"_id\":\"x\"}\n", source.MaxErrors+5)})
	_, err := sourcetest.Collect(t.Context(), newJSONL(t, filepath.Join(dir, "docs.jsonl")))
	var all *source.Errors
	if !errors.As(err, &all) {
		t.Fatalf("error %v (%T), want *source.Errors", err, err)
	}
	if len(all.List) != source.MaxErrors || all.More != 5 {
		t.Errorf("%d errors and %d more, want %d and 5", len(all.List), all.More, source.MaxErrors)
	}
	if !strings.HasSuffix(err.Error(), "\nand 5 more") {
		t.Errorf("error does not end in the count: %q", err)
	}
}
