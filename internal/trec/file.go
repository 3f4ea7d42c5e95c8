package trec

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// ReadRun reads a run file, see [ParseRun].
func ReadRun(path string) (*Run, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return ParseRun(path, text)
}

// ReadQrels reads a file of judgements, see [ParseQrels].
func ReadQrels(path string) (*Qrels, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read qrels: %w", err)
	}
	return ParseQrels(path, text)
}

// readFile reads a file into a string without holding it twice.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(info.Size()))
	}
	// Larger pieces than io.Copy takes by itself; the file must not offer to
	// write itself.
	_, err = io.CopyBuffer(&b, struct{ io.Reader }{f}, make([]byte, 1<<18))
	return b.String(), err
}
