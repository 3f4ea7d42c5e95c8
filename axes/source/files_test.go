package source_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
)

var axesEnv = axes.Env{}

func ids(docs []axes.Document) []string {
	out := make([]string, len(docs))
	for i, doc := range docs {
		out[i] = doc.ID
	}
	return out
}

func TestFiles_orderAndIDs(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a/b.md": "x", "a-b.md": "x", "a.txt": "x", "Б.md": "x", "b.HTML": "x", "c.pdf": "x", "c": "x",
		".hidden.md": "x", ".git/x.md": "x", "d/e/f.markdown": "x",
	})
	want := []string{"a-b", "a", "a/b", "b", "d/e/f", "Б"}
	if got := ids(sourcetest.Read(t, newFiles(t, dir))); !reflect.DeepEqual(got, want) {
		t.Errorf("ids %q, want %q", got, want)
	}
}

func TestFiles_patterns(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.md": "x", "n/b.md": "x", "n/m/c.md": "x", "drafts/d.md": "x", "n/drafts/e.md": "x", "f.rst": "x", ".g.md": "x",
	})
	for name, c := range map[string]struct {
		include, exclude, want []string
		hidden                 bool
	}{
		"by name at any depth": {include: []string{"*.rst", "[bc].md"}, want: []string{"f", "n/b", "n/m/c"}},
		"below a folder":       {include: []string{"n/**"}, want: []string{"n/b", "n/drafts/e", "n/m/c"}},
		"one level":            {include: []string{"n/*.md"}, want: []string{"n/b"}},
		"any folders between":  {include: []string{"n/**/*.md"}, exclude: []string{"drafts"}, want: []string{"n/b", "n/m/c"}},
		"left out":             {exclude: []string{"drafts/", "**/m/*"}, want: []string{"a", "n/b"}},
		"top only":             {exclude: []string{"./drafts/**"}, want: []string{"a", "n/b", "n/drafts/e", "n/m/c"}},
		"hidden":               {include: []string{".*"}, hidden: true, want: []string{".g"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFiles(t, dir, func(p *source.FilesParams) { p.Include, p.Exclude, p.Hidden = c.include, c.exclude, c.hidden })
			if got := ids(sourcetest.Read(t, s)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("ids %q, want %q", got, c.want)
			}
		})
	}
}

func TestFiles_refusesMalformedPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"[a", "/abs/*.md", "", "a//b"} {
		p := source.Files().Params().(*source.FilesParams)
		p.Path, p.Exclude = "x", []string{pattern}
		if _, err := source.Files().New(p, axesEnv); err == nil || !strings.HasPrefix(err.Error(), "exclude: ") {
			t.Errorf("pattern %q: error %v", pattern, err)
		}
	}
}

func TestFiles_formats(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.md":   "---\ntitle: Дніпро\nid: river-1\ndate: 2020-01-02\ntags: [ріка, Україна]\nversion: 1.10\n---\n# Дніпро — ріка\n\nТекст.\n",
		"b.md":   "Вступ.\r\n\r\n# Перша *назва* #\r\n\r\n# Друга\r\n",
		"c.txt":  "# не назва\n",
		"d.html": "<title>Заголовок</title><style>p{}</style><nav>меню</nav><h1>Заголовок</h1><p>Один\nабзац.<h2>Далі</h2><p>Два.",
		"e.md":   "---\nне закрито\n",
	})
	want := []axes.Document{
		{
			ID: "river-1", Title: "Дніпро", Text: "# Дніпро — ріка\n\nТекст.\n", Format: "markdown",
			Meta: map[string]string{"date": "2020-01-02", "tags": "ріка, Україна", "version": "1.10"},
		},
		{ID: "b", Title: "Перша *назва*", Text: "Вступ.\r\n\r\n# Перша *назва* #\r\n\r\n# Друга\r\n", Format: "markdown"},
		{ID: "c", Text: "# не назва\n", Format: "text"},
		{ID: "d", Title: "Заголовок", Text: "Один абзац.\n\n## Далі\n\nДва.", Format: "html"},
		{ID: "e", Text: "---\nне закрито\n", Format: "markdown"},
	}
	s := newFiles(t, dir)
	if got := sourcetest.Read(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	wantWarning(t, s, `the document "b" has CRLF line ends`)
}

func TestFiles_oneFile(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.md": "x", "b.md": "y"})
	path := filepath.Join(dir, "b.md")
	s := newFiles(t, path)
	if got := ids(sourcetest.Read(t, s)); !reflect.DeepEqual(got, []string{"b"}) {
		t.Errorf("ids %q, want b", got)
	}
	if got, _ := s.Inputs(t.Context()); !reflect.DeepEqual(got, []string{path}) {
		t.Errorf("inputs %q, want %q", got, path)
	}
}

func TestFiles_problems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"no file":         {nil, []string{"the corpus is empty", "no file ends in .htm, .html, .markdown, .md, .txt"}},
		"no text":         {map[string]string{"a.md": " \n\ufeff"[:2]}, []string{`a.md: the document "a" has no text`}},
		"one id":          {map[string]string{"a.md": "x", "a.txt": "y"}, []string{"a.txt: two documents have the id \"a\"", "a.md"}},
		"one id by field": {map[string]string{"a.md": "x", "b.md": "---\nid: a\n---\ny"}, []string{"b.md: two documents have the id \"a\"", "a.md"}},
		"bad UTF-8":       {map[string]string{"a.txt": "рядок\nзла\xe9"}, []string{"a.txt:2: not valid UTF-8: byte 0xE9 at offset 17"}},
		"UTF-16":          {map[string]string{"a.txt": "\xff\xfea\x00"}, []string{"looks like UTF-16"}},
		"NUL":             {map[string]string{"a.txt": "a\nb\x00"}, []string{"a.txt:2: holds a NUL byte at offset 3"}},
		"bad YAML":        {map[string]string{"a.md": "---\ntitle: x\nb: [1\n---\ny"}, []string{"a.md:", "front matter is not valid YAML"}},
		"no mapping":      {map[string]string{"a.md": "---\n- x\n---\ny"}, []string{"a.md:2: front matter is not a mapping"}},
		"name twice":      {map[string]string{"a.md": "---\nx: 1\nx: 2\n---\ny"}, []string{"a.md:3: front matter has the name \"x\" twice"}},
		"several":         {map[string]string{"a.md": "", "b.md": "", "c.md": "\xff"}, []string{"a.md", "b.md", "c.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantProblem(t, newFiles(t, write(t, c.files)), c.says...)
		})
	}
	wantProblem(t, newFiles(t, filepath.Join(t.TempDir(), "none")), "none: cannot be read: no such file")
	wantProblem(t, newFiles(t, write(t, map[string]string{"a.md": "x"}), func(p *source.FilesParams) { p.Include = []string{"*.rst"} }),
		"no file fits a pattern of include")
}

func TestFiles_byteOrderMark(t *testing.T) {
	t.Parallel()
	s := newFiles(t, write(t, map[string]string{"a.md": "\ufeff---\ntitle: T\n---\nx"}))
	if docs := sourcetest.Read(t, s); docs[0].Title != "T" || docs[0].Text != "x" {
		t.Errorf("document %+v", docs[0])
	}
	wantWarning(t, s, "a.md begins with a byte order mark")
}

func TestFiles_changedWhileRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.md": "x", "b.md": "y", "c.md": "z"})
	var last error
	for _, err := range newFiles(t, dir).Documents(t.Context()) {
		last = err
		os.WriteFile(filepath.Join(dir, "b.md"), []byte("longer"), 0o644)
		os.Remove(filepath.Join(dir, "c.md"))
	}
	if last == nil {
		t.Fatal("no error")
	}
	checkProblem(t, last, "b.md: the file changed while it was read", "c.md: cannot be read: no such file")
}

func TestFiles_links(t *testing.T) {
	t.Parallel()
	other := write(t, map[string]string{"real.md": "x", "in/deep.md": "x"})
	dir := write(t, map[string]string{"a.md": "x"})
	for name, to := range map[string]string{"b.md": "real.md", "folder": "in", "loop": "."} {
		if err := os.Symlink(filepath.Join(other, to), filepath.Join(dir, name)); err != nil {
			t.Skipf("symbolic links cannot be made here: %v", err)
		}
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(dir, root); err != nil {
		t.Fatal(err)
	}
	s := newFiles(t, root)
	if got := ids(sourcetest.Read(t, s)); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("ids %q, want a and b", got)
	}
	wantWarning(t, s, "2 folders are symbolic links and were not entered")
	os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "z.md"))
	wantProblem(t, s, "z.md: cannot be read")
}

func TestFiles_unreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("file permissions do not bind the superuser")
	}
	dir := write(t, map[string]string{"a.md": "x", "b/c.md": "y"})
	os.Chmod(filepath.Join(dir, "a.md"), 0)
	wantProblem(t, newFiles(t, dir), "a.md: cannot be read: permission denied")
}
