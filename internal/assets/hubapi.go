package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"raglab/internal/web"
)

// hubAPI asks a Hugging Face hub about repositories of one type.
type hubAPI struct {
	hub
	web *web.Client
	// models or datasets, as the API's addresses say.
	repositories string
}

// maxHubJSON bounds an answer of the hub's API; it lists a thousand files at once.
const maxHubJSON = 64 << 20

// maxPages bounds a list in pages.
const maxPages = 1000

// commit asks which commit a revision is.
func (h hubAPI) commit(ctx context.Context, repository, revision string) (string, error) {
	var info struct {
		SHA string `json:"sha"`
	}
	if _, err := h.json(ctx, repository, h.address(repository, "revision/"+url.PathEscape(revision)), &info); err != nil {
		return "", err
	}
	if !commitPattern.MatchString(info.SHA) {
		return "", fmt.Errorf("the hub names commit %q, which is not 40 hex digits", info.SHA)
	}
	return info.SHA, nil
}

// tree lists the files of a repository at a commit by path.
func (h hubAPI) tree(ctx context.Context, repository, commit string) (map[string]PinnedFile, error) {
	files := map[string]PinnedFile{}
	next := h.address(repository, "tree/"+commit+"?recursive=true&expand=false")
	for range maxPages {
		var page []struct {
			Type, Path, OID string
			Size            int64
			LFS             *struct {
				OID  string
				Size int64
			}
		}
		var err error
		if next, err = h.json(ctx, repository, next, &page); err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Type != "file" {
				continue
			}
			f := PinnedFile{Size: e.Size, Blob: e.OID}
			if e.LFS != nil {
				f.Size, f.SHA256 = e.LFS.Size, e.LFS.OID
			}
			files[e.Path] = f
		}
		if next == "" {
			return files, nil
		}
	}
	return nil, fmt.Errorf("the list of the files of %s has more than %d pages", repository, maxPages)
}

func (h hubAPI) address(repository, path string) string {
	return h.endpoint + "/api/" + h.repositories + "/" + repository + "/" + path
}

// json asks for one page and returns the address of the next, if there is one.
func (h hubAPI) json(ctx context.Context, repository, address string, out any) (next string, err error) {
	header := h.header()
	header.Set("Accept", "application/json")
	answer, err := h.web.Do(ctx, web.Request{
		URL: address, Header: header, Limit: maxHubJSON,
		Check: func(a web.Answer) error {
			if a.Code != http.StatusOK {
				return h.statusError(repository, a)
			}
			return nil
		},
	})
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return "", fmt.Errorf("read %s: %w", answer.URL, err)
	}
	return h.nextPage(address, answer.Header.Values("Link"))
}

// nextPage finds the page that a Link header calls the next, as in RFC 8288. It has
// to be on the hub: the token goes with the request.
func (h hubAPI) nextPage(address string, links []string) (string, error) {
	for _, link := range strings.Split(strings.Join(links, ","), ",") {
		target, params, ok := strings.Cut(strings.TrimSpace(link), ">")
		if !ok || !strings.HasPrefix(target, "<") || !strings.Contains(params, `rel="next"`) {
			continue
		}
		from, err := url.Parse(address)
		if err != nil {
			return "", err
		}
		to, err := from.Parse(target[1:])
		if err != nil || to.Scheme != from.Scheme || to.Host != from.Host {
			return "", fmt.Errorf("%s names a next page that is not on the hub", web.RedactURL(address))
		}
		return to.String(), nil
	}
	return "", nil
}

// Datasets reaches the datasets of a Hugging Face hub, which the variables that
// [HuggingFace] honours name. Its methods may be called from several goroutines.
type Datasets struct{ api hubAPI }

// NewDatasets reads the environment by getenv. It asks nothing of the network.
func NewDatasets(getenv func(string) string, client *web.Client) Datasets {
	return Datasets{hubAPI{hub: newHub(getenv), web: client, repositories: "datasets"}}
}

// Offline tells that HF_HUB_OFFLINE is set: only the local cache may be used.
func (d Datasets) Offline() bool { return d.api.offline }

// Secret is the token that is sent to the hub, or empty.
func (d Datasets) Secret() string { return d.api.token }

// Commit asks the hub which commit a revision is: a branch, a tag or a commit. A
// whole commit is taken as it is.
func (d Datasets) Commit(ctx context.Context, repository, revision string) (string, error) {
	switch {
	case commitPattern.MatchString(revision):
		return revision, nil
	case d.Offline():
		return "", fmt.Errorf("HF_HUB_OFFLINE is set, and %q is no commit of 40 hex digits", revision)
	}
	return d.api.commit(ctx, repository, revision)
}

// Tree lists the files of a dataset at a commit by path: as the hub does, or offline
// those that the local cache has, of which no digest is known.
func (d Datasets) Tree(ctx context.Context, repository, commit string) (map[string]PinnedFile, error) {
	if !d.Offline() {
		return d.api.tree(ctx, repository, commit)
	}
	root := d.snapshot(repository, commit)
	files := map[string]PinnedFile{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = PinnedFile{}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("HF_HUB_OFFLINE is set: look at the local cache: %w", err)
	}
	return files, nil
}

func (d Datasets) snapshot(repository, commit string) string {
	return filepath.Join(d.api.cache, "datasets--"+strings.ReplaceAll(repository, "/", "--"), "snapshots", commit)
}

// Cached returns where the local cache has a file, if it has it.
func (d Datasets) Cached(repository, commit, path string) (string, bool) {
	at := filepath.Join(d.snapshot(repository, commit), filepath.FromSlash(path))
	info, err := os.Stat(at)
	return at, err == nil && info.Mode().IsRegular()
}

// File describes the download of a file, without where it goes.
func (d Datasets) File(repository, commit, path string, pin PinnedFile) web.File {
	var escaped []string
	for part := range strings.SplitSeq(path, "/") {
		escaped = append(escaped, url.PathEscape(part))
	}
	return web.File{
		URL:    d.api.endpoint + "/datasets/" + repository + "/resolve/" + commit + "/" + strings.Join(escaped, "/"),
		Header: d.api.header(),
		Origin: fmt.Sprintf("Hugging Face dataset %s@%.12s %s", repository, commit, path),
		Size:   pin.Size, SHA256: pin.SHA256,
		Problem: func(a web.Answer) error { return d.api.statusError(repository, a) },
	}
}

// VerifyContent checks a file against an id that a server or a lock gave it: a
// SHA-256 (64 hex digits), the SHA-1 of a git blob (40), or, when it is empty,
// nothing. What does not fit is a [*web.MismatchError].
func VerifyContent(path, id string) error { return contentID(id).verify(path) }

// Guard takes a lock file for this caller alone, also against other goroutines of the
// process, and returns the function that gives it back. It waits until ctx ends.
func Guard(ctx context.Context, path string) (release func(), err error) {
	return acquire(ctx, path, func() {})
}

// Endpoint is the address of the hub.
func (d Datasets) Endpoint() string { return d.api.endpoint }
