package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"raglab/internal/durable"
)

// File is one file on a server and where it goes.
type File struct {
	URL    string
	Header http.Header
	// Path is where the file goes. Its folder is made.
	Path string
	// Origin names the content in the record of an unfinished download, which goes
	// on only where it is the same; empty is the address, redacted.
	Origin string
	// Size and SHA256 (lower-case hex) are checked where they are known.
	Size   int64
	SHA256 string
	// Limit bounds a file whose size is not known; 0 is no bound.
	Limit int64
	// Problem makes the error of a status that is not the file; nil is
	// [Answer.Err]. The answer's body is cut after some kilobytes.
	Problem func(Answer) error
	// Progress, where set, is told how many bytes are there, and of how many, 0
	// while that is not known.
	Progress func(done, total int64)
}

// Got is a downloaded file.
type Got struct {
	Size   int64
	SHA256 string
	// ID is what the server calls the content, a strong ETag, or empty.
	ID string
}

// Download gets a file. What has its final name is whole, has the size and digest
// asked for, and is synced to disk; until then it is Path.part, with its origin in
// Path.part.json, from where a later call goes on. A file that is at Path already
// is replaced. Calls for one path must not overlap, in whichever process.
func (c *Client) Download(ctx context.Context, f File) (Got, error) {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return Got{}, err
	}
	final := f.Path
	f.Path += ".part"
	id, err := c.Part(ctx, f)
	if err != nil {
		return Got{}, err
	}
	got, err := verify(f)
	if err != nil {
		Discard(f.Path) // what is damaged must not be resumed
		return Got{}, fmt.Errorf("%s: %w", RedactURL(f.URL), err)
	}
	got.ID = id
	if err := os.Rename(f.Path, final); err != nil {
		return Got{}, err
	}
	Discard(f.Path)
	return got, durable.SyncFolder(filepath.Dir(final))
}

// verify checks and syncs a complete file.
func verify(f File) (Got, error) {
	file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
	if err != nil {
		return Got{}, err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, file)
	if err != nil {
		return Got{}, err
	}
	got := Got{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}
	switch {
	case f.Size > 0 && n != f.Size:
		return got, sizeMismatch(n, f.Size)
	case f.SHA256 != "" && got.SHA256 != f.SHA256:
		return got, &MismatchError{"SHA-256", got.SHA256, f.SHA256}
	}
	return got, file.Sync()
}

func sizeMismatch(got, want int64) error {
	return &MismatchError{"size", fmt.Sprintf("%d bytes", got), fmt.Sprintf("%d bytes", want)}
}

// Part gets a file as it is, to exactly Path, going on where an earlier call for
// the same content stopped; its record is Path.json. Nothing is verified but the
// lengths that the server and the caller said. It returns what the server calls
// the content. Most callers want [Client.Download].
func (c *Client) Part(ctx context.Context, f File) (string, error) {
	id := ""
	err := c.retry(ctx, func() (bool, error) {
		before := fileSize(f.Path)
		var err error
		id, err = c.transfer(ctx, f)
		return fileSize(f.Path) > before, err
	})
	return id, err
}

// Discard removes an unfinished or damaged file and the record of its origin.
func Discard(part string) {
	os.Remove(part)
	os.Remove(part + ".json")
}

// record is the content of PART.json: what an unfinished download is of.
type record struct {
	Place string `json:"place"`
	// ID names the content on the server; a part without one is not resumed.
	ID string `json:"id"`
}

func (f File) origin() string {
	if f.Origin != "" {
		return f.Origin
	}
	return RedactURL(f.URL)
}

// unfinished returns the record and length of a part that may be gone on with.
func (f File) unfinished() (record, int64) {
	var r record
	data, err := os.ReadFile(f.Path + ".json")
	if err != nil || json.Unmarshal(data, &r) != nil || r.Place != f.origin() || r.ID == "" {
		return record{}, 0
	}
	return r, fileSize(f.Path)
}

// begin writes the record of a download and empties the part where it starts anew.
func (f File) begin(id string, offset int64) error {
	data, err := json.Marshal(record{Place: f.origin(), ID: id})
	if err != nil {
		return err
	}
	if offset == 0 {
		Discard(f.Path)
	}
	return os.WriteFile(f.Path+".json", data, 0o666)
}

// transfer makes one try.
func (c *Client) transfer(ctx context.Context, f File) (string, error) {
	ctx, s, done := c.watch(ctx)
	defer done()
	r, offset := f.unfinished()
	header := f.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept-Encoding", "identity") // ranges count the bytes of the file
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, id, err := c.follow(ctx, Request{URL: f.URL, Header: header})
	if err != nil {
		return "", stalled(ctx, f.URL, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		offset = 0
	case resp.StatusCode == http.StatusPartialContent && offset > 0 && id == r.ID && startsAt(resp, offset):
	case offset > 0 && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		Discard(f.Path) // the content changed, or the part is too long: begin again
		return "", Temporary(fmt.Errorf("the file changed on %s", RedactURL(f.URL)), 0)
	default:
		return "", c.refused(ctx, f, resp, s)
	}
	in, unpacked, err := c.open(ctx, resp, s)
	if err != nil {
		return "", err
	}
	if unpacked {
		id, resp.ContentLength = "", -1 // the tag and the length are those of the packed bytes
		if offset > 0 {
			Discard(f.Path)
			return "", fmt.Errorf("%s sends a part of a packed file", RedactURL(f.URL))
		}
	}
	if err := f.begin(id, offset); err != nil {
		return "", err
	}
	return id, f.receive(in, resp.ContentLength, offset)
}

// startsAt tells whether a partial answer begins at offset.
func startsAt(resp *http.Response, offset int64) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-")
}

// refused makes the error of an answer that is not the file.
func (c *Client) refused(ctx context.Context, f File, resp *http.Response, s *stall) error {
	a := Answer{
		URL: RedactURL(f.URL), Code: resp.StatusCode, Status: resp.Status, Header: resp.Header,
		secrets: secretsOf(f.Header),
	}
	if in, _, err := c.open(ctx, resp, s); err == nil {
		a.Body, _ = io.ReadAll(io.LimitReader(in, 4<<10)) // what came says enough
	}
	problem := f.Problem
	if problem == nil {
		problem = Answer.Err
	}
	err := problem(a)
	if err == nil {
		err = a.Fail("")
	}
	return c.judged(err, a.Code, a.Header)
}

// receive appends an answer's body, of which length bytes are left or -1, to the
// part.
func (f File) receive(in *body, length, offset int64) error {
	total, err := f.total(length, offset)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(f.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	bound := f.bound(total)
	m := &meter{out: out, done: offset, total: total, bound: bound, report: f.Progress}
	_, err = io.Copy(m, in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	m.tell()
	switch {
	case errors.Is(err, errTooLong):
		Discard(f.Path)
		return fmt.Errorf("%s is larger than %d bytes", RedactURL(f.URL), bound)
	case in.failed == nil && err == nil && m.done < total:
		return Temporary(fmt.Errorf("the connection ended after %d of %d bytes", m.done, total), 0)
	}
	return err
}

// total is how long the file will be, 0 where nobody says it.
func (f File) total(length, offset int64) (int64, error) {
	if length < 0 {
		return f.Size, nil
	}
	if f.Size > 0 && offset+length != f.Size {
		Discard(f.Path)
		return 0, fmt.Errorf("%s: %w", RedactURL(f.URL), sizeMismatch(offset+length, f.Size))
	}
	return offset + length, nil
}

// bound is how long the file may be, 0 for no bound.
func (f File) bound(total int64) int64 {
	if total > 0 && (f.Limit == 0 || total < f.Limit) {
		return total
	}
	return f.Limit
}

// errTooLong says that a file has more bytes than it may.
var errTooLong = errors.New("too long")

// reportEvery is how many bytes lie between two reports of progress.
const reportEvery = 1 << 20

// meter writes a file, counts and reports.
type meter struct {
	out                io.Writer
	done, total, bound int64
	reported           int64
	report             func(done, total int64)
}

func (m *meter) Write(p []byte) (int, error) {
	if m.bound > 0 && m.done+int64(len(p)) > m.bound {
		return 0, errTooLong
	}
	n, err := m.out.Write(p)
	m.done += int64(n)
	if m.done-m.reported >= reportEvery {
		m.tell()
	}
	return n, err
}

// tell reports what is done and was not reported yet.
func (m *meter) tell() {
	if m.report != nil && m.done != m.reported {
		m.reported = m.done
		m.report(m.done, m.total)
	}
}

// fileSize returns a file's size, 0 when there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
