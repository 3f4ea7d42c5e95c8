package pipeline

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/axes/metric"
	"raglab/engine"
	"raglab/internal/report"
	"raglab/spec"
)

// river are the documents, and questions with spans of which a chunk of five words holds
// one whole and cuts the other.
var river = map[string]string{
	"docs.jsonl": `{"_id":"d1","title":"North","text":"River Dnipro is long. It flows south to the sea."}
{"_id":"d2","text":"Lakes are still. A river is not a lake."}
{"_id":"d3","text":"Mountains are high."}
`,
	"golden.jsonl": `{"id":"q1","question":"Which river flows south?","relevant":[{"doc":"d1","span":"Dnipro is long. It flows south"}],"tags":["kind:long"]}
{"id":"q2","question":"What is a lake?","relevant":[{"doc":"d2","span":"Lakes are still"}]}
{"id":"q3","question":"Nothing matches?","relevant":[{"doc":"d1","span":"North"}]}
`,
}

// reversing is a reranker over HTTP that puts the last hit first.
func reversing(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Texts []string `json:"texts"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type pair struct {
			Index int     `json:"index"`
			Score float64 `json:"score"`
		}
		var out []pair
		for i := len(asked.Texts) - 1; i >= 0; i-- {
			out = append(out, pair{i, float64(i)})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// riverDetails runs a spec over the documents.
func riverDetails(t *testing.T, text string, hits, bytes int) *report.Details {
	t.Helper()
	dir := t.TempDir()
	for name, content := range river {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text = "experiment \"e\" {}\ncorpus \"jsonl\" { path = \"docs.jsonl\" }\n" + text
	exp, diags := spec.LoadSources(dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(text)}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	l := newLab(t)
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 2, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Memo: l.store.Memo, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), p.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.executor().Apply(t.Context(), plan)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Report(t.Context(), l.store, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.detailsWithin(t.Context(), l.store, out, r, hits, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const riverSpec = `
golden {
  file      = "golden.jsonl"
  relevance = %q
}
fixed "chunker" {
  %s
}
fixed "text" { use = "simple" }
axis "retriever" {
  option "both" {
    kind = "rrf"
    legs = ["plain", "steep"]
  }
  option "plain" { kind = "bm25" }
  option "steep" {
    kind = "bm25"
    k1   = 3
    b    = 0
  }
}
axis "reranker" {
  use = ["none"]
  option "turned" {
    kind = "http"
    url  = %q
  }
}
score {
  depth   = 6
  metrics = ["ndcg@3"]
}
`

const fiveWords = `option "fixed" {
    size    = 5
    overlap = 0
    unit    = "words"
    title   = "drop"
  }`

// names are the chunks of a list, as document and place.
func names(d *report.Details, chunks []int) []string {
	out := []string{}
	for _, c := range chunks {
		out = append(out, fmt.Sprintf("%s#%d", d.Documents[d.Chunks[c].Document].ID, d.Chunks[c].N))
	}
	return out
}

// rowOf finds the run of a row by its labels.
func runAt(t *testing.T, d *report.Details, stage, label string) *report.DetailRun {
	t.Helper()
	for i := range d.Runs {
		if d.Runs[i].Stage == stage && d.Runs[i].Label == label {
			return &d.Runs[i]
		}
	}
	t.Fatalf("no run of %s %s among %+v", stage, label, d.Runs)
	return nil
}

func TestDetails_rankingsShareLegs(t *testing.T) {
	t.Parallel()
	d := riverDetails(t, fmt.Sprintf(riverSpec, "span", fiveWords, reversing(t)), maxHits, maxText)
	if len(d.Rows) != 6 || d.Kept != 6 {
		t.Fatalf("%d rows, %d kept", len(d.Rows), d.Kept)
	}
	// Two searches, one fusion, and three rerankings of them.
	if len(d.Runs) != 6 {
		t.Errorf("%d runs are kept", len(d.Runs))
	}
	both, plain := runAt(t, d, "fuse", "both"), runAt(t, d, "search", "plain")
	if len(both.Inputs) != 2 || d.Runs[both.Inputs[0]].Label != "plain" || d.Runs[both.Inputs[1]].Label != "steep" {
		t.Errorf("legs %v", both.Inputs)
	}
	var turned *report.DetailRun
	for i := range d.Runs {
		if r := &d.Runs[i]; r.Stage == "rerank" && &d.Runs[r.Inputs[0]] == plain {
			turned = r
		}
	}
	if turned == nil || turned.Label != "turned" {
		t.Fatalf("runs %+v", d.Runs)
	}
	before, after := names(d, plain.Hits[0]), names(d, turned.Hits[0])
	slices.Reverse(after)
	if len(before) < 2 || !slices.Equal(before, after) {
		t.Errorf("before reranking %v, after it, backwards, %v", before, after)
	}
	if got, want := before[0], "d1#1"; got != want {
		t.Errorf("the best hit is %s, want %s", got, want)
	}
	if plain.First[0] != 0 || plain.First[1] != slices.Index(names(d, plain.Hits[1]), "d2#0")+1 {
		t.Errorf("first relevant ranks %v", plain.First)
	}
	if plain.Found[2] != 0 || len(plain.Hits[2]) != 0 {
		t.Errorf("a question without a hit found %d", plain.Found[2])
	}
}

func TestDetails_whatBecameOfSpans(t *testing.T) {
	t.Parallel()
	d := riverDetails(t, fmt.Sprintf(riverSpec, "span", fiveWords, reversing(t)), maxHits, maxText)
	c := d.Chunkers[0]
	var fates []string
	for q := range d.Questions {
		for _, f := range c.Fates[q] {
			fates = append(fates, f.Fate)
		}
	}
	if want := []string{metric.SpanCut, metric.SpanWhole, metric.SpanDropped}; !slices.Equal(fates, want) {
		t.Errorf("fates %v, want %v", fates, want)
	}
	var pieces []int
	for _, p := range c.Fates[0][0].Pieces {
		pieces = append(pieces, p.Chunk)
	}
	// River Dnipro is long. It | flows south to the sea.
	if got, want := names(d, pieces), []string{"d1#0", "d1#1"}; !slices.Equal(got, want) {
		t.Errorf("the cut span is in %v, want %v", got, want)
	}
	if got := names(d, []int{c.Relevant[1][0]}); got[0] != "d2#0" || c.Relevant[1][1] != 1 || len(c.Relevant[0]) != 0 {
		t.Errorf("relevant %v, %v", c.Relevant, got)
	}
	piece := d.Chunks[pieces[1]]
	if len(piece.Marks) != 3 || piece.Text[piece.Marks[1]:piece.Marks[2]] != "It flows south" || piece.Marks[0] != 0 {
		t.Errorf("chunk %+v", piece)
	}
	if d.Documents[piece.Document].Title != "North" {
		t.Errorf("documents %+v", d.Documents)
	}
}

func TestDetails_formsAreOfTheRowsText(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fmt.Sprintf(riverSpec, "document", fiveWords, reversing(t)), `fixed "text" { use = "simple" }`, `axis "text" {
  use = ["simple"]
  option "four" {
    kind   = "prefix"
    length = 4
  }
}`, 1)
	d := riverDetails(t, text, maxHits, maxText)
	forms := map[string][]string{}
	for _, x := range d.Texts {
		forms[x.Name] = x.Forms[1]
	}
	want := map[string][]string{"simple": {"A", "a", "is", "lake"}, "four": {"A", "Lakes", "a", "is", "lake"}}
	if !reflect.DeepEqual(forms, want) {
		t.Errorf("forms %v, want %v", forms, want)
	}
	for i, r := range d.Rows {
		if r.Text < 0 || r.Run < 0 || r.Chunker != 0 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if d.Chunkers[0].Relevant != nil {
		t.Error("chunks are judged where documents are")
	}
	plain := runAt(t, d, "search", "plain")
	// Documents are ranked where their first chunks are.
	docs := []string{}
	for _, name := range names(d, plain.Hits[1]) {
		if doc := name[:2]; !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	if plain.First[1] != slices.Index(docs, "d2")+1 {
		t.Errorf("first relevant document at %d of %v", plain.First[1], docs)
	}
}

func TestDetails_passages(t *testing.T) {
	t.Parallel()
	parent := `option "parent" {
    max_tokens   = 30
    min_tokens   = 0
    child_tokens = 5
    title        = "drop"
  }`
	d := riverDetails(t, fmt.Sprintf(riverSpec, "span", parent, reversing(t)), maxHits, maxText)
	plain := runAt(t, d, "search", "plain")
	c := d.Chunks[plain.Hits[0][0]]
	if !c.Passage || c.N != 0 || !strings.Contains(c.Text, "River Dnipro is long. It flows south to the sea.") {
		t.Errorf("chunk %+v", c)
	}
	if plain.First[0] != 1 || d.Chunkers[0].Fates[0][0].Fate != metric.SpanWhole {
		t.Errorf("first %d, fates %+v", plain.First[0], d.Chunkers[0].Fates[0])
	}
}

// What there is no room for is left out and said.
func TestDetails_limits(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(riverSpec, "span", fiveWords, reversing(t))
	d := riverDetails(t, text, 6*3*2, 30)
	if d.Kept != 3 || len(d.Questions) != 2 || len(d.Notes) != 3 {
		t.Fatalf("%d hits of %d questions, %q", d.Kept, len(d.Questions), d.Notes)
	}
	size, gone := 0, 0
	for _, c := range d.Chunks {
		size += len(c.Text)
		if c.Text == "" && c.After > 0 {
			gone++
		}
	}
	if size > 30 || gone == 0 {
		t.Errorf("%d bytes of text, %d chunks without", size, gone)
	}
	// A hit of a leg below what is kept is there when a fusion has it high.
	both := runAt(t, d, "fuse", "both")
	for q := range d.Questions {
		for _, c := range both.Hits[q] {
			found := false
			for _, leg := range both.Inputs {
				run := d.Runs[leg]
				found = found || slices.Contains(run.Hits[q], c)
				for i := 1; i < len(run.Beyond[q]); i += 3 {
					found = found || run.Beyond[q][i] == float64(c)
				}
			}
			if !found {
				t.Errorf("question %d: chunk %d is in no leg", q, c)
			}
		}
	}
}

func TestWindow_keepsTheAnswer(t *testing.T) {
	t.Parallel()
	answer := "the 𝒜nswer"
	for _, before := range []int{0, 100, maxCharacter - 5, 3 * maxCharacter, 9 * maxCharacter} {
		body := strings.Repeat("я", before) + answer + strings.Repeat("z", 10*maxCharacter-before)
		start := 2 * before
		var c report.DetailChunk
		window(&c, body, []mark{{7, start, start + len(answer)}})
		if n := len([]rune(c.Text)); n != maxCharacter || c.Before+n+c.After != len([]rune(body)) {
			t.Errorf("%d characters, %d before and %d after", n, c.Before, c.After)
		}
		units := utf16Of(c.Text)
		if got := string(units[c.Marks[1]:c.Marks[2]]); got != string(utf16Of(answer)) || c.Marks[0] != 7 {
			t.Errorf("%d before: marks %v", before, c.Marks)
		}
	}
}

// utf16Of has a byte for each UTF-16 unit.
func utf16Of(s string) []rune {
	var out []rune
	for _, r := range s {
		out = append(out, r)
		if r > 0xFFFF {
			out = append(out, 0)
		}
	}
	return out
}
