//go:build unix

package private

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// layout is where a server's folders are.
type layout struct {
	account account
	// home is ours: it holds data and run, which are the account's, and conf and
	// copied programs, which the account only reads.
	home string
	// programs is the folder with bin, lib and share that the account can reach.
	programs string
}

func (l layout) data() string               { return filepath.Join(l.home, "data") }
func (l layout) conf(name string) string    { return filepath.Join(l.home, "conf", name) }
func (l layout) program(name string) string { return filepath.Join(l.programs, "bin", name) }

// makeDir makes the folder that all processes share. Root's must be passable for
// the account that owns the folder in it.
func (c Config) makeDir() error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return os.Chmod(c.Dir, 0o711)
	}
	return nil
}

// makeLayout makes the folders of the server, and copies the programs to where
// their account can reach them.
func (c Config) makeLayout() (layout, error) {
	a, err := findAccount(c.Account)
	if err != nil {
		return layout{}, err
	}
	l := layout{account: a, programs: c.Programs}
	if l.home, err = c.makeHome(a); err != nil {
		return layout{}, fmt.Errorf("make the folder of the private Postgres: %w", err)
	}
	if !a.reaches(filepath.Join(c.Programs, "bin")) {
		if l.programs, err = c.copyPrograms(l); err != nil {
			return layout{}, fmt.Errorf("copy the programs of the private Postgres: %w", err)
		}
	}
	return l, nil
}

// makeHome makes the folder of the server in Dir, or in AccountDir with a link in
// Dir.
func (c Config) makeHome(a account) (string, error) {
	link := c.home()
	if a.reaches(c.Dir) {
		return link, a.passable(link)
	}
	if err := os.MkdirAll(c.AccountDir, 0o711); err != nil {
		return "", err
	}
	home := c.accountHome()
	if err := a.passable(home); err != nil {
		return "", err
	}
	if to, err := os.Readlink(link); err == nil && to == home {
		return home, nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return home, os.Symlink(home, link)
}

// accountHome names the folder below AccountDir that stands for Dir.
func (c Config) accountHome() string {
	sum := sha256.Sum256([]byte(c.Dir))
	return filepath.Join(c.AccountDir, "postgres-"+hex.EncodeToString(sum[:4]))
}

// copyPrograms returns the programs' folder in a copy of the tree in the server's
// folder, made when it is not there yet. The copy is named by where it came from,
// which names a version.
func (c Config) copyPrograms(l layout) (string, error) {
	sum := sha256.Sum256([]byte(c.Tree))
	tree := filepath.Join(l.home, "programs-"+hex.EncodeToString(sum[:4]))
	rel, err := filepath.Rel(c.Tree, c.Programs)
	if err != nil {
		return "", err
	}
	programs := filepath.Join(tree, rel)
	if _, err := os.Stat(tree); err == nil {
		return programs, nil
	}
	temp := tree + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return "", err
	}
	if err := copyTree(temp, c.Tree); err != nil {
		return "", err
	}
	return programs, os.Rename(temp, tree)
}

// copyTree makes a copy of a folder, readable to all; of files that already are so
// it makes links where the file system allows.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return errors.Join(os.Mkdir(target, 0o755), os.Chmod(target, 0o755))
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		mode := 0o444 | info.Mode().Perm()&0o111
		if info.Mode().Perm() == mode && os.Link(path, target) == nil {
			return nil // the same file costs nothing, and nobody writes it
		}
		return copyFile(target, path, mode)
	})
}

func copyFile(to, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(mode), out.Close())
}

// maxSocketPath is the longest path of a socket that every system takes.
const maxSocketPath = 103

// socketDir makes a folder for the socket in the server's folder or, where that
// path is too long or the file system knows no sockets, in the folder for
// temporary files. False means that there is no place for a socket.
func (l layout) socketDir() (string, bool) {
	sum := sha256.Sum256([]byte(l.home))
	short := fmt.Sprintf("raglab-%d-%s", l.account.uid, hex.EncodeToString(sum[:4]))
	for _, dir := range []string{filepath.Join(l.home, "run"), filepath.Join(os.TempDir(), short)} {
		if len(socketPath(dir, socketPort)) > maxSocketPath || !l.account.reaches(filepath.Dir(dir)) {
			continue
		}
		if l.account.folder(dir) == nil && takesSockets(dir) {
			return dir, true
		}
	}
	return "", false
}

// takesSockets tells whether a socket can be made in a folder.
func takesSockets(dir string) bool {
	probe := filepath.Join(dir, "probe")
	os.Remove(probe)
	l, err := net.Listen("unix", probe)
	if err != nil {
		return false
	}
	return l.Close() == nil // which removes the file
}

// ensurePassword makes the password of the server's role unless there is one.
func (c Config) ensurePassword() (string, error) {
	if p, err := c.readPassword(); err == nil && p != "" {
		return p, nil
	}
	p := rand.Text()
	return p, replaceFile(c.passwordFile(), []byte(p+"\n"), 0o600)
}

// place finds where a server can listen, for all or hidden. A port that was free
// may be taken by another before the server has it.
func (c Config) place(l layout, password string, hidden bool) (Endpoint, error) {
	if dir, ok := l.socketDir(); ok && !c.NoSocket && userName(os.Geteuid()) != "" {
		port := uint16(socketPort)
		if hidden {
			port = hiddenPort
		}
		// The folder is this server's alone, and nothing of it is left: what is there
		// names a process that is dead, or by now another.
		for _, stale := range []string{socketPath(dir, port), socketPath(dir, port) + ".lock"} {
			if err := os.Remove(stale); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return Endpoint{}, err
			}
		}
		return Endpoint{Host: dir, Port: port}, nil
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return Endpoint{}, fmt.Errorf("find a port for the private Postgres: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return Endpoint{Host: "127.0.0.1", Port: uint16(port), Password: password}, listener.Close()
}
