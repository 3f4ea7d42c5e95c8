package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// program is a raglab that runs beside a test.
type program struct {
	cmd      *exec.Cmd
	out, err watched
	ended    chan struct{}
}

// watched is a buffer in which one can wait for a text.
type watched struct {
	changed chan struct{}
	buf     lockedBuffer
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return n, err
}

func (w *watched) String() string { return w.buf.String() }

func startProgram(work, dir string, args ...string) *program {
	return startProgramIn(environ(work), dir, args...)
}

// startProgramIn is startProgram in an environment.
func startProgramIn(env []string, dir string, args ...string) *program {
	path, err := exec.LookPath(args[0])
	if err != nil {
		path = args[0] // Start will say so
	}
	p := &program{cmd: exec.Command(path, args[1:]...), ended: make(chan struct{})}
	p.out.changed, p.err.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	p.cmd.Dir, p.cmd.Env = dir, env
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		_, _ = p.err.Write([]byte(err.Error()))
		close(p.ended)
		return p
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the code is in ProcessState
	}()
	return p
}

// await waits until standard error holds a text, awaitOut until standard output
// does.
func (p *program) await(text string) error    { return p.awaitIn(&p.err, text) }
func (p *program) awaitOut(text string) error { return p.awaitIn(&p.out, text) }

func (p *program) awaitIn(w *watched, text string) error {
	deadline := time.After(30 * time.Second)
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.changed:
		case <-p.ended:
			if !strings.Contains(w.String(), text) {
				return fmt.Errorf("ended without saying %q:\n%s", text, w.String())
			}
		case <-deadline:
			return fmt.Errorf("does not say %q:\n%s", text, w.String())
		}
	}
	return nil
}

// wait returns the exit code, -1 of a program that a signal ended.
func (p *program) wait() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// lockedBuffer may be written and read at the same time.
type lockedBuffer struct {
	locked
	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}
