// Package revision reads files as they were in a commit, with the git program.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// ErrNoGit says that there is no git program.
var ErrNoGit = errors.New("the git program is not there, which reads files of earlier commits")

// Split takes COMMIT:PATH apart, and reports false for anything else. A single
// letter before the colon is a drive.
func Split(name string) (commit, file string, ok bool) {
	commit, file, ok = strings.Cut(name, ":")
	if !ok || len(commit) < 2 || file == "" {
		return "", "", false
	}
	return commit, file, true
}

// Read returns a file as it was in a commit. The path is relative to the folder.
func Read(ctx context.Context, folder, commit, file string) ([]byte, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, ErrNoGit
	}
	if strings.HasPrefix(commit, "-") || filepath.IsAbs(file) {
		return nil, fmt.Errorf("read %s of commit %s: give a commit, a colon and a path relative to this folder", file, commit)
	}
	cmd := exec.CommandContext(ctx, git, "cat-file", "blob", commit+":./"+path.Clean(filepath.ToSlash(file)))
	cmd.Dir = folder
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if text := strings.TrimSpace(problem.String()); text != "" {
			return nil, fmt.Errorf("read %s of commit %s: %s", file, commit, text)
		}
		return nil, fmt.Errorf("read %s of commit %s: %w", file, commit, err)
	}
	return out.Bytes(), nil
}
