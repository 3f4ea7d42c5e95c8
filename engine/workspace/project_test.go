package workspace

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/axes/source/sourcetest"
	"raglab/cache"
	"raglab/engine"
	"raglab/internal/assets"
	"raglab/spec"
)

// projectSpec reads files in every way that a spec can, and has an index whose key hangs
// on how many threads there are.
const projectSpec = `experiment "made" {}
variable "depth" {
  type    = number
  default = 10
}
corpus "jsonl" { path = "../docs/docs.jsonl" }
golden { file = "golden.jsonl" }
axis "text" {
  use = ["simple"]
  option "prefix" { length = tonumber(trimspace(file("length.txt"))) }
}
fixed "embedder" {
  option "service" {
    kind  = "openai"
    url   = "http://127.0.0.1:9/v1"
    model = "made"
  }
}
axis "retriever" {
  use = ["bm25"]
  option "dense" {
    kind = "pgvector"
    index = "hnsw"
  }
}
score {
  depth   = var.depth
  metrics = ["ndcg@5"]
}
output "csv" { path = "out.csv" }
`

// openAt opens a workspace with so many threads on a cache of its own.
func openAt(t *testing.T, store string, threads int) *Workspace {
	t.Helper()
	w, err := Open(Options{
		CacheDir: t.TempDir(), Threads: threads, Log: hclog.NewNullLogger(), Version: "test", Warn: func(text string) { t.Log(text) },
		Remote: StoreOptions{URL: "file://" + store, Mode: "write", Strict: true},
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// submitted is the project of a spec as a worker with so many threads has it. Both get
// models from the hub of a URL.
func submitted(t *testing.T, dir, store string, threads int, hub string) (*Session, *Project) {
	t.Helper()
	open := func(threads int) *Workspace {
		w := openAt(t, store, threads)
		w.assets.store = assets.New(assets.Config{Dir: filepath.Join(t.TempDir(), "assets"), Environ: []string{"HF_ENDPOINT=" + hub}})
		return w
	}
	path := filepath.Join(dir, "specs", "made.hcl")
	vars := map[string]string{"depth": "7"}
	exp, diags := spec.Load(path, spec.LoadOptions{Catalog: Catalog(), Vars: vars})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	here := open(4)
	s, err := here.StartAway(t.Context(), exp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec, err := s.bundle(t.Context(), Loaded{Spec: path, Vars: vars})
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(threads).Project(t.Context(), cache.Digest(rec.Key))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, p
}

// A worker with another number of threads and none of the files finds every stage that
// was submitted, and has a long file's content only once a stage is to read it.
func TestProject_findsEveryStage(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), t.TempDir()
	docs := strings.Repeat(`{"_id":"a","title":"","text":"`+strings.Repeat("word ", 100)+`"}`+"\n", smallFile/400)
	writeTree(t, dir, map[string]string{
		"docs/docs.jsonl": docs, "specs/made.hcl": projectSpec, "specs/length.txt": "4\n",
		"specs/golden.jsonl": `{"id":"q","question":"word","relevant":[{"doc":"a"}]}` + "\n",
	})
	s, p := submitted(t, dir, store, 1, "http://127.0.0.1:9")
	for _, st := range s.Pipeline.Graph.Stages {
		if _, ok := p.Find(st.PlanKey()); !ok {
			t.Errorf("%s is not found: %s", st.Address, p.Missing(st.Address, st.Kind.Name, st.Kind.Version))
		}
	}
	at := filepath.Join(p.tree.root, "docs", "docs.jsonl")
	if b, err := os.ReadFile(at); err != nil || len(b) != len(docs) || string(b) == docs {
		t.Errorf("before it is read the corpus has %d bytes, and content %v: %v", len(b), string(b) == docs, err)
	}
	// Another worker that begins leaves it alone.
	if err := p.session.sweepTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(t.Context(), p.session.Pipeline.Fetch); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(at); err != nil || string(b) != docs {
		t.Errorf("after it is prepared the corpus is not there: %v", err)
	}
}

// A worker takes the models that the submitter has, pinned or not, and refuses a stage
// whose model is another one on its machine.
func TestProject_models(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{
		"docs/docs.jsonl": `{"_id":"a","title":"","text":"word"}` + "\n", "specs/length.txt": "4\n",
		"specs/golden.jsonl": `{"id":"q","question":"word","relevant":[{"doc":"a"}]}` + "\n",
		"specs/made.hcl": strings.NewReplacer(`kind  = "openai"`, `kind = "onnx"`, `url   = "http://127.0.0.1:9/v1"`, "",
			`"made"`+"\n  }", `"multilingual-e5-small"`+"\n  }").Replace(projectSpec),
	})
	hub := sourcetest.NewHub()
	files := map[string][]byte{"onnx/model.onnx": []byte("weights"), "tokenizer.json": []byte("{}")}
	hub.Commit("models", "intfloat/multilingual-e5-small", files)
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	s, p := submitted(t, dir, t.TempDir(), 1, server.URL)
	const model = "multilingual-e5-small"
	embeds := 0
	for _, st := range s.Pipeline.Graph.Stages {
		for _, f := range st.Fields {
			if f.Path == model && f.Value != notHere {
				embeds++
			}
		}
		if _, ok := p.Find(st.PlanKey()); !ok {
			t.Errorf("%s is not found: %s", st.Address, p.Missing(st.Address, st.Kind.Name, st.Kind.Version))
		}
	}
	if embeds == 0 {
		t.Fatal("no stage names the model by its content")
	}
	// The branch moves on before the worker fetches.
	files["onnx/model.onnx"] = []byte("better")
	hub.Commit("models", "intfloat/multilingual-e5-small", files)
	embed := &engine.Stage{Fields: []engine.Field{{Class: engine.Model, Path: model}}}
	if err := p.session.told.get(t.Context(), embed); err != nil {
		t.Fatal(err)
	}
	at, err := p.session.told.Dir(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(at, "model.onnx")); err != nil || string(b) != "weights" {
		t.Errorf("the worker's model is %q, %v", b, err)
	}
	p.session.told.digests[model], p.session.told.held = "0123456789abcdef", map[string]bool{}
	if err := p.session.told.get(t.Context(), embed); err == nil || !strings.Contains(err.Error(), "than where the spec was submitted") {
		t.Errorf("another model: %v", err)
	}
}

// A spec whose bundle was made by another raglab, or that leads out of its tree, is
// refused.
func TestTree_refuses(t *testing.T) {
	t.Parallel()
	tr := &tree{root: t.TempDir()}
	for _, path := range []string{"../x", "/x", "a/../../x", ""} {
		if at, err := tr.at(path); err == nil {
			t.Errorf("%q is at %s", path, at)
		}
	}
	w := openAt(t, t.TempDir(), 1)
	if _, err := w.Project(t.Context(), cache.DigestOf([]byte("none"))); err == nil || !strings.Contains(err.Error(), "submitted through another store") {
		t.Errorf("a bundle that is not there: %v", err)
	}
}

// A tree that nobody uses goes when a worker begins.
func TestSweepTrees(t *testing.T) {
	t.Parallel()
	w := openAt(t, t.TempDir(), 1)
	writeTree(t, w.dir, map[string]string{"trees/0123-ab/docs/a.txt": "left behind"})
	if err := w.sweepTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, treesFolder)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
