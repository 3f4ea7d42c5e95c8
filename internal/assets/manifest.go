package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const manifestName = "asset.json"

// Manifest is the content of asset.json: what an asset's folder holds.
type Manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Licence string `json:"licence"`
	Files   []Held `json:"files"`
	// Absent names optional files that the repository turned out not to have.
	Absent []string `json:"absent,omitempty"`
}

// Held is one verified file of a manifest.
type Held struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Origin says where the file came from, without tokens and signatures.
	Origin string `json:"origin"`
}

// ReadManifest reads the manifest of an asset's folder. It returns an error that
// is [fs.ErrNotExist] when there is none.
func ReadManifest(dir string) (Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", filepath.Join(dir, manifestName), err)
	}
	return m, nil
}

// Digest returns one SHA-256, in hex, that names the content of all files of the
// manifest, whatever their origin.
func (m Manifest) Digest() string {
	lines := make([]string, len(m.Files))
	for i, f := range m.Files {
		lines[i] = f.SHA256 + "  " + f.Name + "\n"
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// held returns the record of a file, if the file is also there with that size.
func (m Manifest) held(dir string, f File) (Held, bool) {
	i := slices.IndexFunc(m.Files, func(h Held) bool { return h.Name == f.Name })
	if i < 0 || (f.SHA256 != "" && m.Files[i].SHA256 != f.SHA256) {
		return Held{}, false
	}
	info, err := os.Stat(filepath.Join(dir, f.Name))
	if err != nil || info.Size() != m.Files[i].Size {
		return Held{}, false
	}
	return m.Files[i], true
}

// set replaces or adds a record.
func (m *Manifest) set(h Held) {
	m.Files = slices.DeleteFunc(m.Files, func(old Held) bool { return old.Name == h.Name })
	m.Files = append(m.Files, h)
	slices.SortFunc(m.Files, func(a, b Held) int { return strings.Compare(a.Name, b.Name) })
}

func (m Manifest) write(dir string) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, manifestName), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// readManifest is ReadManifest, where no manifest or a damaged one is an empty
// one: its files are then verified again.
func (s *Store) readManifest(dir string, a Asset) Manifest {
	m, err := ReadManifest(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m = Manifest{}
	}
	m.Name, m.Version, m.Licence = a.Name, a.Version, a.Licence
	return m
}

// hashFile returns a file's size and SHA-256 in hex.
func hashFile(path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return 0, "", fmt.Errorf("read %s: %w", path, err)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}
