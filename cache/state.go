package cache

import (
	"context"
	"errors"
	"fmt"
)

// writeLockName is the file in a folder that those who change its contents take turns with.
const writeLockName = ".write.lock"

// State is the small named files of one experiment: what is worth remembering between runs and
// can be lost. Each is replaced in one step and carries a checksum. Safe for concurrent use.
type State struct {
	l          *Local
	experiment string
}

// State is the state of an experiment; nothing is made before something is written.
func (l *Local) State(experiment string) *State { return &State{l: l, experiment: experiment} }

func (s *State) rel(name string) (dir, rel string, err error) {
	folder, err := escapeName(s.experiment)
	if err != nil {
		return "", "", err
	}
	file, err := escapeName(name)
	if err != nil {
		return "", "", err
	}
	dir = stateDir + "/" + folder
	return dir, dir + "/" + file, nil
}

// Read is the content of a file. ErrNotFound when it was never written, or is damaged (and then a
// *CorruptError as well).
func (s *State) Read(name string) ([]byte, error) {
	_, rel, err := s.rel(name)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	b, err := s.l.readSealed(rel, "state", s.experiment+"/"+name)
	if err != nil {
		return nil, fmt.Errorf("read state %s of %s: %w", name, s.experiment, err)
	}
	return b, nil
}

// Replace writes a file, in place of what was there.
func (s *State) Replace(name string, b []byte) error {
	if s.l.opts.ReadOnly {
		return fmt.Errorf("replace state: %w", ErrReadOnly)
	}
	_, rel, err := s.rel(name)
	if err == nil {
		err = s.l.writeFile(rel, seal(b), replace)
	}
	return s.l.explain("replace state "+name+" of "+s.experiment, err)
}

// Update replaces a file by what f makes of it; nobody else's Update of the experiment comes in
// between. The argument is nil when there is none, or a damaged one; an error of f changes nothing
// and is returned.
func (s *State) Update(ctx context.Context, name string, f func(old []byte) ([]byte, error)) error {
	if s.l.opts.ReadOnly {
		return fmt.Errorf("update state: %w", ErrReadOnly)
	}
	dir, _, err := s.rel(name)
	if err != nil {
		return fmt.Errorf("update state: %w", err)
	}
	lock, err := waitLock(ctx, s.l.path(dir+"/"+writeLockName), lockExclusive)
	if err != nil {
		return s.l.explain("update state of "+s.experiment, err)
	}
	defer lock.unlock()
	old, err := s.Read(name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	b, err := f(old)
	if err != nil {
		return err
	}
	return s.Replace(name, b)
}
