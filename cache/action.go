package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// storedRecord is a record as found in its file.
type storedRecord struct {
	*Record
	info fs.FileInfo
}

// readRecord reads the record of k without marking it as used. fs.ErrNotExist when there is none;
// a *CorruptError, with the file set aside, when it does not decode or is another key's.
func (l *Local) readRecord(k Key) (storedRecord, error) {
	f, err := openRegular(l.path(recordRel(k)))
	if err != nil {
		return storedRecord{}, err
	}
	defer f.Close()
	r, err := decodeFile(f, k)
	var damage *CorruptError
	if errors.As(err, &damage) {
		l.setAside(r.info, damage)
	}
	return r, err
}

// peekRecord is readRecord that leaves what it finds where it is.
func (l *Local) peekRecord(k Key) (storedRecord, error) {
	f, err := openRegular(l.path(recordRel(k)))
	if err != nil {
		return storedRecord{}, err
	}
	defer f.Close()
	return decodeFile(f, k)
}

func decodeFile(f *os.File, k Key) (storedRecord, error) {
	info, err := f.Stat()
	if err != nil {
		return storedRecord{}, err
	}
	found := storedRecord{info: info}
	damage := &CorruptError{What: "record", Name: k.String(), Path: f.Name()}
	if info.Size() > maxRecordBytes {
		damage.Detail = fmt.Sprintf("it has %d bytes", info.Size())
		return found, damage
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return storedRecord{}, err
	}
	found.Record, err = DecodeRecord(k, b[:n])
	if err != nil {
		damage.Detail = err.Error()
		return found, damage
	}
	return found, nil
}

// Get reads the record of an action. It is marked as used before it is returned, and so before
// anybody looks at its outputs: from then on collection sees it as used by this session.
func (l *Local) Get(ctx context.Context, k Key) (*Record, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("get record %s: %w", k.Short(), err)
	}
	r, err := l.readRecord(k)
	there := err == nil
	if there {
		there, err = l.markUsed(recordRel(k), r.info)
	}
	var damage *CorruptError
	switch {
	case errors.As(err, &damage):
		return nil, fmt.Errorf("get record %s: %w: %w", k.Short(), ErrNotFound, err)
	case errors.Is(err, fs.ErrNotExist), err == nil && !there:
		return nil, fmt.Errorf("get record %s: %w", k, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("get record %s: %w", k.Short(), err)
	}
	return r.Record, nil
}

// Put stores a record unless one is there that holds. The record's own name is durable at the
// latest when the next record is stored or the store is closed: a power cut in between costs the
// work again, and nothing else.
func (l *Local) Put(ctx context.Context, r *Record) (*Record, error) {
	if l.opts.ReadOnly {
		return nil, fmt.Errorf("put record: %w", ErrReadOnly)
	}
	b, err := EncodeRecord(r)
	if err != nil {
		return nil, fmt.Errorf("put record: %w", err)
	}
	missing, err := l.keepOutputs(r)
	if err == nil && missing.Name != "" {
		err = &OutputMissingError{Key: r.Key, Output: missing}
	}
	if err == nil {
		r, err = l.putFirst(ctx, r, b)
	}
	if err != nil {
		return nil, l.explain("put record", err)
	}
	return r, nil
}

func (l *Local) putFirst(ctx context.Context, r *Record, b []byte) (*Record, error) {
	for range placeAttempts {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		earlier, err := l.standing(r.Key)
		if err != nil || earlier != nil {
			return earlier, err
		}
		err = l.placeRecord(r, b)
		if !errors.Is(err, fs.ErrExist) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s is in the way and cannot be set aside", l.path(recordRel(r.Key)))
}

// standing is the record that holds the key now: it decodes and its outputs are there. One that
// does not hold is removed; nil when there is room.
func (l *Local) standing(k Key) (*Record, error) {
	earlier, err := l.readRecord(k)
	var damage *CorruptError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rel := recordRel(k)
	there, err := l.markUsed(rel, earlier.info)
	if err != nil || !there {
		return nil, err
	}
	missing, err := l.keepOutputs(earlier.Record)
	if err != nil {
		return nil, err
	}
	if missing.Name == "" {
		return earlier.Record, nil
	}
	return nil, l.removeEntry(rel, func(now fs.FileInfo) bool { return os.SameFile(now, earlier.info) })
}

// keepOutputs marks all outputs of r as used, or says which is not there.
func (l *Local) keepOutputs(r *Record) (missing Blob, err error) {
	for _, b := range r.Outputs {
		there, err := l.keepBlob(b)
		if err != nil || !there {
			return b, err
		}
	}
	return Blob{}, nil
}

// placeRecord writes the record last: the names of its outputs, and with them the names of
// records before it, are durable when it takes its own.
func (l *Local) placeRecord(r *Record, b []byte) (err error) {
	rel := recordRel(r.Key)
	d, err := l.newDraft(relDir(rel))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.discard()) }()
	if _, err := d.Write(b); err != nil {
		return err
	}
	folders := []string{casDir, acDir, ""}
	for _, out := range r.Outputs {
		folders = append(folders, relDir(blobRel(out.Digest)))
	}
	synced := make(chan error, 1)
	go func() { synced <- l.dirs.flush(slices.Concat(folders, l.dirs.under(acDir))...) }()
	if err := errors.Join(d.finish(), <-synced); err != nil {
		return err
	}
	return d.place(rel, keepFirst)
}

// Delete removes the record of an action.
func (l *Local) Delete(ctx context.Context, k Key) error {
	if l.opts.ReadOnly {
		return fmt.Errorf("delete record: %w", ErrReadOnly)
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("delete record %s: %w", k.Short(), err)
	}
	err := l.removeEntry(recordRel(k), func(fs.FileInfo) bool { return true })
	return l.explain("delete record "+k.Short(), err)
}

// removeEntry removes a file if it is there and, looked at again under its folder's lock, still
// the one meant. Removers and those who renew times exclude each other; nobody else waits.
func (l *Local) removeEntry(rel string, meant func(fs.FileInfo) bool) error {
	if _, err := os.Lstat(l.path(rel)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lk, err := l.lockFolder(relDir(rel), lockExclusive)
	if err != nil {
		return err
	}
	defer lk.unlock()
	info, err := os.Lstat(l.path(rel))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !meant(info) {
		return nil
	}
	if err == nil {
		err = l.failpoint(StepRemove, rel)
	}
	if err == nil {
		err = os.Remove(l.path(rel))
	}
	return err
}

// Keys lists the keys that have a record and begin with the hexadecimal digits of prefix, in
// order. It is how a short key that a person typed becomes a whole one. Records are not read.
func (l *Local) Keys(ctx context.Context, prefix string) ([]Key, error) {
	prefix = strings.ToLower(prefix)
	var keys []Key
	err := l.eachEntry(ctx, acDir, prefix, func(name string) error {
		k, err := ParseKey(name)
		keys = append(keys, k)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// eachEntry calls f with the name of every entry of cas or ac that begins with prefix, in order.
// Locks, drafts and what else is no hexadecimal name are passed over.
func (l *Local) eachEntry(ctx context.Context, dir, prefix string, f func(name string) error) error {
	shards, err := os.ReadDir(l.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, shard := range shards {
		name := shard.Name()
		if len(name) != 2 || !strings.HasPrefix(name, prefix[:min(2, len(prefix))]) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := l.eachInShard(dir+"/"+name, prefix, f); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) eachInShard(shard, prefix string, f func(name string) error) error {
	entries, err := os.ReadDir(l.path(shard))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if _, err := parseHex(e.Name()); err != nil || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if err := f(e.Name()); err != nil {
			return err
		}
	}
	return nil
}
