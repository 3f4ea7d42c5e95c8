package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadFile is [Read] of a file.
func ReadFile(path string, format Format, o ReadOptions) (set *Set, warnings []Problem, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read questions: %w", err)
	}
	return Read(path, string(text), format, o)
}

// Writable reports, before the work that makes its content, why a file cannot be
// written: it is there, and not to be overwritten. An empty path is no file.
func Writable(path string, overwrite bool) error {
	if path == "" || overwrite {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Save writes a file whole or not at all, and its folder when that is not there.
// A file that is there stays unless it may be overwritten.
func Save(path string, content []byte, overwrite bool) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(dir, ".golden-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if !overwrite {
		// A link, unlike a rename, does not replace a file that came meanwhile;
		// some file systems have none.
		err := os.Link(f.Name(), path)
		if err == nil {
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}
		if _, there := os.Lstat(path); there == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}
