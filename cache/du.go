package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Tally counts things and the bytes of their files.
type Tally struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Add counts one more thing of so many bytes.
func (t *Tally) Add(bytes int64) {
	t.Count++
	t.Bytes += bytes
}

// Usage says what a store holds. Bytes are lengths of files, not blocks of a disk.
type Usage struct {
	Blobs      Tally `json:"blobs"`
	Records    Tally `json:"records"`
	Memo       Tally `json:"memo"`       // segments
	Runs       Tally `json:"runs"`       // run logs
	States     Tally `json:"states"`     // state files and pins
	Quarantine Tally `json:"quarantine"` // damaged files kept for examination
	Drafts     Tally `json:"drafts"`     // files being written, or left by a killed process
}

// Total is everything together.
func (u Usage) Total() Tally {
	var sum Tally
	for _, t := range []Tally{u.Blobs, u.Records, u.Memo, u.Runs, u.States, u.Quarantine, u.Drafts} {
		sum.Count += t.Count
		sum.Bytes += t.Bytes
	}
	return sum
}

// Du counts what the store holds. It writes nothing and takes no lock; what comes and goes
// meanwhile may or may not be counted.
func (l *Local) Du(ctx context.Context) (Usage, error) {
	var u Usage
	err := filepath.WalkDir(l.dir, func(path string, e fs.DirEntry, err error) error {
		if ctxErr := context.Cause(ctx); ctxErr != nil {
			return ctxErr
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.dir, path)
		if err != nil {
			return err
		}
		t := u.tally(filepath.ToSlash(rel), e.Name())
		info, err := e.Info()
		if t == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			t.Add(info.Size())
		}
		return err
	})
	if err != nil {
		return Usage{}, fmt.Errorf("measure cache: %w", err)
	}
	return u, nil
}

// tally is where a file counts; nil for locks and for what is none of the store's.
func (u *Usage) tally(rel, name string) *Tally {
	dir, _, _ := strings.Cut(rel, "/")
	_, notHex := parseHex(name)
	switch {
	case isDraft(name):
		return &u.Drafts
	case strings.HasPrefix(name, "."):
		return nil
	case dir == casDir && notHex == nil:
		return &u.Blobs
	case dir == acDir && notHex == nil:
		return &u.Records
	case dir == memoDir && strings.HasSuffix(name, segmentExt):
		return &u.Memo
	case dir == runDir:
		return &u.Runs
	case dir == stateDir, dir == pinDir:
		return &u.States
	case dir == quarantineDir:
		return &u.Quarantine
	}
	return nil
}
