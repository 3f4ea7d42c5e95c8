package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"raglab/engine"
)

// Shown is what an apply showed and wrote last. While no result, no output file
// and not the program has changed, the next apply shows it again without reading
// a single result.
type Shown struct {
	// Key names everything that the text and the files were made from.
	Key  string `json:"key"`
	Text string `json:"text"`
	// Files are the outputs' files with the SHA-256 of their content.
	Files []ShownFile `json:"files"`
}

// ShownFile is an output's file as it was left.
type ShownFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

const shownState = "shown"

// Shown returns what the last apply showed, or nil when these outcomes may come
// to something else: a stage ran, and so may have measured something new, or a
// result or a file is another.
func (s *Session) Shown(out *engine.Outcomes) *Shown {
	if out.Executed > 0 || out.Verified > 0 {
		return nil
	}
	raw, err := s.state.Read(shownState)
	if err != nil {
		return nil
	}
	var shown Shown
	if json.Unmarshal(raw, &shown) != nil || shown.Key != s.shownKey(out) {
		return nil
	}
	paths := make([]string, len(shown.Files))
	for i, f := range shown.Files {
		paths[i] = f.Path
		if sum, err := sumFile(f.Path); err != nil || sum != f.SHA256 {
			return nil
		}
	}
	if !slices.Equal(paths, s.outputPaths()) {
		return nil
	}
	return &shown
}

// Remember keeps what an apply showed for [Session.Shown].
func (s *Session) Remember(out *engine.Outcomes, text string) error {
	shown := Shown{Key: s.shownKey(out), Text: text}
	for _, path := range s.outputPaths() {
		sum, err := sumFile(path)
		if err != nil {
			return fmt.Errorf("remember output: %w", err)
		}
		shown.Files = append(shown.Files, ShownFile{path, sum})
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return fmt.Errorf("remember results: %w", err)
	}
	return s.state.Replace(shownState, raw)
}

func (s *Session) outputPaths() []string {
	paths := make([]string, len(s.Outputs))
	for i, o := range s.Outputs {
		paths[i] = o.Path()
	}
	return paths
}

// shownKey names the results of all stages, the spec, and the program by its
// file's size and time.
func (s *Session) shownKey(out *engine.Outcomes) string {
	h := sha256.New()
	fmt.Fprintln(h, "shown 1", s.Version, s.Experiment.Digest)
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, k := range out.Keys {
		h.Write(k[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sumFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
