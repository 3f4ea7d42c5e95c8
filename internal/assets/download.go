package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxTries is how often a download is begun or resumed before its place counts
// as failed. Tries that brought bytes do not count.
const maxTries = 3

// remote is one file on a web server.
type remote struct {
	url    string
	header http.Header
	// place identifies the origin of an unfinished download.
	place string
	// problem turns an answer that is not the file into an error; nil is a plain one.
	problem func(*http.Response) error
}

// partRecord is the content of FILE.part.json: what an unfinished download is of.
type partRecord struct {
	Place string `json:"place"`
	// ID names the content on the server; a part without one is not resumed.
	ID string `json:"id"`
}

// temporaryError is a failure that may pass.
type temporaryError struct {
	error
	wait time.Duration // as the server asked, or 0
}

func (e *temporaryError) Unwrap() error { return e.error }

// download gets a remote file into the job's part, going on where an earlier
// download of the same content stopped. It returns what the server says the
// content is.
func (j job) download(ctx context.Context, r remote) (string, error) {
	wait := j.store.retryWait
	for try := 1; ; try++ {
		before := fileSize(j.part)
		id, err := j.transfer(ctx, r)
		temporary, ok := errors.AsType[*temporaryError](err)
		if !ok || ctx.Err() != nil {
			return id, err
		}
		if fileSize(j.part) > before {
			try = 0
		}
		if try == maxTries {
			return "", fmt.Errorf("%w (tried %d times)", temporary.error, maxTries)
		}
		if err := sleep(ctx, max(wait, temporary.wait)); err != nil {
			return "", err
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// transfer makes one attempt.
func (j job) transfer(ctx context.Context, r remote) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	record, offset := j.unfinished(r.place)
	header := r.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, id, err := j.store.follow(ctx, r.url, header)
	if err != nil {
		return "", &temporaryError{error: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		offset = 0
	case resp.StatusCode == http.StatusPartialContent && offset > 0 && id == record.ID && startsAt(resp, offset):
	case offset > 0 && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		j.discard() // the content changed, or the part is too long: begin again
		return "", &temporaryError{error: fmt.Errorf("the file changed on %s", redactURL(r.url))}
	default:
		return "", r.statusError(resp)
	}
	if err := j.begin(partRecord{Place: r.place, ID: id}, offset); err != nil {
		return "", err
	}
	return id, j.receive(ctx, cancel, resp, offset)
}

// unfinished returns the record and length of a part that a download from the
// place may go on with.
func (j job) unfinished(place string) (partRecord, int64) {
	var record partRecord
	data, err := os.ReadFile(j.part + ".json")
	if err != nil || json.Unmarshal(data, &record) != nil || record.Place != place || record.ID == "" {
		return partRecord{}, 0
	}
	return record, fileSize(j.part)
}

// begin writes the record of a download and cuts the part at offset.
func (j job) begin(record partRecord, offset int64) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if offset == 0 {
		j.discard()
	}
	return os.WriteFile(j.part+".json", data, 0o666)
}

// receive appends an answer's body to the part.
func (j job) receive(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, offset int64) error {
	out, err := os.OpenFile(j.part, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	stalled := fmt.Errorf("nothing came for %s", j.store.stallAfter)
	watch := time.AfterFunc(j.store.stallAfter, func() { cancel(stalled) })
	defer watch.Stop()
	total := j.file.Size
	if total == 0 && resp.ContentLength > 0 {
		total = offset + resp.ContentLength
	}
	in := &meter{
		r: resp.Body, ctx: ctx, done: offset, total: total, report: j.report,
		moved: func() { watch.Reset(j.store.stallAfter) },
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err == nil && closeErr != nil {
		return closeErr
	}
	if in.failed == nil {
		if err == nil && total > 0 && in.done < total {
			return &temporaryError{error: fmt.Errorf("the connection ended after %d of %d bytes", in.done, total)}
		}
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &temporaryError{error: redactError(err)}
}

// startsAt tells whether a partial answer begins at offset.
func startsAt(resp *http.Response, offset int64) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset))
}

func (r remote) statusError(resp *http.Response) error {
	err := fmt.Errorf("%s answers %s", redactURL(r.url), resp.Status)
	if r.problem != nil {
		err = r.problem(resp)
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &temporaryError{err, time.Duration(min(seconds, 60)) * time.Second}
	}
	return err
}

// meter reads and reports progress. It stops with the context.
type meter struct {
	r           io.Reader
	ctx         context.Context // of the one copy that the meter is made for
	done, total int64
	reported    int64
	report      func(Event)
	moved       func()
	failed      error // what the reader failed with, as opposed to the writer
}

// reportEvery is how many bytes lie between two events.
const reportEvery = 1 << 20

func (m *meter) Read(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		m.failed = context.Cause(m.ctx)
		return 0, m.failed
	}
	n, err := m.r.Read(p)
	m.done += int64(n)
	if n > 0 && m.moved != nil {
		m.moved()
	}
	if m.done-m.reported >= reportEvery || (err == io.EOF && m.done != m.reported) {
		m.reported = m.done
		m.report(Event{Phase: Downloading, Done: m.done, Total: m.total})
	}
	if err != nil && err != io.EOF {
		m.failed = err
	}
	return n, err
}

// fileSize returns a file's size, 0 when there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
