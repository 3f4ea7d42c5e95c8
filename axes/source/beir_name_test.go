package source_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/internal/param"
	"raglab/internal/web"
)

func beirZip(t testing.TB) []byte {
	t.Helper()
	return zipOf(t, entry{"mini/corpus.jsonl", beirCorpus}, entry{"mini/queries.jsonl", beirQueries}, entry{"mini/qrels/test.tsv", beirQrels})
}

func newBEIRName(t testing.TB, env axes.Env, h *host, set func(*source.BEIRParams)) source.Source {
	t.Helper()
	return newRemote(t, env, source.BEIR(), func(p *source.BEIRParams) {
		p.Name, p.BaseURL = "mini", h.URL+"/datasets/"
		set(p)
	})
}

func TestBEIRName_conformance(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{"/datasets/mini.zip": beirZip(t)})
	env, _ := patient(t, nil)
	sourcetest.Run(t, func(t *testing.T) source.Source { return newBEIRName(t, env, h, func(*source.BEIRParams) {}) })
}

func TestBEIRName_fetchesOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{"/datasets/mini.zip": beirZip(t)})
	env, waited := patient(t, nil)
	h.fail("/datasets/mini.zip", status(429, "Retry-After", "2"), cut(beirZip(t)), status(502))
	s := newBEIRName(t, env, h, func(p *source.BEIRParams) { p.SHA256 = sha256Of(beirZip(t)) })
	checkBEIR(t, s)
	asked := h.requests()
	if len(asked) != 4 || !strings.Contains(asked[3], "bytes=") || len(waited.list) != 3 {
		t.Errorf("requests %q, waits %v", asked, waited.list)
	}
	checkBEIR(t, newBEIRName(t, env, h, func(p *source.BEIRParams) { p.SHA256 = sha256Of(beirZip(t)) }))
	if asked := h.requests(); len(asked) > 0 {
		t.Errorf("a data set that is kept was asked for: %q", asked)
	}
	if !source.Remote(source.BEIR(), s) || source.Remote(source.BEIR(), newBEIR(t, t.TempDir())) {
		t.Error("remote and local are not told apart")
	}
}

// TestBEIRName_oneArchive changes what the host has between documents and questions:
// one source is of one archive.
func TestBEIRName_oneArchive(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{"/datasets/mini.zip": beirZip(t)})
	env, _ := patient(t, nil)
	s := newBEIRName(t, env, h, func(*source.BEIRParams) {})
	sourcetest.Read(t, s)
	h.set("/datasets/mini.zip", []byte("no longer"))
	if n := len(questions(t, s).Questions); n != 2 {
		t.Errorf("%d questions, want 2", n)
	}
	wantProblem(t, newBEIRName(t, env, h, func(*source.BEIRParams) {}), "mini.zip: neither a folder nor a zip file")
}

func TestBEIRName_lock(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{"/datasets/mini.zip": beirZip(t)})
	env, _ := patient(t, nil)
	path := filepath.Join(t.TempDir(), "mini.lock.json")
	set := func(p *source.BEIRParams) { p.Lock = path }
	s := newBEIRName(t, env, h, set)
	if says := s.(source.Pinner).Unpinned(); !strings.Contains(says, "BEIR data set mini is not pinned") || s.(source.Placed).Place() == "" {
		t.Errorf("unpinned says %q", says)
	}
	writeFile(t, path, lockOf(t, s))
	if s.(source.Pinner).Unpinned() != "" || s.(source.Placed).Place() != "" || lockOf(t, newBEIRName(t, env, h, set)) != lockOf(t, s) {
		t.Error("a locked data set is not pinned")
	}
	checkBEIR(t, newBEIRName(t, env, h, set))
	wantBytes(t, s)
	h.set("/datasets/mini.zip", zipOf(t, entry{"mini/corpus.jsonl", beirCorpus}))
	env, _ = patient(t, nil)
	wantProblem(t, newBEIRName(t, env, h, set), "mini.zip: ", "not what was pinned")
	wantProblem(t, newBEIRName(t, env, h, func(p *source.BEIRParams) { set(p); p.Name = "other" }), "was written for beir mini, not for beir other")
	wantProblem(t, newBEIRName(t, env, h, func(p *source.BEIRParams) { set(p); p.SHA256 = sha256Of(nil) }), "has another SHA-256 than the spec")
}

func TestBEIRName_problems(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{})
	env, _ := patient(t, nil)
	wantProblem(t, newBEIRName(t, env, h, func(*source.BEIRParams) {}), "mini.zip: ", "404", "lists the names")
	h.fail("/datasets/mini.zip", status(500), status(502), status(503), status(504), status(429))
	if _, err := sourcetest.Collect(t.Context(), newBEIRName(t, env, h, func(*source.BEIRParams) {})); !web.IsTemporary(err) {
		t.Errorf("error %v is none that passes", err)
	}
	for _, c := range []struct{ path, name, sum, lock, base, at string }{
		{"", "", "", "", "", "path"},
		{"x", "y", "", "", "", "name"},
		{"x", "", "", "l", "", "path"},
		{"", "../x", "", "", "", "name"},
		{"", "x", "abc", "", "", "sha256"},
		{"", "x", "", "", "http://example.org", "base_url"},
	} {
		p := source.BEIR().Params().(*source.BEIRParams)
		p.Path, p.Name, p.SHA256, p.Lock = c.path, c.name, c.sum, c.lock
		if c.base != "" {
			p.BaseURL = c.base
		}
		_, err := source.BEIR().New(p, axesEnv)
		var pe *param.Error
		if !errors.As(err, &pe) || pe.Attribute != c.at {
			t.Errorf("%+v: error %v, want one at %s", c, err, c.at)
		}
	}
}
