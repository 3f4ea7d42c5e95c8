package assets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"raglab/internal/web"
)

// HuggingFace is a file of a Hugging Face model repository at a commit. The
// variables of Hugging Face's own tools are honoured: HF_ENDPOINT, HF_TOKEN (or
// HF_TOKEN_PATH), HF_HUB_CACHE, HF_HOME, HF_HUB_OFFLINE.
type HuggingFace struct {
	Repository, Commit, Path string
	// Blob is the git blob id of a file whose SHA-256 is not pinned, or empty.
	Blob string
}

func (p HuggingFace) String() string {
	return fmt.Sprintf("Hugging Face %s@%.12s %s", p.Repository, p.Commit, p.Path)
}

func (p HuggingFace) byHand() string {
	return fmt.Sprintf("the file %s of the Hugging Face repository %s at commit %s", p.Path, p.Repository, p.Commit)
}

func (p HuggingFace) fetch(ctx context.Context, j job) (obtained, error) {
	if p.Commit == "" {
		return obtained{}, errors.New("no commit is pinned: run raglab lock")
	}
	h := j.store.hub
	cached := p.cached(h)
	if _, err := os.Stat(cached); err == nil {
		if err := j.copyToPart(ctx, cached); err != nil {
			return obtained{}, err
		}
		return obtained{path: j.part, origin: p.String() + " (local cache)", check: contentID(p.Blob)}, nil
	}
	if h.offline {
		return obtained{}, fmt.Errorf("HF_HUB_OFFLINE is set and %s is not there", cached)
	}
	address := h.endpoint + "/" + p.Repository + "/resolve/" + p.Commit + "/" + p.Path
	id, err := j.download(ctx, remote{
		url: address, header: h.header(), place: p.String(),
		problem: func(a web.Answer) error { return h.statusError(p.Repository, a) },
	})
	if err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String(), check: contentID(cmp.Or(p.Blob, id))}, nil
}

// cached returns the file's place in the local Hugging Face cache.
func (p HuggingFace) cached(h hub) string {
	return filepath.Join(h.folder(p.Repository), "snapshots", p.Commit, filepath.FromSlash(p.Path))
}

// folder returns the place of a model repository in the local cache, and ref that of
// the file with the commit of a revision.
func (h hub) folder(repository string) string {
	return filepath.Join(h.cache, "models--"+strings.ReplaceAll(repository, "/", "--"))
}

func (h hub) ref(repository, revision string) string {
	return filepath.Join(h.folder(repository), "refs", filepath.FromSlash(revision))
}

// hub is how to reach the Hugging Face hub.
type hub struct {
	endpoint, token, cache string
	offline                bool
}

// newHub reads the settings as huggingface_hub does.
func newHub(getenv func(string) string) hub {
	home := getenv("HF_HOME")
	if home == "" {
		base := getenv("XDG_CACHE_HOME")
		if base == "" {
			base = filepath.Join(getenv("HOME"), ".cache")
		}
		home = filepath.Join(base, "huggingface")
	}
	h := hub{
		endpoint: strings.TrimRight(cmp.Or(getenv("HF_ENDPOINT"), "https://huggingface.co"), "/"),
		token:    strings.TrimSpace(cmp.Or(getenv("HF_TOKEN"), getenv("HUGGING_FACE_HUB_TOKEN"))),
		cache:    cmp.Or(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub")),
	}
	switch strings.ToUpper(getenv("HF_HUB_OFFLINE")) {
	case "1", "ON", "YES", "TRUE":
		h.offline = true
	}
	if h.token == "" {
		path := cmp.Or(getenv("HF_TOKEN_PATH"), filepath.Join(home, "token"))
		if data, err := os.ReadFile(path); err == nil {
			h.token = strings.TrimSpace(string(data))
		}
	}
	return h
}

func (h hub) header() http.Header {
	header := http.Header{}
	if h.token != "" {
		header.Set("Authorization", "Bearer "+h.token)
	}
	return header
}

// statusError says what an answer of the hub means, from its own error headers.
func (h hub) statusError(repository string, a web.Answer) error {
	err := a.Fail(strings.TrimSuffix(a.Header.Get("X-Error-Message"), "."))
	switch a.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if h.token == "" {
			return fmt.Errorf("%w; set HF_TOKEN to a token that may read %s", err, repository)
		}
		return fmt.Errorf("%w; the token in use may not read %s", err, repository)
	}
	return err
}
