package sourcetest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Hub answers as a Hugging Face hub does about its repositories, for HF_ENDPOINT to
// point at: which commit a revision is, the list of files, and the files, of which
// larger ones come by a redirect. It is safe for concurrent use.
type Hub struct {
	mu           sync.Mutex
	repositories map[string]*hubRepository // by "models/OWNER/NAME" or "datasets/OWNER/NAME"
	blobs        map[string][]byte
	asked        []string
}

type hubRepository struct {
	main    string                       // the newest commit
	commits map[string]map[string][]byte // files by path, by commit
}

// NewHub returns a hub without repositories.
func NewHub() *Hub {
	return &Hub{repositories: map[string]*hubRepository{}, blobs: map[string][]byte{}}
}

// Commit gives a repository of a type, models or datasets, a new commit with the
// files and returns its name.
func (h *Hub) Commit(sort, repository string, files map[string][]byte) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := sha1.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %s\n", path, sha256Hex(files[path]))
	}
	name := hex.EncodeToString(sum.Sum(nil))
	r := h.repositories[sort+"/"+repository]
	if r == nil {
		r = &hubRepository{commits: map[string]map[string][]byte{}}
		h.repositories[sort+"/"+repository] = r
	}
	r.main, r.commits[name] = name, maps.Clone(files)
	return name
}

// Asked returns the paths of the requests so far.
func (h *Hub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func gitBlob(b []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

// smallFile is up to how many bytes a file is kept in git itself.
const smallFile = 1 << 10

// ServeHTTP answers one request.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.URL.Path)
	path := strings.TrimPrefix(r.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, "api/"); ok {
		h.describe(w, r, rest)
		return
	}
	if sum, ok := strings.CutPrefix(path, "blobs/"); ok && h.blobs[sum] != nil {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.blobs[sum]))
		return
	}
	h.resolve(w, r, path)
}

// describe answers /api/SORT/OWNER/NAME/revision/… and …/tree/….
func (h *Hub) describe(w http.ResponseWriter, r *http.Request, path string) {
	name, what, _ := strings.Cut(path, "/revision/")
	tree := false
	if what == "" {
		name, what, tree = strings.Cut(path, "/tree/")
	}
	files, commit := h.find(name, what)
	switch {
	case files == nil:
		refuse(w, "RepoNotFound", "Repository or revision not found")
	case tree:
		list := []object{}
		for _, at := range slices.Sorted(maps.Keys(files)) {
			entry := object{"type": "file", "path": at, "oid": gitBlob(files[at]), "size": len(files[at])}
			if len(files[at]) > smallFile {
				entry["lfs"] = object{"oid": sha256Hex(files[at]), "size": len(files[at]), "pointerSize": 132}
			}
			list = append(list, entry)
		}
		writeJSON(w, r, list)
	default:
		writeJSON(w, r, object{"id": strings.TrimPrefix(name, "models/"), "sha": commit})
	}
}

func (h *Hub) find(name, revision string) (map[string][]byte, string) {
	r := h.repositories[name]
	if r == nil {
		return nil, ""
	}
	if revision == "main" {
		revision = r.main
	}
	return r.commits[revision], revision
}

// resolve answers [/datasets]/OWNER/NAME/resolve/REVISION/PATH.
func (h *Hub) resolve(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, ok := strings.Cut(path, "/resolve/")
	revision, at, _ := strings.Cut(rest, "/")
	if !strings.HasPrefix(name, "datasets/") {
		name = "models/" + name
	}
	files, commit := h.find(name, revision)
	content, there := files[at]
	if !ok || !there {
		refuse(w, "EntryNotFound", "Entry not found")
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	if len(content) <= smallFile {
		w.Header().Set("Etag", `"`+gitBlob(content)+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return
	}
	sum := sha256Hex(content)
	h.blobs[sum] = content
	w.Header().Set("X-Linked-Etag", `"`+sum+`"`)
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(content)))
	http.Redirect(w, r, "/blobs/"+sum+"?signature=SECRET", http.StatusFound)
}

func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("X-Error-Code", code)
	w.Header().Set("X-Error-Message", message)
	http.Error(w, message, http.StatusNotFound)
}
