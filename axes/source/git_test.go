package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/golden"
	"raglab/internal/param"
	"raglab/internal/testdata"
	"raglab/internal/web"
)

const gitCommit = "cc5b1d481b391181b89f7ced860308482e785463"

type entry struct{ name, text string }

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(e.text))
	}
	z.Close()
	return buf.Bytes()
}

func tarOf(t testing.TB, headers []tar.Header, texts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for i, h := range headers {
		h.Size, h.Mode = int64(len(texts[i])), 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(texts[i]))
	}
	w.Close()
	z.Close()
	return buf.Bytes()
}

func newGit(t testing.TB, env axes.Env, h *host, set func(*source.GitParams)) source.Source {
	t.Helper()
	return newRemote(t, env, source.Git(), func(p *source.GitParams) {
		p.Repository, p.Commit = "owner/repo", gitCommit
		p.RawURL = h.URL + "/raw/{repository}/{commit}/{path}"
		p.ArchiveURL = h.URL + "/zip/{repository}/{commit}"
		set(p)
	})
}

const (
	rawAt  = "/raw/owner/repo/" + gitCommit + "/"
	zipAt  = "/zip/owner/repo/" + gitCommit
	twoDoc = `{"_id":"d1","title":"T","text":"один"}` + "\n" + `{"_id":"d2","text":"два"}` + "\n"
)

// repository is a host with the same content as raw files and as an archive.
func repository(t testing.TB) *host {
	t.Helper()
	return newHost(t, map[string][]byte{
		rawAt + "corpora/docs.jsonl.zip": zipOf(t, entry{"docs.jsonl", twoDoc}),
		rawAt + "docs.jsonl":             []byte(twoDoc),
		rawAt + "q%20a/queries.jsonl":    []byte(`{"_id":"q2","text":"|user|:  Two?"}` + "\n" + `{"_id":"q1","text":"|user|: One?"}` + "\n"),
		rawAt + "qrels/dev.tsv":          []byte("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq2\tgone\t1\n"),
		rawAt + "gold.json":              []byte(`[{"qid":"q1","question":"Kim?","doc_id":"d1","doc_title":"T","answer_span":"один"}]`),
		zipAt: zipOf(t, entry{"repo-1/docs/a.md", "# A\n\nПерша."}, entry{"repo-1/docs/b.txt", "Друга."},
			entry{"repo-1/data/corpus.jsonl", beirCorpus}, entry{"repo-1/data/queries.jsonl", beirQueries}, entry{"repo-1/data/qrels/test.tsv", beirQrels}),
	})
}

func TestGit_conformance(t *testing.T) {
	t.Parallel()
	h := repository(t)
	for name, set := range map[string]func(*source.GitParams){
		"jsonl in a zip": func(p *source.GitParams) { p.Files, p.Layout = []string{"corpora/docs.jsonl.zip"}, "jsonl" },
		"jsonl":          func(p *source.GitParams) { p.Files, p.Layout = []string{"docs.jsonl"}, "jsonl" },
		"files":          func(p *source.GitParams) { p.Include = []string{"docs/*"} },
		"address": func(p *source.GitParams) {
			p.Repository, p.Commit, p.URL, p.Include = "", "", h.URL+zipAt+"?token=S3CRET", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, _ := patient(t, nil)
			sourcetest.Run(t, func(t *testing.T) source.Source { return newGit(t, env, h, withQuestions(set)) })
		})
	}
}

// withQuestions lets a source bring questions, which the suite asks for.
func withQuestions(set func(*source.GitParams)) func(*source.GitParams) {
	return func(p *source.GitParams) {
		set(p)
		if p.URL == "" && len(p.Files) > 0 {
			p.Files = append(p.Files, "q a/queries.jsonl", "qrels/dev.tsv")
			p.Queries, p.Qrels, p.Include = "q a/queries.jsonl", "qrels/dev.tsv", []string{"docs.jsonl"}
			return
		}
		p.Queries, p.Qrels = "data/queries.jsonl", "data/qrels/test.tsv"
	}
}

func TestGit_layouts(t *testing.T) {
	t.Parallel()
	h := repository(t)
	env, _ := patient(t, nil)
	s := newGit(t, env, h, func(p *source.GitParams) { p.Include = []string{"docs/*"} })
	want := []axes.Document{{ID: "docs/a", Title: "A", Text: "# A\n\nПерша.", Format: "markdown"}, {ID: "docs/b", Text: "Друга.", Format: "text"}}
	if got := sourcetest.Read(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("documents\n%+v\nwant\n%+v", got, want)
	}
	// The archive's only folder was taken off; that of the data set was not.
	beir := newGit(t, env, h, func(p *source.GitParams) { p.Layout = "beir" })
	wantProblem(t, beir, "no file with the corpus", "corpus.jsonl, docs.jsonl")
	zipped := zipOf(t, entry{"mini/corpus.jsonl", beirCorpus}, entry{"mini/queries.jsonl", beirQueries}, entry{"mini/qrels/test.tsv", beirQrels})
	h.set("/mini.zip", zipped)
	checkBEIR(t, newGit(t, env, h, func(p *source.GitParams) {
		p.Repository, p.Commit, p.URL, p.Layout = "", "", h.URL+"/mini.zip", "beir"
	}))
	turkish := newGit(t, env, h, func(p *source.GitParams) { p.Files, p.Questions = []string{"gold.json"}, "gold.json" })
	if got := questions(t, turkish).Questions; len(got) != 1 || got[0].ID != "q1" || got[0].Relevant[0].Span != "один" {
		t.Errorf("questions %+v", got)
	}
	none := newGit(t, env, h, func(p *source.GitParams) { p.Files = []string{"gold.json"} })
	wantProblem(t, none, "no file belongs to the corpus", "there are gold.json")
	_, err := none.(source.Questioner).Questions(t.Context())
	checkProblem(t, err, "brings no questions", "set questions")
}

func TestGit_digest(t *testing.T) {
	t.Parallel()
	h := repository(t)
	env, _ := patient(t, nil)
	s := newGit(t, env, h, withQuestions(func(p *source.GitParams) { p.Include = []string{"docs/*"} }))
	checkDigest(t, source.Git(), s, map[string]string{"git@1": "1ab7cca74bdc92cc7e0e6c5eee5a771f14f7df8d6094450b9eaf6140d26cd0c5"})
}

// TestGit_faults fetches through everything that may go wrong and come right.
func TestGit_faults(t *testing.T) {
	t.Parallel()
	body := []byte(twoDoc + strings.Repeat(" ", 64<<10) + "\n")
	for name, fault := range map[string]http.HandlerFunc{
		"429":          status(429, "Retry-After", "7"),
		"503":          status(503),
		"500":          status(500),
		"cut":          cut(body),
		"drip":         drip(body),
		"wrong length": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9"); w.Write(body[:9]) },
		"gzip":         gzipped(body),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, map[string][]byte{rawAt + "docs.jsonl": body})
			h.fail(rawAt+"docs.jsonl", fault)
			env, waited := patient(t, nil)
			s := newGit(t, env, h, func(p *source.GitParams) {
				p.Files, p.Layout, p.SHA256 = []string{"docs.jsonl"}, "jsonl", []string{sha256Of(body)}
			})
			docs, err := sourcetest.Collect(t.Context(), s)
			if name == "wrong length" {
				if err == nil || !strings.Contains(err.Error(), "SHA-256") {
					t.Fatalf("error %v, want one of the digest", err)
				}
				return
			}
			if err != nil || len(docs) != 2 {
				t.Fatalf("%d documents, %v", len(docs), err)
			}
			asked := h.requests()
			switch name {
			case "429":
				if len(waited.list) != 1 || waited.list[0] != 7*time.Second {
					t.Errorf("waited %v, want the 7 s that the host asked for", waited.list)
				}
			case "cut":
				if len(asked) != 2 || !strings.Contains(asked[1], "bytes=") {
					t.Errorf("requests %q: the second does not go on where the first was cut", asked)
				}
			}
			if again := len(sourcetest.Read(t, s)); again != 2 || len(h.requests()) != 0 {
				t.Errorf("a second reading asked the host again")
			}
		})
	}
}

// TestGit_givesUp tells errors that pass from those that do not.
func TestGit_givesUp(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string][]byte{rawAt + "docs.jsonl": []byte(twoDoc)})
	env, _ := patient(t, nil)
	set := func(p *source.GitParams) { p.Files, p.Layout = []string{"docs.jsonl"}, "jsonl" }
	h.fail(rawAt+"docs.jsonl", status(503), status(503), status(503), status(503), status(503))
	_, err := sourcetest.Collect(t.Context(), newGit(t, env, h, set))
	if !web.IsTemporary(err) || errors.As(err, new(*source.Error)) {
		t.Errorf("error %v is none that passes", err)
	}
	missing := newGit(t, env, h, func(p *source.GitParams) { p.Files, p.Layout = []string{"none.jsonl"}, "jsonl" })
	wantProblem(t, missing, "owner/repo@"+gitCommit+"/none.jsonl", "404", "GITHUB_TOKEN")
	h.set(rawAt+"docs.jsonl", []byte("other"))
	pinned := newGit(t, env, h, func(p *source.GitParams) { set(p); p.SHA256 = []string{sha256Of([]byte(twoDoc))} })
	wantProblem(t, pinned, "SHA-256", "not what was pinned")
}

// TestGit_sharesDownloads reads one file for two sources and fetches it once, and
// again when it is damaged.
func TestGit_sharesDownloads(t *testing.T) {
	t.Parallel()
	h := repository(t)
	env, _ := patient(t, nil)
	set := func(p *source.GitParams) {
		p.Files, p.Layout, p.SHA256 = []string{"docs.jsonl"}, "jsonl", []string{sha256Of([]byte(twoDoc))}
	}
	sourcetest.Read(t, newGit(t, env, h, set))
	sourcetest.Read(t, newGit(t, env, h, set))
	if asked := h.requests(); len(asked) != 1 {
		t.Errorf("requests %q, want one", asked)
	}
	sum := sha256Of([]byte(twoDoc))
	writeFile(t, filepath.Join(env.Downloads, "files", sum[:2], sum), "damaged")
	sourcetest.Read(t, newGit(t, env, h, set))
	if asked := h.requests(); len(asked) != 1 {
		t.Errorf("requests for a damaged download %q, want one", asked)
	}
}

// TestGit_keepsTokens redirects to another host and looks which headers it gets.
func TestGit_keepsTokens(t *testing.T) {
	t.Parallel()
	other := newHost(t, map[string][]byte{"/at": []byte(twoDoc)})
	h := newHost(t, map[string][]byte{})
	away := redirect(other.URL + "/at?signature=SIGNED")
	// A connection that breaks is asked again, and is redirected again.
	h.fail(rawAt+"docs.jsonl", away, away, away)
	env, _ := patient(t, map[string]string{"GITHUB_TOKEN": "S3CRET-token"})
	s := newGit(t, env, h, func(p *source.GitParams) { p.Files, p.Layout = []string{"docs.jsonl"}, "jsonl" })
	sourcetest.Read(t, s)
	if asked := strings.Join(append(h.requests(), other.requests()...), "\n"); strings.Contains(asked, "S3CRET") {
		t.Errorf("a host that is none of GitHub's was sent the token:\n%s", asked)
	}
	other.fail("/at?signature=SIGNED", status(404))
	h.fail(rawAt+"docs.jsonl", away, away, away)
	_, err := sourcetest.Collect(t.Context(), newGit(t, env, h, func(p *source.GitParams) { p.Files, p.Layout = []string{"docs.jsonl"}, "jsonl" }))
	if err == nil || strings.Contains(err.Error(), "SIGNED") {
		t.Errorf("error %v shows the signature", err)
	}
}

func TestGit_lock(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*source.GitParams){
		"files":   func(p *source.GitParams) { p.Files, p.Layout = []string{"docs.jsonl"}, "jsonl" },
		"archive": func(p *source.GitParams) { p.Include = []string{"docs/*"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := repository(t)
			env, _ := patient(t, nil)
			path := filepath.Join(t.TempDir(), "git.lock.json")
			locked := func(p *source.GitParams) { set(p); p.Lock = path }
			s := newGit(t, env, h, locked)
			if says := s.(source.Pinner).Unpinned(); !strings.Contains(says, "raglab lock") || s.(source.Placed).Place() == "" {
				t.Errorf("unpinned says %q, place %q", says, s.(source.Placed).Place())
			}
			lock := lockOf(t, s)
			writeFile(t, path, lock)
			if again := lockOf(t, newGit(t, env, h, locked)); again != lock || s.(source.Pinner).Unpinned() != "" || s.(source.Placed).Place() != "" {
				t.Errorf("locked again:\n%s\nat first:\n%s\nunpinned %q", again, lock, s.(source.Pinner).Unpinned())
			}
			if n := len(sourcetest.Read(t, newGit(t, env, h, locked))); n != 2 {
				t.Errorf("%d documents, want 2", n)
			}
			wantBytes(t, s)
			// An archive may be packed anew, as long as what is taken from it is the same.
			h.set(zipAt, tarOf(t, []tar.Header{{Name: "repo-2/docs/a.md"}, {Name: "repo-2/docs/b.txt"}}, "# A\n\nПерша.", "Друга."))
			env, _ = patient(t, nil)
			if n := len(sourcetest.Read(t, newGit(t, env, h, locked))); n != 2 {
				t.Errorf("packed anew: %d documents, want 2", n)
			}
			h.set(zipAt, zipOf(t, entry{"r/docs/a.md", "# A\n\nПерша."}, entry{"r/docs/b.txt", "Інша."}))
			h.set(rawAt+"docs.jsonl", []byte(twoDoc+"\n"))
			env, _ = patient(t, nil)
			wantProblem(t, newGit(t, env, h, locked), "not what was pinned")
			other := newGit(t, env, h, func(p *source.GitParams) { locked(p); p.Commit = strings.Repeat("0", 40) })
			wantProblem(t, other, "was written for git owner/repo@"+gitCommit)
		})
	}
}

func TestGit_hostileArchives(t *testing.T) {
	t.Parallel()
	bomb := bytes.Repeat([]byte{'\n'}, 80<<20)
	link := tar.Header{Name: "docs/link.md", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	for name, c := range map[string]struct {
		body []byte
		says string
	}{
		"zip slip":    {zipOf(t, entry{"../../evil.md", "x"}), `"../../evil.md", which leads out of its folder`},
		"absolute":    {zipOf(t, entry{"/etc/evil.md", "x"}), "leads out of its folder"},
		"backslashes": {zipOf(t, entry{`..\evil.md`, "x"}), "leads out of its folder"},
		"tar slip":    {tarOf(t, []tar.Header{{Name: "a/../../evil.md"}}, "x"), "leads out of its folder"},
		"zip bomb":    {zipOf(t, entry{"bomb.md", string(bomb)}), "as only a bomb does"},
		"tar bomb":    {tarOf(t, []tar.Header{{Name: "bomb.md"}}, string(bomb)), "as only a bomb does"},
		"link alone":  {tarOf(t, []tar.Header{link}, ""), "no file belongs to the corpus"},
		"twice":       {zipOf(t, entry{"a.md", "x"}, entry{"a.md", "y"}), `two files with the name "a.md"`},
		"no archive":  {[]byte("hello there"), "neither a zip nor a tar.gz"},
		"cut zip":     {zipOf(t, entry{"a.md", "x"})[:40], "is no zip file"},
		"cut tar":     {tarOf(t, []tar.Header{{Name: "a.md"}}, strings.Repeat("x", 9000))[:60], "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, map[string][]byte{zipAt: c.body})
			env, _ := patient(t, nil)
			wantProblem(t, newGit(t, env, h, func(*source.GitParams) {}), c.says)
			left, err := filepath.Glob(filepath.Join(env.Downloads, "files", "coming", "unpacked-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind %v, %v", left, err)
			}
		})
	}
}

func TestGit_refusesParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set func(*source.GitParams)
		at  string
	}{
		"no repository":   {func(p *source.GitParams) { p.Repository = "repo" }, "repository"},
		"repository up":   {func(p *source.GitParams) { p.Repository = "a/.." }, "repository"},
		"branch":          {func(p *source.GitParams) { p.Commit = "main" }, "commit"},
		"both":            {func(p *source.GitParams) { p.URL = "https://example.org/x.zip" }, "url"},
		"plain http":      {func(p *source.GitParams) { p.Repository, p.Commit, p.URL = "", "", "http://example.org/x.zip" }, "url"},
		"plain http host": {func(p *source.GitParams) { p.RawURL = "http://example.org/{path}" }, "raw_url"},
		"path up":         {func(p *source.GitParams) { p.Files = []string{"../x"} }, "files"},
		"path twice":      {func(p *source.GitParams) { p.Files = []string{"x", "x"} }, "files"},
		"digests":         {func(p *source.GitParams) { p.Files, p.SHA256 = []string{"x", "y"}, []string{sha256Of(nil)} }, "sha256"},
		"no digest":       {func(p *source.GitParams) { p.SHA256 = []string{"abc"} }, "sha256"},
		"half":            {func(p *source.GitParams) { p.Queries = "q" }, "qrels"},
		"both questions":  {func(p *source.GitParams) { p.Queries, p.Qrels, p.Questions = "q", "r", "g" }, "questions"},
		"pattern":         {func(p *source.GitParams) { p.Include = []string{"[a"} }, "include"},
		"split":           {func(p *source.GitParams) { p.Split = "../x" }, "split"},
	} {
		p := source.Git().Params().(*source.GitParams)
		p.Repository, p.Commit = "a/b", gitCommit
		c.set(p)
		_, err := source.Git().New(p, axesEnv)
		var pe *param.Error
		if !errors.As(err, &pe) || pe.Attribute != c.at {
			t.Errorf("%s: error %v, want one at %s", name, err, c.at)
		}
	}
	p := source.Git().Params().(*source.GitParams)
	if source.Git().LacksQuestions(p) == "" {
		t.Error("a source of files alone brings questions")
	}
	if p.Layout = "beir"; source.Git().LacksQuestions(p) != "" {
		t.Error("a BEIR data set brings no questions")
	}
}

// TestGit_fiqa reads the questions of mt-rag-benchmark's FiQA part in the shape they
// have there.
func TestGit_fiqa(t *testing.T) {
	t.Parallel()
	h := repository(t)
	env, _ := patient(t, nil)
	s := newGit(t, env, h, withQuestions(func(p *source.GitParams) { p.Files, p.Layout = []string{"corpora/docs.jsonl.zip"}, "jsonl" }))
	want := []golden.Question{
		{ID: "q2", Text: "|user|:  Two?", Relevant: []golden.Relevant{{Doc: "d2", Grade: 1}, {Doc: "gone", Grade: 1}}},
		{ID: "q1", Text: "|user|: One?", Relevant: []golden.Relevant{{Doc: "d1", Grade: 1}}},
	}
	got := questions(t, s).Questions
	for i := range got {
		got[i].Pos = golden.Position{}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("questions\n%+v\nwant\n%+v", got, want)
	}
}

// TestGit_published reads the two public sets of questions as they are published.
func TestGit_published(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	for at, path := range map[string]string{
		"data/eval/gold.json": "data/turkish-rag-eval/data/eval/gold.json",
		"fiqa_rewrite.jsonl":  "data/mtrag/fiqa-human/fiqa_rewrite.jsonl",
		"qrels/dev.tsv":       "data/mtrag/fiqa-human/qrels/dev.tsv",
	} {
		body, err := os.ReadFile(testdata.Shared(t, path))
		if err != nil {
			t.Fatal(err)
		}
		files[rawAt+at] = body
	}
	h := newHost(t, files)
	env, _ := patient(t, nil)
	turkish := newGit(t, env, h, func(p *source.GitParams) {
		p.Files, p.Questions = []string{"data/eval/gold.json"}, "data/eval/gold.json"
	})
	if n := len(questions(t, turkish).Questions); n != 58 {
		t.Errorf("%d Turkish questions, want 58", n)
	}
	fiqa := newGit(t, env, h, func(p *source.GitParams) {
		p.Files, p.Queries, p.Qrels = []string{"fiqa_rewrite.jsonl", "qrels/dev.tsv"}, "fiqa_rewrite.jsonl", "qrels/dev.tsv"
	})
	set, judged := questions(t, fiqa), 0
	for _, q := range set.Questions {
		judged += len(q.Relevant)
	}
	if len(set.Questions) != 180 || judged != 535 {
		t.Errorf("%d questions of FiQA with %d judgements, want 180 and 535", len(set.Questions), judged)
	}
}
