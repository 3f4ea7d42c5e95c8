package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
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

// submitted is the project of a spec as a worker with so many threads has it.
func submitted(t *testing.T, dir, store string, threads int) (*Session, *Project) {
	t.Helper()
	path := filepath.Join(dir, "specs", "made.hcl")
	vars := map[string]string{"depth": "7"}
	exp, diags := spec.Load(path, spec.LoadOptions{Catalog: Catalog(), Vars: vars})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	here := openAt(t, store, 4)
	s, err := here.StartAway(t.Context(), exp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rec, err := s.bundle(t.Context(), Loaded{Spec: path, Vars: vars})
	if err != nil {
		t.Fatal(err)
	}
	p, err := openAt(t, store, threads).Project(t.Context(), cache.Digest(rec.Key))
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
	s, p := submitted(t, dir, store, 1)
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
	if _, err := w.Project(t.Context(), cache.DigestOf([]byte("none"))); err == nil || !strings.Contains(err.Error(), "bundle") {
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
