package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// screen is as much of a terminal as the live view uses: lines, a cursor, and
// the sequences that move it up and erase.
type screen struct {
	lines    [][]rune
	row, col int
	height   int
	// scrolled counts lines that have left at the top.
	scrolled int
}

func newScreen(height int) *screen { return &screen{lines: [][]rune{nil}, height: height} }

// write takes what a program sends to the terminal.
func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	r := []rune(text)
	for i := 0; i < len(r); i++ {
		switch {
		case r[i] == '\r':
			s.col = 0
		case r[i] == '\n':
			s.newline()
		case r[i] == 0x1b:
			i += s.sequence(t, string(r[i:]))
		default:
			s.put(r[i])
		}
	}
}

func (s *screen) newline() {
	s.row++
	s.col = 0
	if s.row == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
	if len(s.lines)-s.scrolled > s.height {
		s.scrolled++
	}
}

func (s *screen) put(c rune) {
	line := s.lines[s.row]
	for len(line) <= s.col {
		line = append(line, ' ')
	}
	line[s.col] = c
	s.col++
	s.lines[s.row] = line
}

// sequence obeys an escape sequence and returns how many characters follow its
// first.
func (s *screen) sequence(t *testing.T, text string) int {
	t.Helper()
	end := strings.IndexFunc(text[2:], func(c rune) bool { return c >= '@' }) + 2
	argument, letter := text[2:end], text[end]
	switch {
	case letter == 'A':
		n, err := strconv.Atoi(argument)
		if err != nil {
			t.Fatalf("sequence %q: %v", text[:end+1], err)
		}
		// What has scrolled away is out of reach.
		s.row = max(s.row-n, s.scrolled)
	case letter == 'K' && argument == "2":
		s.lines[s.row] = nil
	case letter == 'J' && argument == "":
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		s.lines = s.lines[:s.row+1]
	default:
		t.Fatalf("unknown sequence %q", text[:end+1])
	}
	return end
}

func (s *screen) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

// onTerminal runs a program with standard error on a terminal of a size, and
// returns what it sent there.
func onTerminal(t *testing.T, work string, width, height uint16, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer func() { _ = master.Close() }()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = work, environ(work)
	cmd.Stderr = slave
	var sent strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			sent.Write(buf[:n])
			if err != nil {
				return // the terminal hangs up when its last user is gone
			}
		}
	})
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if err := slave.Close(); err != nil {
		t.Error(err)
	}
	reading.Wait()
	return sent.String()
}

// TestApply_onTerminalOfNoSize draws for a terminal that does not tell its size.
func TestApply_onTerminalOfNoSize(t *testing.T) {
	t.Parallel()
	s := newScreen(1000)
	s.write(t, onTerminal(t, newRivers(t), 0, 0, "raglab", "apply", "rivers.hcl"))
	if got := s.String(); !strings.Contains(got, "━ 30/30 stages") {
		t.Errorf("it draws:\n%s", got)
	}
}

// TestApply_onTerminal draws a real apply and wants the tree, finished, and
// nothing of earlier drawings, in a high and in a low window.
func TestApply_onTerminal(t *testing.T) {
	t.Parallel()
	for _, height := range []uint16{40, 6} {
		t.Run(fmt.Sprintf("%d lines", height), func(t *testing.T) {
			t.Parallel()
			dir := newRivers(t)
			s := newScreen(int(height))
			sent := onTerminal(t, dir, 60, height, "raglab", "apply", "rivers.hcl")
			s.write(t, sent)
			got := s.String()
			if n := strings.Count(got, " stages, "); n != 1 {
				t.Errorf("the head stands there %d times:\n%s", n, got)
			}
			if n := strings.Count(got, " fetch "); n != 1 {
				t.Errorf("fetch stands there %d times:\n%s", n, got)
			}
			if !strings.Contains(got, "30/30 stages") || !strings.Contains(got, "Apply: 22 run, 8 cached.") {
				t.Errorf("it does not end with everything done:\n%s", got)
			}
			for _, line := range strings.Split(got, "\n") {
				if strings.ContainsAny(line, "━▶") && len([]rune(line)) > 60 {
					t.Errorf("wider than the terminal: %q", line)
				}
			}
			again := newScreen(int(height))
			again.write(t, onTerminal(t, dir, 60, height, "raglab", "apply", "rivers.hcl"))
			if got := again.String(); !strings.HasSuffix(got, "Nothing to do: all 30 stages are cached.\n\n\n") {
				t.Errorf("with nothing to do it draws:\n%s", got)
			}
			if strings.Contains(got, "▶") {
				t.Errorf("a stage is still shown running:\n%s", got)
			}
		})
	}
}
