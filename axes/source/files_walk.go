package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// walker goes through the folder of a corpus.
type walker struct {
	*files
	problems
	list   []found
	linked tally
}

func statFile(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return info, nil
}

// folder visits the folder of that name below the root.
func (w *walker) folder(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	at := filepath.Join(w.root, filepath.FromSlash(name))
	entries, err := os.ReadDir(at)
	if err != nil {
		w.add(unreadable(at, err))
		return nil
	}
	for _, entry := range entries {
		if err := w.entry(ctx, path.Join(name, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(ctx context.Context, name string, entry fs.DirEntry) error {
	if strings.HasPrefix(entry.Name(), ".") && !w.hidden || anyMatch(w.exclude, name) {
		return nil
	}
	at := filepath.Join(w.root, filepath.FromSlash(name))
	link := entry.Type()&fs.ModeSymlink != 0
	if entry.IsDir() {
		return w.folder(ctx, name)
	}
	if !link && !w.takes(name) {
		return nil
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		if w.takes(name) {
			w.add(unreadable(at, err))
		}
	case info.IsDir(): // behind a link
		w.linked.add(at)
	case !w.takes(name):
	case !info.Mode().IsRegular():
		w.add(&Error{Path: at, Problem: "is not a regular file", Hint: "leave it out with exclude"})
	case !utf8.ValidString(name):
		w.add(&Error{Path: at, Problem: fmt.Sprintf("the name %q is not valid UTF-8", name), Hint: "rename the file: its name is the document's id"})
	default:
		w.list = append(w.list, found{path: at, name: name, info: info})
	}
	return nil
}

// takes reports whether a file of that name belongs to the corpus.
func (w *walker) takes(name string) bool {
	if len(w.include) > 0 {
		return anyMatch(w.include, name)
	}
	_, known := formatOf(name)
	return known
}
