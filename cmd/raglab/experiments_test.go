package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"raglab/axes/source/sourcetest"
	"raglab/internal/assets/assetstest"
	"raglab/internal/onnx/onnxtest"
	"raglab/internal/report"
	"raglab/internal/testdata"
)

// An experiment of the folder experiments, run whole as its first lines say, with
// servers on the loopback in place of the public ones.
type experiment struct {
	*testing.T
	dir  string
	env  []string
	spec string
	vars []string
}

// newExperiment copies the folders experiments and golden to one of the test's own.
func newExperiment(t *testing.T, name string, vars ...string) *experiment {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"experiments", "golden"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("..", "..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	e := &experiment{T: t, dir: dir, env: environ(dir), spec: filepath.Join("experiments", name+".hcl")}
	for _, v := range vars {
		e.vars = append(e.vars, "-var", v)
	}
	return e
}

// needs links assets of the user's into the experiment's cache.
func (e *experiment) needs(assets ...string) {
	e.Helper()
	for _, name := range assets {
		linkAsset(e.T, e.dir, filepath.Dir(assetstest.Dir(e.T, name)))
	}
}

// run runs a command on the spec and returns what it printed.
func (e *experiment) run(args ...string) string {
	e.Helper()
	args = append(args, e.vars...)
	cmd := exec.CommandContext(e.Context(), "raglab", append(args, e.spec)...)
	cmd.Dir, cmd.Env = e.dir, e.env
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		e.Fatalf("raglab %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), log.String())
	}
	e.Logf("raglab %s\n%s%s", strings.Join(args, " "), log.String(), out.String())
	return log.String() + out.String()
}

// apply locks and applies, sees that another apply has nothing to do, and returns
// the results.
func (e *experiment) apply(rows int) report.Report {
	e.Helper()
	if said := e.run("plan"); !strings.Contains(said, "not pinned") {
		e.Errorf("a plan without a lock does not warn:\n%s", said)
	}
	e.run("lock")
	e.run("lock", "-check")
	e.run("apply", "-locked", "-progress", "plain")
	if said := e.run("apply", "-locked"); !strings.Contains(said, "Nothing to do") {
		e.Errorf("a second apply has something to do:\n%s", said)
	}
	name := strings.TrimSuffix(filepath.Base(e.spec), ".hcl")
	raw, err := os.ReadFile(filepath.Join(e.dir, "results", name+".json"))
	if err != nil {
		e.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		e.Fatal(err)
	}
	if len(r.Configurations) != rows {
		e.Errorf("%d rows, want %d", len(r.Configurations), rows)
	}
	for _, c := range r.Configurations {
		for metric, value := range c.Metrics {
			if value == nil {
				e.Errorf("%s: %s was not measured", c.Name, metric)
			}
		}
	}
	return r
}

// value is the metric of the first row with the options.
func value(t *testing.T, r report.Report, metric string, options ...string) float64 {
	t.Helper()
	for _, c := range r.Configurations {
		fits := true
		for _, o := range options {
			factor, label, _ := strings.Cut(o, "=")
			fits = fits && c.Options[factor] == label
		}
		if v := c.Metrics[metric]; fits && v != nil {
			return *v
		}
	}
	t.Fatalf("no row %v has %s", options, metric)
	return 0
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// hub serves models made by rule under the names of those that a spec names.
func hub(t *testing.T, models map[string]func(dir string) error) string {
	t.Helper()
	h := sourcetest.NewHub()
	for repository, write := range models {
		dir := t.TempDir()
		if err := write(dir); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for name, at := range map[string]string{"model.onnx": "onnx/model.onnx", "tokenizer.json": "tokenizer.json", "config.json": "config.json"} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[at] = raw
		}
		h.Commit("models", repository, files)
	}
	return serve(t, h)
}

// repository serves files as a host of repositories does, by /OWNER/NAME/COMMIT/PATH.
func repository(t *testing.T, name, commit string, files map[string][]byte) (rawURL string) {
	t.Helper()
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, ok := files[strings.TrimPrefix(r.URL.Path, "/"+name+"/"+commit+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(raw) // a client that is gone will say so itself
	}))
	return at + "/{repository}/{commit}/{path}"
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// records reads a file of JSON lines.
func records[T any](t *testing.T, path string) []T {
	t.Helper()
	var out []T
	for line := range strings.Lines(string(read(t, path))) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// Ukrainian articles of the repository's own stand for those of Wikipedia.
func TestExperiment_ukwiki(t *testing.T) {
	t.Parallel()
	var articles []sourcetest.Article
	paths, err := filepath.Glob("../../experiments/quickstart/*/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no articles", err)
	}
	for _, path := range paths {
		title, text := mediawiki(string(read(t, path)))
		articles = append(articles, sourcetest.Article{Title: title, Text: text, Categories: []string{"Вибрані статті"}})
	}
	e := newExperiment(t, "ukwiki", "api="+serve(t, sourcetest.NewMediaWiki(articles)))
	withPrograms(t, e.dir)
	e.needs("onnxruntime", "multilingual-e5-small-q4", "simplemma-uk")
	e.run("golden", "generate")
	e.run("golden", "check")
	e.run("golden", "stats")
	r := e.apply(12)
	if n := r.Questions.Total; n != 48 || r.Questions.Dev == 0 || r.Questions.Test == 0 {
		t.Errorf("%d questions, %d of them dev, %d test; want 48, some of both", n, r.Questions.Dev, r.Questions.Test)
	}
	if len(r.Tuning) != 2 {
		t.Errorf("%d tuned values, want rrf_k and alpha", len(r.Tuning))
	}
	if v := value(t, r, "ndcg@10", "retriever=dense"); v < 0.8 {
		t.Errorf("dense has an nDCG of %.3f: questions made of the articles should find them", v)
	}
}

// mediawiki turns an article in Markdown into what TextExtracts would give.
func mediawiki(markdown string) (title, text string) {
	body := markdown
	if front, rest, ok := strings.Cut(strings.TrimPrefix(markdown, "---\n"), "\n---\n"); ok {
		title, body = strings.TrimSpace(strings.TrimPrefix(front, "title:")), rest
	}
	var out strings.Builder
	for line := range strings.Lines(body) {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		switch marks {
		case 0:
			out.WriteString(line)
		case 1:
			title = strings.TrimSpace(line[1:])
		default:
			bars := strings.Repeat("=", marks)
			fmt.Fprintf(&out, "%s %s %s\n", bars, strings.TrimSpace(line[marks:]), bars)
		}
	}
	return title, strings.TrimSpace(out.String())
}

type turkishQuestion struct {
	Doc   string `json:"doc_id"`
	Title string `json:"doc_title"`
	Span  string `json:"answer_span"`
}

// The study's own questions, with articles that hold their answers among Turkish
// paragraphs about other things.
func TestExperiment_turkishHealth(t *testing.T) {
	t.Parallel()
	gold := read(t, testdata.Shared(t, "data/turkish-rag-eval/data/eval/gold.json"))
	paragraphs := records[struct{ Text string }](t, testdata.Shared(t, "data/more/tquad/neutral-train/docs.jsonl"))
	var questions []turkishQuestion
	if err := json.Unmarshal(gold, &questions); err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Documents []struct {
			ID    string `json:"doc_id"`
			Title string
		}
	}
	if err := json.Unmarshal(read(t, testdata.Shared(t, "data/turkish-rag-eval/data/corpus.lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	var articles []sourcetest.Article
	var texts []string
	for i, d := range lock.Documents {
		a := sourcetest.Article{Title: d.Title}
		if _, err := fmt.Sscan(d.ID, &a.PageID); err != nil {
			t.Fatal(err)
		}
		a.Text = turkishArticle(d.ID, questions, func(n int) string {
			return strings.Join(strings.Fields(paragraphs[(i*20+n)%len(paragraphs)].Text), " ")
		})
		articles, texts = append(articles, a), append(texts, a.Text)
	}
	e := newExperiment(t, "turkish_health", "api="+serve(t, sourcetest.NewMediaWiki(articles)),
		"raw_url="+repository(t, "RizgarOzan/turkish-rag-eval", "f236b0442a4b4de40e91abf0e0a4792d4f538ff4", map[string][]byte{"data/eval/gold.json": gold}))
	e.needs("onnxruntime")
	e.env = append(e.env, "HF_ENDPOINT="+hub(t, map[string]func(string) error{
		"sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": func(dir string) error { return onnxtest.WriteEncoder(dir, texts) },
	}))
	r := e.apply(15)
	if r.Questions.Total != len(questions) {
		t.Errorf("%d questions, want the study's %d", r.Questions.Total, len(questions))
	}
	for _, chunker := range []string{"fixed", "sentence", "hierarchical"} {
		stem := value(t, r, "ndcg@10", "chunker="+chunker, "retriever=bm25", "text=stem5")
		if plain := value(t, r, "ndcg@10", "chunker="+chunker, "retriever=bm25", "text=nostem"); stem <= 0.1 || stem == plain {
			t.Errorf("%s: nDCG %.3f with stems and %.3f without", chunker, stem, plain)
		}
	}
	if len(r.Expectations) == 0 {
		t.Error("what the study published is not beside the results")
	}
}

// turkishArticle is a text in sections: paragraphs, and among them the document's
// answers in sentences of their own.
func turkishArticle(id string, questions []turkishQuestion, paragraph func(n int) string) string {
	var b strings.Builder
	section := 0
	add := func(sentence string) {
		if section++; section > 1 {
			fmt.Fprintf(&b, "\n\n== Bölüm %d ==\n", section)
		}
		fmt.Fprintf(&b, "%s %s %s", paragraph(2*section), sentence, paragraph(2*section+1))
	}
	for _, q := range questions {
		if q.Doc == id {
			add("Bilindiği gibi " + q.Span + ".")
		}
	}
	for section < 3 {
		add("Ayrıca başka konular da vardır.")
	}
	return b.String()
}

type passage struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// The benchmark's own questions and judgements. Of its passages only some are at
// hand; the others that are judged have the words of a question that they answer.
func TestExperiment_fiqaDepth(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"mtrag-human/retrieval_tasks/fiqa/fiqa_rewrite.jsonl": read(t, testdata.Shared(t, "data/mtrag/fiqa-human/fiqa_rewrite.jsonl")),
		"mtrag-human/retrieval_tasks/fiqa/qrels/dev.tsv":      read(t, testdata.Shared(t, "data/mtrag/fiqa-human/qrels/dev.tsv")),
	}
	passages := records[passage](t, testdata.Shared(t, "data/mtrag/neutral-fiqa-human/docs.jsonl"))
	passages = append(passages, records[passage](t, testdata.Shared(t, "data/mtrag/neutral-mtrag-un/docs.jsonl"))...)
	passages = withJudged(t, passages, files)
	var texts []string
	var lines bytes.Buffer
	for _, p := range passages {
		texts = append(texts, p.Title+"\n"+p.Text)
		line, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	archive := zipped(t, "fiqa.jsonl", lines.Bytes())
	files["corpora/passage_level/fiqa.jsonl.zip"] = archive
	e := newExperiment(t, "fiqa_depth", fmt.Sprintf("corpus_sha256=%x", sha256.Sum256(archive)),
		"raw_url="+repository(t, "IBM/mt-rag-benchmark", "2c618bb98db3c8526433e22d8a2f7320f10a7470", files))
	e.needs("onnxruntime")
	e.env = append(e.env, "HF_ENDPOINT="+hub(t, map[string]func(string) error{
		"BAAI/bge-small-en-v1.5":               func(dir string) error { return onnxtest.WriteEncoder(dir, texts) },
		"cross-encoder/ms-marco-MiniLM-L-6-v2": func(dir string) error { return onnxtest.WriteOverlap(dir, texts) },
	}))
	r := e.apply(8)
	if r.Questions.Total != 180 {
		t.Errorf("%d questions, want the benchmark's 180", r.Questions.Total)
	}
	for _, depth := range []string{"20", "30", "50"} {
		// What the first d hold is the ceiling of reranking them, and stays there.
		row := []string{"reranker=minilm", "rerank_depth=" + depth}
		before := value(t, r, "recall@"+depth, "reranker=none")
		if after := value(t, r, "recall@"+depth, row...); after != before {
			t.Errorf("the first %s hold %.4f before and %.4f after they are reranked", depth, before, after)
		}
		if v := value(t, r, "recall@10", row...); v > before {
			t.Errorf("recall@10 of the first %s is %.4f, above its ceiling of %.4f", depth, v, before)
		}
	}
}

// withJudged adds the judged passages that are missing.
func withJudged(t *testing.T, passages []passage, files map[string][]byte) []passage {
	t.Helper()
	questions := map[string]string{}
	for line := range strings.Lines(string(files["mtrag-human/retrieval_tasks/fiqa/fiqa_rewrite.jsonl"])) {
		var q passage
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		questions[q.ID] = q.Text
	}
	have := map[string]bool{}
	kept := passages[:0]
	for _, p := range passages {
		if !have[p.ID] {
			have[p.ID] = true
			kept = append(kept, p)
		}
	}
	for line := range strings.Lines(string(files["mtrag-human/retrieval_tasks/fiqa/qrels/dev.tsv"])) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 || cells[0] == "query-id" || have[cells[1]] {
			continue
		}
		have[cells[1]] = true
		words := strings.Fields(questions[cells[0]])
		slices.Reverse(words)
		other := kept[len(kept)*7%251].Text
		kept = append(kept, passage{ID: cells[1], Text: strings.Join(words[:len(words)*2/3], " ") + ". " + other[:min(len(other), 300)]})
	}
	return kept
}

func zipped(t *testing.T, name string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
