package assets

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"raglab/internal/durable"
)

// maxMember bounds one unpacked file: a zip may claim a size that would fill the
// disk.
const maxMember = 1 << 30

// Unpack returns the folder name in an asset's folder, unpacked from the zip file
// archive there if it is not there yet. Keep chooses the members; their
// executable bit is kept, and what is unpacked is read-only. The name must contain
// a version of the choice. As with [Derive], however many goroutines and processes
// ask, it is made once, and a crash leaves nothing under the name.
func Unpack(ctx context.Context, dir, name, archive string, keep func(member string) bool) (string, error) {
	path := filepath.Join(dir, name)
	err := makeOnce(ctx, path, func() error { return unpackAtomic(ctx, path, filepath.Join(dir, archive), keep) })
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", archive, err)
	}
	return path, nil
}

// unpackAtomic makes the folder at path: members go to a temporary folder beside
// it, which is renamed when all are synced.
func unpackAtomic(ctx context.Context, path, archive string, keep func(string) bool) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	temp, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // fails, as it should, once the folder is renamed
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	kept := 0
	for _, m := range z.File {
		if m.FileInfo().IsDir() || !keep(m.Name) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := unpackMember(m, temp); err != nil {
			return fmt.Errorf("member %s: %w", m.Name, err)
		}
		kept++
	}
	if kept == 0 {
		return errors.New("it has none of the expected members")
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return durable.SyncFolder(filepath.Dir(path))
}

// unpackMember writes one member below dir.
func unpackMember(m *zip.File, dir string) error {
	if !fs.ValidPath(m.Name) || !filepath.IsLocal(filepath.FromSlash(m.Name)) {
		return errors.New("its name leads out of the folder")
	}
	if !m.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file (%v)", m.Mode())
	}
	path := filepath.Join(dir, filepath.FromSlash(m.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	in, err := m.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxMember+1)) // the zip reader checks its CRC
	if err == nil && n > maxMember {
		err = errors.New("it is larger than 1 GiB")
	}
	if err == nil {
		err = out.Chmod(0o444 | m.Mode()&0o111)
	}
	if err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}
