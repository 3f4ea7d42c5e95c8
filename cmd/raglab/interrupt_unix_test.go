//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestApply_interruptedTwice interrupts an apply with a stage that cannot end: it
// waits for a dictionary that became a pipe into which nobody writes. The first
// interrupt says what a second does, and the second does it.
func TestApply_interruptedTwice(t *testing.T) {
	t.Parallel()
	dir := newRivers(t)
	dictionary := filepath.Join(dir, "lemmas.tsv")
	writeFile(t, dictionary, "rivers\triver\n")
	edit(t, filepath.Join(dir, "rivers.hcl"), `axis "text" { use = ["simple", "prefix"] }`, `fixed "text" {
  option "lemma" { file = "lemmas.tsv" }
}`)
	release := leaseOf(t, dir, "chunk[whole]#000")
	p := startProgram(dir, dir, "raglab", "apply", "-progress", "plain", "rivers.hcl")
	if err := p.await("waiting for process"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dictionary); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dictionary, 0o644); err != nil {
		t.Fatal(err)
	}
	release()
	pipe, err := os.OpenFile(dictionary, os.O_WRONLY, 0) // once a stage reads it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pipe.Close() }() // nothing was written
	for _, says := range []string{stopping, ""} {
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := p.await(says); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.wait(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d:\n%s", code, exitInterrupted, p.err.String())
	}
	if n := strings.Count(p.err.String(), stopping); n != 1 {
		t.Errorf("it is told %d times:\n%s", n, p.err.String())
	}
	if strings.Contains(p.err.String(), "\nInterrupted. What was finished is kept") {
		t.Errorf("it ended by itself:\n%s", p.err.String())
	}
}
