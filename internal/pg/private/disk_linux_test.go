package private_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// smallDisk mounts a file system in memory over a folder.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP-ROOT: mounting a small disk needs root")
	}
	if err := unix.Mount("raglab-test", dir, "tmpfs", 0, "mode=0711,size="+size); err != nil {
		t.Skipf("SKIP-ROOT: mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

func resize(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("raglab-test", dir, "tmpfs", unix.MS_REMOUNT, "mode=0711,size="+size); err != nil {
		t.Fatal(err)
	}
}

func TestDisk_fullIsSaidAndGotOver(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	disk := filepath.Dir(c.Dir)
	disk = filepath.Join(disk, filepath.Base(c.Dir)+"-disk")
	if err := os.Mkdir(disk, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(disk) })
	// Too small for anything, then for the data, then for a table.
	smallDisk(t, disk, "64k")
	c.Dir = filepath.Join(disk, "postgres")
	t.Cleanup(func() { private.Drop(context.Background(), c, true) })
	for _, size := range []string{"64k", "2m", "20m", "60m"} {
		resize(t, disk, size)
		if _, err := private.Acquire(t.Context(), c); !errors.Is(err, private.ErrDiskFull) {
			t.Errorf("on a disk of %s: %v", size, err)
		}
	}
	resize(t, disk, "200m")
	l := acquire(t, c)
	conn := connect(t, l)
	if _, err := conn.Exec(t.Context(), "create table kept as select 42 as n"); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Exec(t.Context(), "create table large as select repeat('x', 1000) from generate_series(1, 400000)")
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "53100" {
		t.Errorf("filling the disk: %v", err)
	}
	if got := query(t, l, "select n::text from kept"); got != "42" {
		t.Errorf("got %s", got)
	}
	if got := query(t, l, "select (sum(size) < 120000000)::text from pg_ls_dir('base') d, pg_ls_dir('base/' || d) f, pg_stat_file('base/' || d || '/' || f)"); got != "true" {
		t.Error("what did not fit was left on the disk")
	}
	if log, err := os.ReadFile(look(t, c).Log); err != nil || strings.Contains(string(log), "repeat(") {
		t.Error("statements are in the log", err)
	}
}
