package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// tableLock is what a lock file says of a table.
type tableLock struct {
	Source  string   `json:"source"`
	Table   string   `json:"table,omitempty"`
	Query   string   `json:"query,omitempty"`
	Columns []string `json:"columns"` // id, title, body and updated_at as the spec names them
	// Newest is the highest updated_at, as text.
	Newest    string `json:"newest,omitempty"`
	Documents int    `json:"documents"`
	// Bytes is that of [Locked].
	Bytes int64 `json:"bytes,omitempty"`
	// Rows maps ids to digests of title and body.
	Rows map[string]string `json:"rows"`

	// left are the rows that a reading has not met yet.
	left map[string]bool
}

// lockInputs lists the lock file as an input when it is there.
func lockInputs(path string) ([]string, error) {
	if !pinnedBy(path) {
		return nil, nil
	}
	return []string{path}, nil
}

// pinnedBy reports whether the lock file is there.
func pinnedBy(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// readJSONLock reads a lock file. It reports false when it is not there.
func readJSONLock(path string, lock any) (bool, error) {
	if path == "" {
		return false, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, unreadable(path, err)
	}
	if err := json.Unmarshal(raw, lock); err != nil {
		return false, &Error{Path: path, Problem: "is no lock file: " + err.Error(), Hint: "run raglab lock to write it anew", Err: err}
	}
	return true, nil
}

// writeJSONLock encodes a lock file: sorted, indented, with a line end.
func writeJSONLock(lock any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(lock); err != nil {
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return buf.Bytes(), nil
}

// rowDigest is the SHA-256 of a row's title and body; NULL is as good as empty.
func rowDigest(row tableRow) string {
	h := sha256.New()
	title, body := textOrEmpty(row.title), textOrEmpty(row.body)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(title)))
	h.Write(n[:])
	h.Write([]byte(title))
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

// fits reports whether the lock is of the same rows.
func (l *tableLock) fits(want *tableLock) bool {
	return l.Source == want.Source && l.Table == want.Table && l.Query == want.Query && slices.Equal(l.Columns, want.Columns)
}

// check holds a row against the lock; a nil lock lets everything pass.
func (l *tableLock) check(row tableRow) *Error {
	if l == nil || row.id == nil {
		return nil
	}
	digest, ok := l.Rows[*row.id]
	delete(l.left, *row.id)
	switch {
	case !ok:
		return &Error{Problem: fmt.Sprintf("the row with the id %q is not in the lock file", *row.id), Hint: relock}
	case digest != rowDigest(row):
		return &Error{Problem: fmt.Sprintf("the row with the id %q is not as it was when it was locked", *row.id), Hint: relock}
	}
	return nil
}

const relock = "run raglab lock to take the corpus as it is now"

// missing tells which rows of the lock no row was met for.
func (l *tableLock) missing() []*Error {
	if l == nil {
		return nil
	}
	var found []*Error
	for _, id := range slices.Sorted(maps.Keys(l.left)) {
		found = append(found, &Error{Problem: fmt.Sprintf("the row with the id %q is in the lock file, but there no longer", id), Hint: relock})
	}
	return found
}

// lockShape is a lock without rows.
func (s *postgres) lockShape() *tableLock {
	return &tableLock{
		Source: "postgres", Table: s.Table, Query: s.Query,
		Columns: []string{s.ID, s.Title, s.Body, s.UpdatedAt}, Rows: map[string]string{},
	}
}

// readLock reads the lock file, nil when there is none.
func (s *postgres) readLock() (*tableLock, error) {
	lock := &tableLock{}
	ok, err := readJSONLock(s.lock, lock)
	if err != nil || !ok {
		return nil, err
	}
	if !lock.fits(s.lockShape()) {
		return nil, &Error{Path: s.lock, Problem: "was written for another table, query or columns", Hint: "run raglab lock to write it anew"}
	}
	lock.left = make(map[string]bool, len(lock.Rows))
	for id := range lock.Rows {
		lock.left[id] = true
	}
	return lock, nil
}

// Lock implements [Pinner]. With updated_at and an earlier lock it reads ids, and the
// rows that may have changed since.
func (s *postgres) Lock(ctx context.Context, progress func(done, total int)) ([]byte, error) {
	r, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	k := &tableLocker{tableReader: r, lock: s.lockShape(), progress: progress}
	if err := k.run(ctx); err != nil {
		return nil, err
	}
	return writeJSONLock(k.lock)
}

// tableLocker reads what a lock says.
type tableLocker struct {
	*tableReader
	lock     *tableLock
	found    problems
	progress func(done, total int)
	total    int
}

func (k *tableLocker) run(ctx context.Context) error {
	if err := k.count(ctx); err != nil {
		return err
	}
	before := k.earlier()
	var err error
	if before == nil {
		err = k.rows(ctx, "", k.add)
	} else {
		err = k.refresh(ctx, before)
	}
	if err != nil {
		return err
	}
	if len(k.lock.Rows) == 0 && !k.found.any() {
		k.found.add(&Error{Path: k.s.name, Problem: "the table or query has no row"})
	}
	k.lock.Documents = len(k.lock.Rows)
	return k.found.err()
}

// count reads how many rows there are, how large, and which of them is the newest. The
// server knows how long a text is without unpacking it.
func (k *tableLocker) count(ctx context.Context) error {
	length := func(name string) string { return "coalesce(octet_length(" + asText(name) + "), 0)" }
	n, err := k.one(ctx, "count(*) || ' ' || coalesce(sum("+length(k.s.Title)+"::bigint + "+length(k.s.Body)+"), 0)")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(textOrEmpty(n), &k.total, &k.lock.Bytes); err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if k.s.UpdatedAt == "" {
		return nil
	}
	newest, err := k.one(ctx, "max("+column(k.s.UpdatedAt)+")")
	k.lock.Newest = textOrEmpty(newest)
	return err
}

// earlier returns the lock that there is, if it can be carried on.
func (k *tableLocker) earlier() *tableLock {
	if k.s.UpdatedAt == "" {
		return nil
	}
	// One that cannot be read is written anew.
	before, err := k.s.readLock()
	if err != nil || before == nil || before.Newest == "" {
		return nil
	}
	return before
}

// refresh reads the rows that may have changed since, and then which rows there are.
func (k *tableLocker) refresh(ctx context.Context, before *tableLock) error {
	changed := k.lock.Rows
	since := column(k.s.UpdatedAt) + " >= " + quoteLiteral(before.Newest) + " or " + column(k.s.UpdatedAt) + " is null"
	if err := k.rows(ctx, since, k.add); err != nil {
		return err
	}
	k.lock.Rows = make(map[string]string, k.total)
	var unknown []string
	err := k.ids(ctx, func(row tableRow) (bool, error) {
		if !k.admit(row) {
			return true, nil
		}
		digest, ok := changed[*row.id]
		if !ok {
			digest, ok = before.Rows[*row.id]
		}
		if !ok {
			unknown = append(unknown, *row.id)
		}
		k.lock.Rows[*row.id] = digest
		return true, nil
	})
	if err != nil || len(unknown) == 0 {
		return err
	}
	// Rows came in whose updated_at lies before rows that were locked: it does not
	// rise, and tells nothing.
	clear(k.lock.Rows)
	return k.rows(ctx, "", k.add)
}

// add takes a row into the lock.
func (k *tableLocker) add(row tableRow) (bool, error) {
	if k.admit(row) {
		k.lock.Rows[*row.id] = rowDigest(row)
	}
	return true, nil
}

// admit reports whether the row has an id of its own, and else what is wrong.
func (k *tableLocker) admit(row tableRow) bool {
	if k.progress != nil && row.n%rowsAtOnce == 0 {
		k.progress(row.n, k.total)
	}
	if row.id == nil {
		k.found.add(&Error{Path: k.s.name, Problem: fmt.Sprintf("row %d in the order of the ids has an id of NULL", row.n), Hint: "set id to a column that every row has"})
		return false
	}
	if _, twice := k.lock.Rows[*row.id]; twice {
		k.found.add(&Error{Path: k.s.name, Problem: fmt.Sprintf("two rows have the id %q", *row.id), Hint: "set id to a column that tells rows apart"})
		return false
	}
	return true
}
