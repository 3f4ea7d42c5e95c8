package source_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/internal/param"
	"raglab/internal/testdata"
	"raglab/internal/web"
)

// ukrainian are the articles of the tests' wiki.
func ukrainian() []sourcetest.Article {
	return []sourcetest.Article{
		{Title: "Київ", PageID: 585, RevID: 1_000_001, Text: "Київ — столиця України.\n\n\n== Історія ==\nПерший абзац.\n\n\n=== Давня доба ===\nДругий абзац.", Wikitext: "'''Київ''' — столиця [[Україна|України]].\n\n== Історія ==\nТекст.", Categories: []string{"Міста"}},
		{Title: "Львів", PageID: 1141, RevID: 1_000_002, Text: "Львів — місто на заході.\n\n\n== Назва ==\nЗа ім'ям.", Categories: []string{"Міста"}},
		{Title: "Дніпро", PageID: 44, RevID: 1_000_003, Text: "Дніпро — річка.", Categories: []string{"Річки"}},
	}
}

// wiki is a running wiki and the sources that ask it.
type wiki struct {
	*sourcetest.MediaWiki
	url, downloads string
}

func newWiki(t *testing.T, list []sourcetest.Article) *wiki {
	t.Helper()
	w := &wiki{MediaWiki: sourcetest.NewMediaWiki(list), downloads: t.TempDir()}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL + "/w/api.php"
	return w
}

// open makes a source with the parameters that set chooses, which waits for nothing.
func (w *wiki) open(t *testing.T, set func(*source.WikipediaParams)) source.Source {
	t.Helper()
	kind := source.Wikipedia()
	p := kind.Params().(*source.WikipediaParams)
	p.Language, p.API = "uk", w.url
	set(p)
	s, err := kind.New(p, axes.Env{Downloads: w.downloads, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	source.WikipediaWaits(s, time.Minute)
	return s
}

func byTitles(titles ...string) func(*source.WikipediaParams) {
	return func(p *source.WikipediaParams) { p.Titles = titles }
}

// locked writes the lock of a source and returns the parameters that name it.
func (w *wiki) locked(t *testing.T, set func(*source.WikipediaParams)) func(*source.WikipediaParams) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "uk.lock.json")
	with := func(p *source.WikipediaParams) { set(p); p.Lock = path }
	raw, err := w.open(t, with).(source.Pinner).Lock(t.Context(), nil)
	if err == nil {
		err = os.WriteFile(path, raw, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return with
}

func articleIDs(docs []axes.Document) []string {
	var list []string
	for _, d := range docs {
		list = append(list, d.ID)
	}
	return list
}

func TestWikipedia_conformance(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	pinned := w.locked(t, byTitles("Київ", "Львів", "Дніпро"))
	for name, set := range map[string]func(*source.WikipediaParams){
		"titles":    byTitles("Київ", "Львів", "Дніпро"),
		"locked":    pinned,
		"category":  func(p *source.WikipediaParams) { p.Category = "Міста" },
		"revisions": func(p *source.WikipediaParams) { p.Revisions = []int{1_000_001, 1_000_003}; p.Form = "wikitext" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sourcetest.Run(t, func(t *testing.T) source.Source { return w.open(t, set) })
		})
	}
}

func TestWikipedia_digest(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"wikipedia@1": "17f5f0a329ef4bc0c9c1e304f0dd74288935f052e662423ec71fa8601d797985",
	}
	w := newWiki(t, ukrainian())
	checkDigest(t, source.Wikipedia(), w.open(t, byTitles("Київ", "Львів", "Дніпро")), want)
}

func TestWikipedia_redirectsAndOddTitlesAreSaid(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	w.Redirect("Кіїв", "Київ")
	s := w.open(t, func(p *source.WikipediaParams) {
		p.Titles = []string{"Кіїв", "львів", "Київ", "Немає такої сторінки", "Дніпро"}
		p.MinCharacters = 20
	})
	docs := sourcetest.Read(t, s)
	if got := articleIDs(docs); !slices.Equal(got, []string{"1141", "585"}) {
		t.Errorf("documents %v", got)
	}
	want := map[string]string{"url": "https://uk.wikipedia.org/wiki/%D0%9A%D0%B8%D1%97%D0%B2", "revid": "1000001", "title": "Київ"}
	if diff := cmp.Diff(want, docs[1].Meta); diff != "" {
		t.Error(diff)
	}
	said := strings.Join(s.(source.Warner).Warnings(), "\n")
	for _, part := range []string{
		`there is no article "Немає такої сторінки"`, `a title is a redirect: "Кіїв", to "Київ"`, `reads the title "львів" as "Львів"`,
		`the article "Дніпро" is too short`, "1 titles lead to an article that another one led to",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("the warnings\n%s\nlack %q", said, part)
		}
	}
}

func TestWikipedia_categoryIsPagedAndDeep(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	w.PageSize = 1
	w.Subcategory("Річки", "Міста")
	w.Subcategory("Міста", "Річки") // categories may go round in circles
	flat := w.open(t, func(p *source.WikipediaParams) { p.Category = "Категорія:Міста"; p.ID = "title" })
	if got := articleIDs(sourcetest.Read(t, flat)); !slices.Equal(got, []string{"Київ", "Львів"}) {
		t.Errorf("without subcategories: %v", got)
	}
	deep := w.open(t, func(p *source.WikipediaParams) { p.Category, p.CategoryDepth = "Міста", 5 })
	if got := articleIDs(sourcetest.Read(t, deep)); !slices.Equal(got, []string{"1141", "44", "585"}) {
		t.Errorf("with subcategories: %v", got)
	}
	_, err := sourcetest.Collect(t.Context(), w.open(t, func(p *source.WikipediaParams) { p.Category = "Гори" }))
	if err == nil || !strings.Contains(err.Error(), `"Category:Гори" has no articles`) {
		t.Errorf("an empty category: %v", err)
	}
}

// Ten thousand letters of titles do not fit into one address.
func TestWikipedia_manyTitlesAreAskedInBatches(t *testing.T) {
	t.Parallel()
	var list []sourcetest.Article
	var titles []string
	for i := range 130 {
		title := fmt.Sprintf("Стаття про довгий предмет номер %d", i)
		titles = append(titles, title)
		list = append(list, sourcetest.Article{Title: title, Text: fmt.Sprintf("Текст %d.", i)})
	}
	w := newWiki(t, list)
	if docs := sourcetest.Read(t, w.open(t, byTitles(titles...))); len(docs) != len(list) {
		t.Fatalf("%d documents of %d", len(docs), len(list))
	}
	for _, query := range w.Asked() {
		if len(query) > 7000 {
			t.Errorf("a query of %d bytes", len(query))
		}
	}
}

func TestWikipedia_wikitextKeepsHeadings(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	docs := sourcetest.Read(t, w.open(t, func(p *source.WikipediaParams) { p.Titles, p.Form = []string{"Київ"}, "wikitext" }))
	if !strings.Contains(docs[0].Text, "[[Україна|України]].\n\n== Історія ==") {
		t.Errorf("text %q", docs[0].Text)
	}
}

// What was fetched before a break is not fetched again.
func TestWikipedia_goesOnAfterABreak(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	set := byTitles("Київ", "Львів", "Дніпро")
	var mended atomic.Bool
	w.Fault = func(_ http.ResponseWriter, _ *http.Request, n int) bool {
		if n < 4 || mended.Load() { // the titles and two of the texts
			return false
		}
		panic(http.ErrAbortHandler)
	}
	_, err := sourcetest.Collect(t.Context(), w.open(t, set))
	if err == nil || !strings.Contains(err.Error(), `fetch article "Київ"`) || !web.IsTemporary(err) {
		t.Fatalf("error %v", err)
	}
	mended.Store(true)
	before := len(w.Asked())
	if docs := sourcetest.Read(t, w.open(t, set)); len(docs) != 3 {
		t.Fatalf("%d documents", len(docs))
	}
	if asked := w.Asked()[before:]; len(asked) != 2 {
		t.Errorf("asked again: %v", asked)
	}
	// A damaged file is fetched again.
	files, err := filepath.Glob(filepath.Join(w.downloads, "wikipedia", "*", "*", "*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("kept: %v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"text":"x"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	before = len(w.Asked())
	sourcetest.Read(t, w.open(t, set))
	if asked := w.Asked()[before:]; len(asked) != 2 {
		t.Errorf("asked after damage: %v", asked)
	}
}

func TestWikipedia_waitsAsTheServerAsks(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	var agents []string
	w.Fault = func(rw http.ResponseWriter, r *http.Request, n int) bool {
		agents = append(agents, r.UserAgent())
		switch n {
		case 1:
			sourcetest.MaxLag(rw)
		case 2:
			rw.Header().Set("Retry-After", "7")
			rw.WriteHeader(http.StatusTooManyRequests)
		case 3:
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			return false
		}
		return true
	}
	s := w.open(t, func(p *source.WikipediaParams) {
		p.Titles, p.Contact = []string{"Київ", "Львів"}, "me@example.org"
	})
	waits := source.WikipediaWaits(s, time.Minute)
	var told []int
	s.(source.Progressive).Progress(func(done, total int) { told = append(told, done*10+total) })
	if docs := sourcetest.Read(t, s); len(docs) != 2 {
		t.Errorf("%d documents", len(docs))
	}
	if want := []time.Duration{5 * time.Second, 7 * time.Second, 4 * time.Second}; !slices.Equal(*waits, want) {
		t.Errorf("waits %v, expected %v", *waits, want)
	}
	if agents[0] != "raglab/1.2.3 (me@example.org)" {
		t.Errorf("user agent %q", agents[0])
	}
	if !slices.Equal(told, []int{12, 22}) {
		t.Errorf("progress %v", told)
	}
	for _, query := range w.Asked() {
		if !strings.Contains(query, "maxlag=5") {
			t.Errorf("no maxlag in %s", query)
		}
	}
}

func TestWikipedia_answersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
		passes bool
	}{
		"always lagging": {sourcetest.MaxLag, "answers maxlag: Waiting for 10.64.0.1: 6.1 seconds lagged. (tried 4 times)", true},
		"an error":       {func(w http.ResponseWriter) { fmt.Fprint(w, `{"error":{"code":"badvalue","info":"No."}}`) }, "answers badvalue: No.", false},
		"a page":         {func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, "something else than the JSON of a MediaWiki API", false},
		"forbidden": {
			func(w http.ResponseWriter) { http.Error(w, "Please set a user-agent", http.StatusForbidden) },
			"403 Forbidden: Please set a user-agent", false,
		},
		"an endless answer": {
			func(w http.ResponseWriter) {
				fmt.Fprint(w, `{"continue":{"x":"1","continue":"-||"},"query":{"pages":[]}}`)
			},
			"continues its answer without an end", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWiki(t, ukrainian())
			w.Fault = func(rw http.ResponseWriter, _ *http.Request, _ int) bool { test.answer(rw); return true }
			_, err := sourcetest.Collect(t.Context(), w.open(t, byTitles("Київ")))
			if err == nil || !strings.Contains(err.Error(), test.want) || web.IsTemporary(err) != test.passes {
				t.Errorf("error %v, expected %q (temporary %v)", err, test.want, test.passes)
			}
		})
	}
}

func TestWikipedia_slowDripEnds(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	w.Fault = func(rw http.ResponseWriter, r *http.Request, _ int) bool {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return true
			case <-tick.C:
				fmt.Fprint(rw, " ")
				rw.(http.Flusher).Flush()
			}
		}
	}
	s := w.open(t, byTitles("Київ"))
	source.WikipediaWaits(s, 30*time.Millisecond)
	if _, err := sourcetest.Collect(t.Context(), s); err == nil || !web.IsTemporary(err) || !strings.Contains(err.Error(), "came") {
		t.Errorf("error %v", err)
	}
}

// The recorded and constructed answers of a real wiki, in either format version.
func TestWikipedia_recordedShapes(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		raw, err := os.ReadFile(testdata.Shared(t, "data/mediawiki/"+name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	exists, extract := read("recorded/info-exists.json"), read("recorded/extracts-plaintext.json")
	missing, badrevids := read("recorded/info-missing.json"), read("constructed/badrevids.json")
	revision, batch := read("constructed/revisions-by-revid-uk.json"), read("constructed/extracts-batch-lowered-to-1.json")
	both := read("constructed/extracts-revisions-uk.json")
	tests := map[string]struct {
		set     func(*source.WikipediaParams)
		answers [][]byte
		id      string
		begins  string
		warning string
		err     string
	}{
		"a normalized title": {
			set: byTitles("Python_(programming_language)"), answers: [][]byte{exists, extract},
			id: "23862", begins: "Python is a high-level, general-purpose programming language.",
			warning: `"Python_(programming_language)" as "Python (programming language)"`,
		},
		"a missing page": {
			set: byTitles("NonExistentPage_WikiAPI_Test_12345"), answers: [][]byte{missing},
			err: "the corpus is empty",
		},
		"a redirect, with revisions": {
			set: byTitles("Кіїв"), answers: [][]byte{both, both}, id: "585", begins: "Київ — столиця України.", warning: `"Кіїв", to "Київ"`,
		},
		"a revision's wikitext": {
			set:     func(p *source.WikipediaParams) { p.Revisions, p.Form = []int{1_000_001}, "wikitext" },
			answers: [][]byte{revision, revision}, id: "585", begins: "'''Київ''' — столиця України.",
		},
		"a bad revision": {
			set: func(p *source.WikipediaParams) { p.Revisions = []int{99} }, answers: [][]byte{badrevids}, err: "there is no revision 99",
		},
		"a batch lowered to one": {
			set: byTitles("Київ"), answers: [][]byte{both, batch}, err: "continues its answer without an end",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Write(test.answers[min(n, len(test.answers)-1)])
				n++
			}))
			t.Cleanup(server.Close)
			w := &wiki{url: server.URL, downloads: t.TempDir()}
			s := w.open(t, test.set)
			docs, err := sourcetest.Collect(t.Context(), s)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, expected %q", err, test.err)
				}
				return
			}
			if err != nil || len(docs) != 1 || docs[0].ID != test.id || !strings.HasPrefix(docs[0].Text, test.begins) {
				t.Fatalf("documents %.200v, %v", docs, err)
			}
			if said := strings.Join(s.(source.Warner).Warnings(), "\n"); !strings.Contains(said, test.warning) {
				t.Errorf("warnings %q", said)
			}
		})
	}
}

func TestWikipedia_wrongParameters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attribute string
		set       func(*source.WikipediaParams)
	}{
		"language":       {"language", func(p *source.WikipediaParams) { p.Language, p.Titles = "uk/..", []string{"A"} }},
		"nothing":        {"titles", func(*source.WikipediaParams) {}},
		"two ways":       {"titles", func(p *source.WikipediaParams) { p.Titles, p.Category = []string{"A"}, "B" }},
		"two titles":     {"titles", func(p *source.WikipediaParams) { p.Titles = []string{"A|B"} }},
		"plain http":     {"api", func(p *source.WikipediaParams) { p.API, p.Titles = "http://example.org/api.php", []string{"A"} }},
		"depth of what?": {"category_depth", func(p *source.WikipediaParams) { p.CategoryDepth, p.Titles = 1, []string{"A"} }},
		"revision 0":     {"revisions", func(p *source.WikipediaParams) { p.Revisions = []int{0} }},
	} {
		kind := source.Wikipedia()
		p := kind.Params().(*source.WikipediaParams)
		p.Language = "uk"
		test.set(p)
		_, err := kind.New(p, axes.Env{})
		var at *param.Error
		if !errors.As(err, &at) || at.Attribute != test.attribute {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWikipedia_cancelEndsWaiting(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	cause := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.Fault = func(rw http.ResponseWriter, _ *http.Request, _ int) bool {
		cancel(cause)
		sourcetest.MaxLag(rw)
		return true
	}
	if _, err := sourcetest.Collect(ctx, w.open(t, byTitles("Київ"))); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

// Whatever a server answers, reading it ends with documents or an error.
func FuzzWikipedia_answers(f *testing.F) {
	f.Add(`{"query":{"pages":[{"pageid":1,"title":"A","lastrevid":2,"extract":"Text."}]}}`, `{}`)
	f.Add(`{"query":{"pages":{"1":{"pageid":1,"title":"A","lastrevid":2}}}}`, `{"query":{"pages":{"1":{"pageid":1,"extract":""}}}}`)
	f.Add(`{"query":{"pages":[null],"badrevids":[null],"interwiki":[{"title":"en:A"}]}}`, `{"error":{"code":"x"}}`)
	f.Add(`{"continue":{"x":1},"query":{"pages":null}}`, `null`)
	f.Add(`{"query":{"categorymembers":[null,{"pageid":1}]}}`, `[]`)
	f.Fuzz(func(t *testing.T, first, second string) {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			fmt.Fprint(w, []string{first, second}[min(n-1, 1)])
		}))
		defer server.Close()
		for _, set := range []func(*source.WikipediaParams){
			byTitles("A"),
			func(p *source.WikipediaParams) { p.Category = "A" },
			func(p *source.WikipediaParams) { p.Revisions, p.Form = []int{2}, "wikitext" },
		} {
			n = 0
			w := &wiki{url: server.URL}
			docs, err := sourcetest.Collect(t.Context(), w.open(t, set))
			if err == nil && len(docs) == 0 {
				t.Errorf("neither documents nor an error for %q, %q", first, second)
			}
		}
	})
}
