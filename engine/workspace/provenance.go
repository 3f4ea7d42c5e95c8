package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"raglab/internal/report"
)

// provenance adds to what the pipeline knows of a report's origin: assets as they
// are pinned or were fetched, lock files, and what no lock pins.
func (s *Session) provenance(p report.Provenance) (report.Provenance, error) {
	for _, name := range s.Pipeline.Assets {
		text := name
		if a, err := s.assets.find(name); err == nil && a.Version != "" {
			text += " " + a.Version
		}
		if digest, err := s.assets.Digest(name); err == nil {
			text += ", SHA-256 " + digest
		}
		p.Assets = append(p.Assets, text)
	}
	paths := []string{modelsLockPath(s.Experiment)}
	for _, pin := range s.Pipeline.Pins {
		if pin.LockFile() != "" {
			paths = append(paths, pin.LockFile())
		}
	}
	for _, path := range paths {
		sum, err := sumFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, fmt.Errorf("read lock: %w", err)
		}
		p.Locks = append(p.Locks, filepath.Base(path)+", SHA-256 "+sum)
	}
	p.Unpinned = s.Unpinned()
	return p, nil
}
