package durable_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"raglab/internal/durable"
)

func TestSyncFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := durable.SyncFolder(dir); err != nil {
		t.Error(err)
	}
	if err := durable.SyncFolder(filepath.Join(dir, "none")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v for a folder that is not there", err)
	}
}
