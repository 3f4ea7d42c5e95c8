package source_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/internal/testdata"
)

func TestWikipedia_pinnedTextsComeInTheOrderOfTheLock(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	pinned := w.locked(t, byTitles("Львів", "Київ", "Дніпро"))
	s := w.open(t, pinned)
	wantBytes(t, s)
	if u := s.(source.Pinner).Unpinned(); u != "" {
		t.Errorf("a source with a lock says: %s", u)
	}
	before := sourcetest.Read(t, s)
	// A new revision with the same text, and another title, are said; the corpus
	// stays what it was.
	w.Edit("Київ", ukrainian()[0].Text, "")
	w.Move("Київ", "Київ (місто)")
	w.downloads = t.TempDir()
	s = w.open(t, pinned)
	if diff := cmp.Diff(before, sourcetest.Read(t, s)); diff != "" {
		t.Error(diff)
	}
	said := strings.Join(s.(source.Warner).Warnings(), "\n")
	if !strings.Contains(said, `moved since it was locked: "Київ" is "Київ (місто)" now`) || !strings.Contains(said, "newer revision with the same text") {
		t.Errorf("warnings %s", said)
	}
}

func TestWikipedia_pinnedTextThatChanged(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	extracts := w.locked(t, byTitles("Київ", "Львів", "Дніпро"))
	wikitext := w.locked(t, func(p *source.WikipediaParams) { p.Titles, p.Form = []string{"Київ", "Львів"}, "wikitext" })
	w.Edit("Київ", "Новий текст.", "Новий вікітекст.")
	w.Delete("Дніпро")
	w.downloads = t.TempDir()
	_, err := sourcetest.Collect(t.Context(), w.open(t, extracts))
	var list *source.Errors
	if !errors.As(err, &list) || len(list.List) != 2 {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{
		`article "Київ" (page 585, revision 1000001) is not as it was locked: got revision 1000004, 12 characters, SHA-256 `,
		"the lock has revision 1000001, 88 characters, SHA-256 ", `run raglab lock`, `form = "wikitext"`,
		`article "Дніпро" (page 44, revision 1000003): the page is not there any more`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error\n%v\nlacks %q", err, part)
		}
	}
	// The old wikitext can still be had.
	if docs := sourcetest.Read(t, w.open(t, wikitext)); !strings.HasPrefix(docs[1].Text, "'''Київ'''") {
		t.Errorf("documents %v", docs)
	}
	w.Delete("Львів")
	w.downloads = t.TempDir()
	if _, err := sourcetest.Collect(t.Context(), w.open(t, wikitext)); err == nil || !strings.Contains(err.Error(), `article "Львів" (page 1141, revision 1000002): the revision is not there any more`) {
		t.Errorf("a deleted revision: %v", err)
	}
}

func TestWikipedia_revisionsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	w.Edit("Київ", "Новий текст.", "")
	_, err := sourcetest.Collect(t.Context(), w.open(t, func(p *source.WikipediaParams) { p.Revisions = []int{1_000_001, 1_000_002} }))
	if err == nil || !strings.Contains(err.Error(), `the newest revision of "Київ" is 1000004, and not 1000001; extracts are made of the newest revision only`) {
		t.Errorf("an old revision's extract: %v", err)
	}
	_, err = sourcetest.Collect(t.Context(), w.open(t, func(p *source.WikipediaParams) { p.Revisions = []int{99, 1_000_002} }))
	if err == nil || !strings.Contains(err.Error(), "there is no revision 99") {
		t.Errorf("a revision that never was: %v", err)
	}
}

func TestWikipedia_lockIsStable(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	lock := func(titles ...string) []byte {
		done := 0
		raw, err := w.open(t, byTitles(titles...)).(source.Pinner).Lock(t.Context(), func(d, total int) { done = d })
		if err != nil || done != len(titles) {
			t.Fatalf("%v after %d articles", err, done)
		}
		return raw
	}
	one, two := lock("Київ", "Львів"), lock("Львів", "Київ")
	if diff := cmp.Diff(string(one), string(two)); diff != "" || !strings.HasSuffix(string(one), "}\n") {
		t.Errorf("the order of the titles shows: %s", diff)
	}
	w.Edit("Київ", ukrainian()[0].Text, "x")
	w.Edit("Львів", "Інший текст.", "")
	s := w.open(t, byTitles("Київ", "Дніпро", "Львів"))
	after, err := s.(source.Pinner).Lock(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.(source.LockComparer).CompareLocks(one, after)
	c.Fingerprint = ""
	want := source.LockChanges{Name: "articles", Added: []string{"Дніпро (44)"}, Changed: []string{"Львів (1141)"}, Same: 1, Renewed: 1}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Error(diff, err)
	}
	c, err = s.(source.LockComparer).CompareLocks(after, one)
	if err != nil || !slices.Equal(c.Removed, []string{"Дніпро (44)"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWikipedia_lockThatDoesNotFit(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	pinned := w.locked(t, byTitles("Київ", "Львів"))
	var path string
	pinned(&source.WikipediaParams{})
	for name, test := range map[string]struct {
		set  func(*source.WikipediaParams)
		want string
	}{
		"other titles": {func(p *source.WikipediaParams) { p.Titles = []string{"Київ"} }, "the lock is for other articles than the spec names"},
		"another form": {func(p *source.WikipediaParams) { p.Form = "wikitext" }, "the lock is for form extract, and the spec says wikitext"},
		"another id":   {func(p *source.WikipediaParams) { p.ID = "title" }, "the lock is for id pageid, and the spec says title"},
	} {
		_, err := sourcetest.Collect(t.Context(), w.open(t, func(p *source.WikipediaParams) { pinned(p); path = p.Lock; test.set(p) }))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "run raglab lock") {
			t.Errorf("%s: %v", name, err)
		}
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), `"sha256": "`, `"sha256": "0`, 1)), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sourcetest.Collect(t.Context(), w.open(t, pinned)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a lock changed by hand: %v", err)
	}
}

// The public Turkish lock is read as it is, and its fingerprint comes out.
func TestWikipedia_turkishLock(t *testing.T) {
	t.Parallel()
	path := testdata.Shared(t, "data/turkish-rag-eval/data/corpus.lock.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Fingerprint string
		Documents   []struct {
			ID     string `json:"doc_id"`
			SHA256 string
		}
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, d := range lock.Documents {
		digests[d.ID] = d.SHA256
	}
	if got := source.Fingerprint(digests); got != lock.Fingerprint || len(digests) != 54 {
		t.Errorf("fingerprint %s of %d documents, expected %s", got, len(digests), lock.Fingerprint)
	}
	w := newWiki(t, ukrainian())
	_, err = sourcetest.Collect(t.Context(), w.open(t, func(p *source.WikipediaParams) {
		p.Language, p.Titles, p.Lock = "tr", []string{"Diyabet"}, path
	}))
	// The test's wiki has none of the articles: the lock was read, and each is named.
	if err == nil || !strings.Contains(err.Error(), `article "Multipl skleroz" (page 103047, revision 36628105): the page is not there any more`) || !strings.Contains(err.Error(), "and 34 more") {
		t.Errorf("error %v", err)
	}
}

func TestWikipedia_pinner(t *testing.T) {
	t.Parallel()
	w := newWiki(t, ukrainian())
	sourcetest.RunPinner(t, func(t *testing.T, lock string) source.Source {
		return w.open(t, func(p *source.WikipediaParams) { p.Titles, p.Lock = []string{"Київ", "Львів"}, lock })
	})
}
