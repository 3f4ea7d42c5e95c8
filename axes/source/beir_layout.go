package source

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Where a data set may keep its three files, most usual first.
func corpusNames() []string { return packed("corpus.jsonl", "docs.jsonl") }

func queryNames(split string) []string {
	return packed("queries."+split+".jsonl", "queries.jsonl")
}

func qrelNames(split string) []string {
	names := packed("qrels/"+split+".tsv", "qrels."+split+".tsv")
	if split == "test" {
		names = append(names, packed("qrels.tsv")...)
	}
	return names
}

// packed adds the names' compressed forms.
func packed(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, name, name+".gz", name+".zst")
	}
	return all
}

// dataset is a folder or an opened zip file.
type dataset struct {
	path   string
	name   string               // to speak of it by
	files  map[string]*zip.File // nil for a folder
	zip    *os.File
	before fs.FileInfo
}

func openDataset(path string) (*dataset, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if info.IsDir() {
		return &dataset{path: path, name: path}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		file.Close()
		return nil, &Error{Path: path, Problem: "neither a folder nor a zip file: " + err.Error(), Err: err}
	}
	return &dataset{path: path, name: path, files: members(z), zip: file, before: info}, nil
}

// members maps names to files, without the folder that all of them may be in.
func members(z *zip.Reader) map[string]*zip.File {
	top, first := "", true
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		dir, _, nested := strings.Cut(f.Name, "/")
		if !nested {
			dir = ""
		}
		if first {
			top, first = dir, false
		}
		if dir != top {
			top = ""
			break
		}
	}
	files := make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		name := f.Name
		if top != "" {
			name = strings.TrimPrefix(name, top+"/")
		}
		files[name] = f
	}
	return files
}

// Close reports whether a zip file changed since it was opened.
func (d *dataset) Close() error {
	if d.zip == nil {
		return nil
	}
	if err := d.zip.Close(); err != nil {
		return unreadable(d.path, err)
	}
	return unchanged(d.path, d.before)
}

// find returns the first of the names that is there.
func (d *dataset) find(names []string) (string, bool) {
	i := slices.IndexFunc(names, func(name string) bool {
		if d.files != nil {
			return d.files[name] != nil
		}
		info, err := os.Stat(filepath.Join(d.path, filepath.FromSlash(name)))
		return err == nil && !info.IsDir()
	})
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// inputs lists the local files behind the names, sorted: those that are there,
// or the zip file.
func (d *dataset) inputs(lists ...[]string) []string {
	if d.files != nil {
		return []string{d.path}
	}
	var paths []string
	for _, names := range lists {
		if name, ok := d.find(names); ok {
			paths = append(paths, filepath.Join(d.path, filepath.FromSlash(name)))
		}
	}
	slices.Sort(paths)
	return paths
}

// read hands the first of the names that is there to use, with the path to
// speak of it by. What is a word for the file, if none is there.
func (d *dataset) read(what string, names []string, use func(path string, r io.Reader) error) error {
	name, ok := d.find(names)
	if !ok {
		plain := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst")
		})
		return &Error{
			Path: d.name, Problem: fmt.Sprintf("no file with the %s", what),
			Hint: "looked for " + strings.Join(plain, ", ") + ", each also with .gz or .zst",
			Err:  fs.ErrNotExist,
		}
	}
	if d.files != nil {
		return d.readMember(name, use)
	}
	in, err := open(filepath.Join(d.path, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	return errors.Join(use(in.path, in), in.Close())
}

func (d *dataset) readMember(name string, use func(path string, r io.Reader) error) error {
	at := path.Join(filepath.ToSlash(d.name), name)
	file, err := d.files[name].Open()
	if err != nil {
		return unreadable(at, err)
	}
	defer file.Close()
	r, release, err := decompress(name, file)
	if err != nil {
		return unreadable(at, err)
	}
	defer release()
	return use(at, r)
}
