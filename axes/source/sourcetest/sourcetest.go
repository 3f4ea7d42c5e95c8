// Package sourcetest holds the suite that every kind of source must pass.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/source"
)

// Read collects all documents of a source and ends the test on an error.
func Read(t testing.TB, s source.Source) []axes.Document {
	t.Helper()
	docs, err := Collect(t.Context(), s)
	if err != nil {
		t.Fatalf("read documents: %v", err)
	}
	return docs
}

// Collect reads documents up to the first error.
func Collect(ctx context.Context, s source.Source) ([]axes.Document, error) {
	var docs []axes.Document
	for doc, err := range s.Documents(ctx) {
		if err != nil {
			return docs, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// Run checks a source over a corpus without mistakes that holds at least two
// documents.
func Run(t *testing.T, open func(t *testing.T) source.Source) {
	t.Run("documents are well formed", func(t *testing.T) {
		t.Parallel()
		docs := Read(t, open(t))
		if len(docs) < 2 {
			t.Fatalf("%d documents, where the suite wants two or more", len(docs))
		}
		checkDocuments(t, docs)
	})
	t.Run("a second reading starts anew", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		first, second := Read(t, s), Read(t, s)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("first reading gave\n%v\nthe second\n%v", first, second)
		}
	})
	t.Run("the reader may stop early", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, err := range s.Documents(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if len(Read(t, s)) < 2 {
			t.Error("after a reading that stopped early the next one is not whole")
		}
	})
	t.Run("a cancelled context ends it with the cause", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := Collect(ctx, open(t)); !errors.Is(err, cause) {
			t.Errorf("error %v, want %v", err, cause)
		}
	})
	t.Run("inputs are there and sorted", func(t *testing.T) {
		t.Parallel()
		checkInputs(t, open(t))
	})
	t.Run("questions are well formed", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		if q, ok := s.(source.Questioner); ok {
			checkQuestions(t, q)
		}
	})
}

func checkDocuments(t *testing.T, docs []axes.Document) {
	t.Helper()
	seen := make(map[string]bool)
	for i, doc := range docs {
		if doc.ID == "" || seen[doc.ID] {
			t.Errorf("document %d: the id %q is empty or was there before", i, doc.ID)
		}
		seen[doc.ID] = true
		for _, part := range []string{doc.ID, doc.Title, doc.Text} {
			if !utf8.ValidString(part) {
				t.Errorf("document %q: not valid UTF-8: %q", doc.ID, part)
			}
		}
		if !slices.Contains([]string{"", "text", "markdown", "html"}, doc.Format) {
			t.Errorf("document %q: unknown format %q", doc.ID, doc.Format)
		}
		if strings.HasPrefix(doc.Text, "\ufeff") {
			t.Errorf("document %q begins with a byte order mark", doc.ID)
		}
	}
}

func checkInputs(t *testing.T, s source.Source) {
	t.Helper()
	paths, err := s.Inputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(paths) {
		t.Errorf("inputs are not sorted: %v", paths)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			t.Errorf("input %s is not a file: %v", path, err)
		}
	}
}

func checkQuestions(t *testing.T, q source.Questioner) {
	t.Helper()
	set, err := q.Questions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, question := range set.Questions {
		if question.ID == "" || seen[question.ID] || question.Text == "" {
			t.Errorf("question %q (%q) lacks an id of its own or a text", question.ID, question.Text)
		}
		seen[question.ID] = true
		if len(question.Relevant) == 0 {
			t.Errorf("question %q has no judgement", question.ID)
		}
	}
}

// RunPinner checks a source whose corpus a lock file can pin. The function open makes
// it with the path of its lock file, which may not be there.
func RunPinner(t *testing.T, open func(t *testing.T, lock string) source.Source) {
	t.Run("a lock pins what there is", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "corpus.lock.json")
		before := open(t, path)
		if p := before.(source.Pinner); p.LockFile() != path || p.Unpinned() == "" {
			t.Errorf("without its lock file it says %q, and the file is %q", p.Unpinned(), p.LockFile())
		}
		checkInputs(t, before)
		docs := Read(t, before)
		raw := lock(t, before)
		if _, err := os.Stat(path); err == nil {
			t.Error("locking wrote a file")
		}
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		pinned := open(t, path)
		if text := pinned.(source.Pinner).Unpinned(); text != "" {
			t.Errorf("with its lock file it says %q", text)
		}
		checkInputs(t, pinned)
		if inputs, err := pinned.Inputs(t.Context()); err != nil || !slices.Contains(inputs, path) {
			t.Errorf("inputs %v lack the lock file: %v", inputs, err)
		}
		if got := Read(t, pinned); !reflect.DeepEqual(got, docs) {
			t.Errorf("pinned, it gave\n%v\nand before\n%v", got, docs)
		}
	})
	t.Run("a lock is the same for the same content", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "corpus.lock.json")
		first, second := lock(t, open(t, path)), lock(t, open(t, path))
		if !bytes.Equal(first, second) || !bytes.HasSuffix(first, []byte("\n")) {
			t.Errorf("two locks:\n%s\n%s", first, second)
		}
	})
}

func lock(t *testing.T, s source.Source) []byte {
	t.Helper()
	raw, err := s.(source.Pinner).Lock(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
