package source_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/golden"
	"raglab/internal/param"
	"raglab/internal/testdata"
	"raglab/internal/web"
)

const hubCommit = "bcf51b2ec6fb5bc8215f4b365a0e48532e26abb8"

// hubHost is a loopback Hugging Face hub with one dataset, in the shapes that the
// public one answers in: small files are sent, large ones redirected to.
type hubHost struct {
	*host
	cdn *host
	env map[string]string
}

type hubFile struct {
	body  []byte
	large bool
}

func newHub(t testing.TB, repository string, files map[string]hubFile) *hubHost {
	t.Helper()
	h := &hubHost{host: newHost(t, map[string][]byte{}), cdn: newHost(t, map[string][]byte{})}
	h.env = map[string]string{"HF_ENDPOINT": h.URL, "HF_HOME": t.TempDir(), "HF_TOKEN": "hf_S3CRETtoken"}
	h.add(t, repository, files)
	return h
}

func (h *hubHost) add(t testing.TB, repository string, files map[string]hubFile) {
	t.Helper()
	var tree []map[string]any
	tree = append(tree, map[string]any{"type": "directory", "path": "data", "oid": strings.Repeat("1", 40), "size": 0})
	for path, f := range files {
		entry := map[string]any{"type": "file", "path": path, "oid": blobOf(f.body), "size": len(f.body)}
		resolve := "/datasets/" + repository + "/resolve/" + hubCommit + "/" + path
		if f.large {
			entry["oid"] = strings.Repeat("2", 40) // of the pointer
			entry["lfs"] = map[string]any{"oid": sha256Of(f.body), "size": len(f.body), "pointerSize": 132}
			h.cdn.files["/xet/"+path] = f.body
			to := redirect(h.cdn.URL + "/xet/" + path + "?Signature=SIGNED")
			header := http.Header{"X-Linked-Etag": {`"` + sha256Of(f.body) + `"`}, "X-Linked-Size": {fmt.Sprint(len(f.body))}, "Etag": nil}
			h.headers[resolve] = header
			for range 50 {
				h.faults[resolve] = append(h.faults[resolve], to)
			}
		} else {
			h.files[resolve] = f.body
			h.headers[resolve] = http.Header{"Etag": {`"` + blobOf(f.body) + `"`}, "X-Repo-Commit": {hubCommit}}
		}
		tree = append(tree, entry)
	}
	h.files["/api/datasets/"+repository+"/revision/main"] = []byte(`{"id":"x","sha":"` + hubCommit + `"}`)
	body, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	h.files["/api/datasets/"+repository+"/tree/"+hubCommit] = body
}

func newHF(t testing.TB, env axes.Env, set func(*source.HuggingFaceParams)) source.Source {
	t.Helper()
	return newRemote(t, env, source.HuggingFace(), func(p *source.HuggingFaceParams) {
		p.Repository, p.Revision = "owner/set", hubCommit
		set(p)
	})
}

type passage struct {
	ID      string    `parquet:"_id"`
	Title   *string   `parquet:"title,optional"`
	Text    string    `parquet:"text,dict"`
	Vector  []float32 `parquet:"vector,list"`
	Lines   []string  `parquet:"lines,list"`
	Plain   []string  `parquet:"plain"`
	Number  int64     `parquet:"number"`
	Answers struct {
		Text  []string `parquet:"text,list"`
		Start []int32  `parquet:"start,list"`
	} `parquet:"answers"`
}

func text(s string) *string { return &s }

func parquetOf[T any](t testing.TB, groups ...[]T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[T](&buf, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(256))
	for _, g := range groups {
		if _, err := w.Write(g); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func passages(n int) []passage {
	out := make([]passage, n)
	for i := range out {
		out[i] = passage{ID: fmt.Sprintf("d%04d", i), Text: fmt.Sprintf("Текст %d.", i), Number: int64(i), Vector: []float32{1, 2}}
		for j := range i % 4 {
			out[i].Lines = append(out[i].Lines, fmt.Sprintf("рядок %d", j))
			out[i].Plain = append(out[i].Plain, fmt.Sprint(j))
		}
		if i%2 == 0 {
			out[i].Title = text(fmt.Sprintf("Назва %d", i))
		}
		out[i].Answers.Text = []string{"a", fmt.Sprint(i)}
		out[i].Answers.Start = []int32{1, 2}
	}
	return out
}

func zst(t testing.TB, body []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(body, nil)
}

// beirOnHub has a data set in all formats.
func beirOnHub(t testing.TB) *hubHost {
	t.Helper()
	h := newHub(t, "owner/set", map[string]hubFile{
		"README.md":                              {[]byte("# x"), false},
		"corpus/corpus-00000-of-00002.parquet":   {parquetOf(t, passages(300)[:100], passages(300)[100:200]), true},
		"corpus/corpus-00001-of-00002.parquet":   {parquetOf(t, passages(300)[200:]), true},
		"data/train.csv":                         {[]byte("\ufeff_id,title,text\nc1,\"T, 1\",\"a\nb\"\nc2,,z\n"), false},
		"data/test-1.jsonl.zst":                  {zst(t, []byte(`{"_id":7,"text":["один","два"],"meta":{"a":"x"}}`+"\n\n"+`{"_id":"8","text":"t","title":null}`+"\n")), true},
		"queries.tsv":                            {[]byte("_id\ttext\nq2\tДва?\nq1\tОдин?\nq3\tТри?\n"), false},
		"queries/queries-00000-of-00001.parquet": {parquetOf(t, []question{{"q1", "Один?"}, {"q2", "Два?"}}), false},
	})
	h.add(t, "owner/set-qrels", map[string]hubFile{
		"test.tsv":   {[]byte("query-id\tcorpus-id\tscore\nq1\td0001\t1\nq2\td0002\t2\nq9\td0001\t1\n"), false},
		"dev.jsonl":  {[]byte(`{"query-id":"q1","corpus-id":"d0001","score":1.0}` + "\n"), false},
		"t2.parquet": {parquetOf(t, []judgement{{"q1", "d0003", 1}, {"q2", "d0004", 0}}), true},
	})
	return h
}

type question struct {
	ID   string `parquet:"_id"`
	Text string `parquet:"text"`
}

type judgement struct {
	Query    string  `parquet:"query-id"`
	Document string  `parquet:"corpus-id"`
	Score    float64 `parquet:"score"`
}

func corpusOnHub(p *source.HuggingFaceParams) {
	p.Config, p.Split = "corpus", "corpus"
	p.Queries, p.Qrels, p.QrelsRepository, p.QrelsRevision = []string{"queries.tsv"}, []string{"test.tsv"}, "owner/set-qrels", hubCommit
}

func TestHuggingFace_conformance(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	env, _ := patient(t, h.env)
	sourcetest.Run(t, func(t *testing.T) source.Source { return newHF(t, env, corpusOnHub) })
}

func TestHuggingFace_digest(t *testing.T) {
	t.Parallel()
	env, _ := patient(t, beirOnHub(t).env)
	checkDigest(t, source.HuggingFace(), newHF(t, env, corpusOnHub), map[string]string{"huggingface@1": "8970dcf228f81bfc4b1c271b2621020f57a1d62e5fecde6fb85d3e1f7a2836fe"})
}

func TestHuggingFace_formats(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	env, _ := patient(t, h.env)
	docs := sourcetest.Read(t, newHF(t, env, corpusOnHub))
	if len(docs) != 300 {
		t.Fatalf("%d documents, want 300", len(docs))
	}
	for i, want := range passages(300) {
		title := ""
		if want.Title != nil {
			title = *want.Title
		}
		if docs[i].ID != want.ID || docs[i].Text != want.Text || docs[i].Title != title {
			t.Fatalf("document %d is %+v, want %+v", i, docs[i], want)
		}
	}
	for name, c := range map[string]struct {
		set  func(*source.HuggingFaceParams)
		want []axes.Document
	}{
		"csv by default": {func(*source.HuggingFaceParams) {}, []axes.Document{{ID: "c1", Title: "T, 1", Text: "a\nb"}, {ID: "c2", Text: "z"}}},
		"json lines":     {func(p *source.HuggingFaceParams) { p.Split = "test" }, []axes.Document{{ID: "7", Text: "один\nдва"}, {ID: "8", Text: "t"}}},
		"numbered": {
			func(p *source.HuggingFaceParams) {
				p.Files, p.ID, p.Title, p.Text = []string{"queries.tsv"}, "", "", "_id"
			},
			[]axes.Document{{ID: "1", Text: "q2"}, {ID: "2", Text: "q1"}, {ID: "3", Text: "q3"}},
		},
		"in an object": {
			func(p *source.HuggingFaceParams) { p.Split, p.Title, p.Empty = "test", "meta.a", "keep" },
			[]axes.Document{{ID: "7", Title: "x", Text: "один\nдва"}, {ID: "8", Text: "t"}},
		},
	} {
		if got := sourcetest.Read(t, newHF(t, env, c.set)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: documents\n%+v\nwant\n%+v", name, got, c.want)
		}
	}
	for column, want := range map[string]string{"lines": "рядок 0\nрядок 1\nрядок 2", "plain": "0\n1\n2", "answers.text": "a\n7", "number": "7"} {
		s := newHF(t, env, func(p *source.HuggingFaceParams) {
			p.Files, p.Text, p.Empty = []string{"corpus/corpus-00000-*"}, column, "keep"
		})
		if got := sourcetest.Read(t, s)[7].Text; got != want {
			t.Errorf("column %s of row 7 is %q, want %q", column, got, want)
		}
	}
}

func TestHuggingFace_questions(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	env, _ := patient(t, h.env)
	relevant := func(doc string, grade int) []golden.Relevant { return []golden.Relevant{{Doc: doc, Grade: grade}} }
	s := newHF(t, env, corpusOnHub)
	want := []golden.Question{{ID: "q2", Text: "Два?", Relevant: relevant("d0002", 2)}, {ID: "q1", Text: "Один?", Relevant: relevant("d0001", 1)}}
	if got := questions(t, s).Questions; !reflect.DeepEqual(got, want) {
		t.Errorf("questions\n%+v\nwant\n%+v", got, want)
	}
	wantWarning(t, s, `the question "q3" has no judgement`)
	wantWarning(t, s, `judges the question "q9", which the queries lack`)
	s = newHF(t, env, func(p *source.HuggingFaceParams) {
		corpusOnHub(p)
		p.Config, p.Split = "", ""
		p.Queries, p.Qrels = []string{"queries/*"}, []string{"t2.parquet", "dev.jsonl"}
	})
	want = []golden.Question{
		{ID: "q1", Text: "Один?", Relevant: []golden.Relevant{{Doc: "d0001", Grade: 1}, {Doc: "d0003", Grade: 1}}},
		{ID: "q2", Text: "Два?", Relevant: relevant("d0004", 0)},
	}
	if got := questions(t, s).Questions; !reflect.DeepEqual(got, want) {
		t.Errorf("questions\n%+v\nwant\n%+v", got, want)
	}
	wantProblem(t, s, "names no file with documents")
}

func TestHuggingFace_lock(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	path := filepath.Join(t.TempDir(), "hf.lock.json")
	set := func(p *source.HuggingFaceParams) {
		corpusOnHub(p)
		p.Revision, p.QrelsRevision, p.Lock = "main", "main", path
	}
	env, _ := patient(t, h.env)
	s := newHF(t, env, set)
	if says := s.(source.Pinner).Unpinned(); !strings.Contains(says, path) || s.(source.Placed).Place() != h.URL {
		t.Errorf("unpinned says %q", says)
	}
	lock := lockOf(t, s)
	if strings.Count(lock, `"size"`) != 4 || strings.Contains(lock, "README") || strings.Count(lock, hubCommit) != 2 {
		t.Errorf("lock\n%s", lock)
	}
	writeFile(t, path, lock)
	if lockOf(t, newHF(t, env, set)) != lock {
		t.Error("locking again gives another lock")
	}
	moved := strings.ReplaceAll(strings.Replace(lock, blobOf(h.files["/datasets/owner/set/resolve/"+hubCommit+"/queries.tsv"]), strings.Repeat("3", 40), 1), hubCommit, strings.Repeat("8", 40))
	changes, err := s.(source.LockComparer).CompareLocks([]byte(lock), []byte(moved))
	if err != nil || changes.Same != 3 || changes.Renewed != 3 || !reflect.DeepEqual(changes.Changed, []string{"owner/set/queries.tsv"}) {
		t.Errorf("changes %+v, %v", changes, err)
	}
	// The branch moves on; what is locked stays.
	h.set("/api/datasets/owner/set/revision/main", []byte(`{"sha":"`+strings.Repeat("9", 40)+`"}`))
	s = newHF(t, env, set)
	if n := len(sourcetest.Read(t, s)); n != 300 || s.(source.Pinner).Unpinned() != "" {
		t.Errorf("%d documents, unpinned %q", n, s.(source.Pinner).Unpinned())
	}
	wantBytes(t, s)
	for _, asked := range h.requests() {
		if strings.Contains(asked, "9999") {
			t.Errorf("a locked source asked for another commit: %s", asked)
		}
	}
	// A large file and a small one that are not as locked.
	h.cdn.set("/xet/corpus/corpus-00001-of-00002.parquet", parquetOf(t, passages(300)[201:]))
	env, _ = patient(t, h.env)
	wantProblem(t, newHF(t, env, set), "corpus-00001-of-00002.parquet", "not what was pinned")
	h.set("/datasets/owner/set/resolve/"+hubCommit+"/queries.tsv", []byte("_id\ttext\nq2\tДві?\nq1\tОдин?\nq3\tТри?\n"))
	_, err = newHF(t, env, set).(source.Questioner).Questions(t.Context())
	if err == nil || !strings.Contains(err.Error(), "git blob id") {
		t.Errorf("error %v is none of the blob", err)
	}
	other := newHF(t, env, func(p *source.HuggingFaceParams) { set(p); p.Repository = "owner/other" })
	wantProblem(t, other, "does not list the revision main of the dataset owner/other")
}

// TestHuggingFace_tokens looks where the token goes: to the hub, not where it
// redirects to, and into no error.
func TestHuggingFace_tokens(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	env, _ := patient(t, h.env)
	sourcetest.Read(t, newHF(t, env, corpusOnHub))
	if asked := strings.Join(h.requests(), "\n"); !strings.Contains(asked, "hf_S3CRETtoken") {
		t.Error("the hub was not sent the token")
	}
	if asked := strings.Join(h.cdn.requests(), "\n"); asked == "" || strings.Contains(asked, "S3CRET") {
		t.Errorf("the host that the hub redirects to was asked\n%s", asked)
	}
	h.fail("/api/datasets/owner/set/tree/"+hubCommit+"?recursive=true&expand=false",
		status(401, "X-Error-Message", "Invalid token hf_S3CRETtoken."))
	_, err := sourcetest.Collect(t.Context(), newHF(t, env, corpusOnHub))
	if err == nil || strings.Contains(err.Error(), "S3CRET") || !strings.Contains(err.Error(), "may not read owner/set") {
		t.Errorf("error %v", err)
	}
}

func TestHuggingFace_localCache(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	env, _ := patient(t, h.env)
	train := []byte("_id,text\nx,cached\ny,too\n")
	snapshot := filepath.Join(h.env["HF_HOME"], "hub", "datasets--owner--set", "snapshots", hubCommit)
	if err := os.MkdirAll(filepath.Join(snapshot, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(snapshot, "data", "train.csv"), string(train))
	// It is not the content that the hub names, so that it is fetched.
	if got := idsOf(sourcetest.Read(t, newHF(t, env, func(*source.HuggingFaceParams) {}))); got[0] != "c1" {
		t.Errorf("ids %v are of a damaged file in the local cache", got)
	}
	h.env["HF_HUB_OFFLINE"] = "1"
	h.requests()
	if got := idsOf(sourcetest.Read(t, newHF(t, env, func(*source.HuggingFaceParams) {}))); !reflect.DeepEqual(got, []string{"x", "y"}) {
		t.Errorf("offline: ids %v", got)
	}
	wantProblem(t, newHF(t, env, func(p *source.HuggingFaceParams) { p.Split = "test" }), "no file with the documents", "data/train.csv")
	if _, err := sourcetest.Collect(t.Context(), newHF(t, env, func(p *source.HuggingFaceParams) { p.Revision = "main" })); err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
		t.Errorf("error %v", err)
	}
	if asked := h.requests(); len(asked) > 0 {
		t.Errorf("offline, the hub was asked %q", asked)
	}
}

func TestHuggingFace_faults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{"429": status(429, "Retry-After", "1"), "503": status(503), "drip": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := beirOnHub(t)
			train := "/datasets/owner/set/resolve/" + hubCommit + "/data/train.csv"
			if fault == nil {
				fault = drip(h.files[train])
			}
			h.fail("/api/datasets/owner/set/tree/"+hubCommit+"?recursive=true&expand=false", fault)
			h.fail(train, fault)
			env, _ := patient(t, h.env)
			if n := len(sourcetest.Read(t, newHF(t, env, func(*source.HuggingFaceParams) {}))); n != 2 {
				t.Errorf("%d documents, want 2", n)
			}
		})
	}
	h := beirOnHub(t)
	h.fail("/api/datasets/owner/set/tree/"+hubCommit+"?recursive=true&expand=false", status(500), status(500), status(500), status(500), status(500))
	env, _ := patient(t, h.env)
	if _, err := sourcetest.Collect(t.Context(), newHF(t, env, func(*source.HuggingFaceParams) {})); !web.IsTemporary(err) {
		t.Errorf("error %v is none that passes", err)
	}
}

// TestHuggingFace_pages follows the pages of a list of files, but not to another host.
func TestHuggingFace_pages(t *testing.T) {
	t.Parallel()
	h := beirOnHub(t)
	at := "/api/datasets/owner/set/tree/" + hubCommit
	first, second := h.files[at], []byte("[]")
	h.set(at, second)
	h.set(at+"?page=2", first)
	h.headers[at+"?recursive=true&expand=false"] = http.Header{"Link": {`<` + h.URL + at + `?page=2>; rel="next"`}}
	env, _ := patient(t, h.env)
	if n := len(sourcetest.Read(t, newHF(t, env, func(*source.HuggingFaceParams) {}))); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
	h.headers[at+"?recursive=true&expand=false"] = http.Header{"Link": {`<` + h.cdn.URL + `/x>; rel="next"`}}
	_, err := sourcetest.Collect(t.Context(), newHF(t, env, func(*source.HuggingFaceParams) {}))
	if err == nil || !strings.Contains(err.Error(), "not on the hub") || len(h.cdn.requests()) > 0 {
		t.Errorf("error %v", err)
	}
}

// TestHuggingFace_recorded fetches a file with the headers and the digest that the
// public hub was recorded with.
func TestHuggingFace_recorded(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(testdata.Shared(t, "data/huggingface-hub/download.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recording struct {
		Exchanges []struct {
			Method, Path string
			Status       int
			Headers      map[string]string `json:"response_headers"`
			Body         string            `json:"response_body"`
		}
	}
	if err := json.Unmarshal(raw, &recording); err != nil {
		t.Fatal(err)
	}
	h := &hubHost{host: newHost(t, map[string][]byte{})}
	h.env = map[string]string{"HF_ENDPOINT": h.URL, "HF_HOME": t.TempDir()}
	as := strings.NewReplacer("/api/models/", "/api/datasets/", "ref-regular.txt", "ref-regular.tsv")
	for _, x := range recording.Exchanges {
		if x.Method != "GET" || x.Status != http.StatusOK {
			continue
		}
		path := as.Replace(x.Path)
		if strings.Contains(path, "/resolve/") {
			path = "/datasets" + path
			h.files[path] = []byte(x.Body)
		} else {
			h.files[path] = []byte(as.Replace(x.Body))
		}
		header := http.Header{}
		for name, value := range x.Headers {
			if name != "Content-Length" {
				header.Set(name, value)
			}
		}
		h.headers[path] = header
	}
	env, _ := patient(t, h.env)
	s := newHF(t, env, func(p *source.HuggingFaceParams) {
		p.Repository, p.Revision, p.Files, p.ID, p.Title = "wzshiming/test", "main", []string{"regression/*.tsv"}, "", ""
		p.Text = "xet private-repo regression fixture — ref-regular.txt"
	})
	docs := sourcetest.Read(t, s)
	if len(docs) != 2 || docs[1].Text != "recorded: 2026-09-25T08:49:11Z" {
		t.Errorf("documents %+v", docs)
	}
}

func TestHuggingFace_problems(t *testing.T) {
	t.Parallel()
	h := newHub(t, "owner/set", map[string]hubFile{
		"train.csv":       {[]byte("_id,text\na,\"x\ny\"z\n"), false},
		"short.csv":       {[]byte("_id,text\na\n"), false},
		"empty.csv":       {nil, false},
		"a.parquet":       {[]byte("PAR1 nonsense PAR1"), false},
		"cut.parquet":     {parquetOf(t, passages(50))[:900], false},
		"good.parquet":    {parquetOf(t, passages(2)), false},
		"latin.jsonl":     {[]byte("{\"_id\":\"a\",\"text\":\"\xe9\"}\n"), false},
		"list.json":       {[]byte("[{\"_id\":\"a\"}]"), false},
		"twice.tsv":       {[]byte("_id\ttext\na\tx\na\ty\n"), false},
		"ragged.tsv":      {[]byte("_id\ttext\na\tx\tz\n"), false},
		"null.jsonl":      {[]byte(`{"_id":null,"text":"x"}` + "\n"), false},
		"objects.jsonl":   {[]byte(`{"_id":"a","text":{"x":1}}` + "\n"), false},
		"deep.jsonl":      {[]byte(`{"_id":"a","text":[[1]]}` + "\n"), false},
		"no-column.jsonl": {[]byte(`{"id":"a","text":"b"}` + "\n"), false},
	})
	env, _ := patient(t, h.env)
	for file, c := range map[string]struct {
		text string
		says []string
	}{
		"train.csv":       {"text", []string{"train.csv:2: not CSV"}},
		"short.csv":       {"text", []string{"short.csv:2: not CSV", "wrong number of fields"}},
		"empty.csv":       {"text", []string{"empty.csv:1: is empty"}},
		"a.parquet":       {"text", []string{"a.parquet: is no Parquet file that can be read"}},
		"cut.parquet":     {"text", []string{"cut.parquet: "}},
		"good.parquet":    {"body", []string{`good.parquet: there is no column "body"`, "it has _id, title, text, vector"}},
		"latin.jsonl":     {"text", []string{"latin.jsonl:1: not valid UTF-8"}},
		"list.json":       {"text", []string{"list.json:1: not a JSON object"}},
		"twice.tsv":       {"text", []string{`twice.tsv:3: two documents have the id "a"`, "twice.tsv, line 2"}},
		"ragged.tsv":      {"text", []string{"ragged.tsv:2: 3 fields, where the first line has 2"}},
		"null.jsonl":      {"text", []string{"null.jsonl:1: the document's id is empty"}},
		"objects.jsonl":   {"text", []string{`the field "text" is an object`}},
		"deep.jsonl":      {"text", []string{"is a list that holds something else than strings"}},
		"no-column.jsonl": {"text", []string{`there is no column "_id"`, "it has id, text"}},
	} {
		s := newHF(t, env, func(p *source.HuggingFaceParams) { p.Files, p.Text = []string{file}, c.text })
		wantProblem(t, s, c.says...)
	}
	s := newHF(t, env, func(p *source.HuggingFaceParams) { p.Files, p.Text = []string{"good.parquet"}, "answers" })
	wantProblem(t, s, `the column "answers" is a structure`, "answers.text")
	s = newHF(t, env, func(p *source.HuggingFaceParams) { p.Files = []string{"none-*"} })
	wantProblem(t, s, "has no file with the documents", "it has a.parquet, cut.parquet")
}

func TestHuggingFace_refusesParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set func(*source.HuggingFaceParams)
		at  string
	}{
		"repository":     {func(p *source.HuggingFaceParams) { p.Repository = "a b" }, "repository"},
		"with revision":  {func(p *source.HuggingFaceParams) { p.Repository = "a/b@main" }, "repository"},
		"revision":       {func(p *source.HuggingFaceParams) { p.Revision = "" }, "revision"},
		"text":           {func(p *source.HuggingFaceParams) { p.Text = "" }, "text"},
		"half":           {func(p *source.HuggingFaceParams) { p.Queries = []string{"q"} }, "qrels"},
		"columns":        {func(p *source.HuggingFaceParams) { p.QrelsColumns = []string{"q"} }, "qrels_columns"},
		"files or split": {func(p *source.HuggingFaceParams) { p.Files, p.Split = []string{"a"}, "train" }, "files"},
		"pattern":        {func(p *source.HuggingFaceParams) { p.Files = []string{"[a"} }, "files"},
		"split":          {func(p *source.HuggingFaceParams) { p.Split = "a/b" }, "split"},
		"config":         {func(p *source.HuggingFaceParams) { p.Config = "/a" }, "config"},
		"qrels":          {func(p *source.HuggingFaceParams) { p.QrelsRepository = "a b" }, "qrels_repository"},
	} {
		p := source.HuggingFace().Params().(*source.HuggingFaceParams)
		p.Repository = "a/b"
		c.set(p)
		_, err := source.HuggingFace().New(p, axesEnv)
		var pe *param.Error
		if !errors.As(err, &pe) || pe.Attribute != c.at {
			t.Errorf("%s: error %v, want one at %s", name, err, c.at)
		}
	}
}
