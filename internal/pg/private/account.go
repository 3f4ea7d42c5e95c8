//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who runs the Postgres programs.
type account struct {
	name     string
	uid, gid int
	// switched says that it is another than the process's own.
	switched bool
}

// findAccount returns the process's own account or, for root, the first of the
// wanted ones that exists.
func findAccount(wanted string) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: userName(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	names := []string{"postgres", "nobody"}
	if wanted != "" {
		names = []string{wanted}
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{name: name, uid: uid, gid: gid, switched: true}, nil
		}
	}
	return account{}, fmt.Errorf("postgres refuses to run as root, and there is no account %q to run it as: "+
		"run raglab as an ordinary user, or make an account with useradd --system postgres", names)
}

// userName returns the name that the system, and so peer authentication, has for
// a user; empty when it has none.
func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return ""
	}
	return u.Username
}

// credential returns what makes a child run as the account; nil is no change.
func (a account) credential() *syscall.Credential {
	if !a.switched {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// own gives a file or folder to the account.
func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// folder makes sure that path is a folder of the account's alone.
func (a account) folder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if int(owner) != a.uid && int(owner) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d", path, owner)
	}
	if err := a.own(path); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// passable makes sure that path is a folder of ours in which the account finds
// its own. What root writes lies in such folders only: in a folder of the account's
// a link could lead it elsewhere.
func (a account) passable(path string) error {
	mode := fs.FileMode(0o700)
	if a.switched {
		mode = 0o711
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of user %d", path, os.Geteuid())
	}
	return os.Chmod(path, mode)
}

// reaches tells whether the account may search every folder on the way to path,
// path included. Access lists beyond the mode are not looked at: at worst a folder
// that the account could have reached is not used.
func (a account) reaches(path string) bool {
	if !a.switched {
		return true
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(path)
		if err != nil || !a.searches(info) {
			return false
		}
		parent := filepath.Dir(path)
		if parent == path {
			return true
		}
		path = parent
	}
}

// searches tells whether the account may pass a folder.
func (a account) searches(info fs.FileInfo) bool {
	stat := info.Sys().(*syscall.Stat_t)
	bit := fs.FileMode(0o001)
	switch {
	case int(stat.Uid) == a.uid:
		bit = 0o100
	case int(stat.Gid) == a.gid:
		bit = 0o010
	}
	return info.Mode().Perm()&bit != 0
}
