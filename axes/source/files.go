package source

import (
	"context"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/internal/param"
)

// FilesParams are the parameters of the kind files.
type FilesParams struct {
	Path    string   `hcl:"path" path:"true" doc:"Folder of documents, or one file."`
	Include []string `hcl:"include" default:"" doc:"Patterns of the files to take, below the folder; none takes all with the endings .md, .markdown, .txt, .html and .htm."`
	Exclude []string `hcl:"exclude" default:"" doc:"Patterns of files and folders to leave out."`
	Hidden  bool     `hcl:"hidden" default:"false" doc:"Whether to take files and folders whose name begins with a dot."`
	Empty   string   `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
}

// Files is the kind of a folder of documents.
func Files() axes.Kind[Source] {
	return axes.Define(axes.Meta{
		Name:    "files",
		Version: "1",
		Summary: "Documents from a folder of Markdown, text and HTML files.",
		Doc: "A document's id is its path below the folder, with slashes and without the ending; the corpus order is " +
			"the byte order of the paths. Markdown may open with YAML front matter: title and id are taken from it, and its " +
			"other fields become metadata. A document's title is that of the front matter, else its first \"# \" heading. HTML " +
			"is reduced to text with Markdown headings. Files with other endings, if a pattern takes them, are plain text. " +
			"In a pattern * stands for any part of a name and ** for any number of folders; a pattern without a slash fits at any " +
			"depth. A symbolic link to a file is read as that file; one to a folder is not entered, save the path itself.",
	}, func(p FilesParams, _ axes.Env) (Source, error) {
		if p.Path == "" {
			return nil, param.Errorf("path", "is empty")
		}
		s := &files{root: p.Path, hidden: p.Hidden, empty: p.Empty}
		var err error
		if s.include, err = parseGlobs("include", p.Include); err != nil {
			return nil, err
		}
		s.exclude, err = parseGlobs("exclude", p.Exclude)
		return s, err
	})
}

type files struct {
	warnings
	root             string
	include, exclude []glob
	hidden           bool
	empty            string
}

// found is a file that belongs to the corpus.
type found struct {
	path string // to open it by
	name string // below the folder, with slashes
	info fs.FileInfo
}

func (s *files) Inputs(ctx context.Context) ([]string, error) {
	list, _, err := s.walk(ctx)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(list))
	for i, f := range list {
		paths[i] = f.path
	}
	slices.Sort(paths)
	return paths, nil
}

func (s *files) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		list, linked, err := s.walk(ctx)
		if err != nil {
			yield(axes.Document{}, err)
			return
		}
		g := newGate(s.empty, func(n int) string { return list[n].path })
		g.notes.linkedFolders = linked
		for n, f := range list {
			if err := context.Cause(ctx); err != nil {
				yield(axes.Document{}, err)
				return
			}
			doc, ok := readFile(f, g)
			if ok && g.admit(doc, n, f.path, 0) && !yield(doc, nil) {
				return
			}
		}
		if err := g.end(s.root, s.emptyHint()); err != nil {
			yield(axes.Document{}, err)
			return
		}
		s.setDocuments(g.notes.warnings())
	}
}

func (s *files) emptyHint() string {
	if len(s.include) > 0 {
		return "no file fits a pattern of include"
	}
	return "no file ends in " + strings.Join(slices.Sorted(maps.Keys(formats())), ", ")
}

// formats maps the endings that are taken without a pattern to formats.
func formats() map[string]string {
	return map[string]string{
		".md": formatMarkdown, ".markdown": formatMarkdown, ".txt": formatText, ".html": formatHTML, ".htm": formatHTML,
	}
}

// formatOf tells a file's format by its ending; known is false for one that is
// taken as text only because a pattern says so.
func formatOf(name string) (format string, known bool) {
	format, known = formats()[strings.ToLower(path.Ext(name))]
	if !known {
		format = formatText
	}
	return format, known
}

// walk lists the corpus's files in the byte order of their slash paths.
func (s *files) walk(ctx context.Context) ([]found, tally, error) {
	w := walker{files: s}
	info, err := statFile(s.root)
	if err != nil {
		return nil, tally{}, err
	}
	if !info.IsDir() {
		return []found{{path: s.root, name: filepath.Base(s.root), info: info}}, tally{}, nil
	}
	if err := w.folder(ctx, ""); err != nil {
		return nil, tally{}, err
	}
	if err := w.problems.err(); err != nil {
		return nil, tally{}, err
	}
	slices.SortFunc(w.list, func(a, b found) int { return strings.Compare(a.name, b.name) })
	return w.list, w.linked, nil
}
