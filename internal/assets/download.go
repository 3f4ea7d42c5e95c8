package assets

import (
	"context"
	"io"
	"net/http"

	"raglab/internal/web"
)

// remote is one file on a web server.
type remote struct {
	url    string
	header http.Header
	// place identifies the origin of an unfinished download.
	place string
	// problem turns an answer that is not the file into an error; nil is a plain one.
	problem func(web.Answer) error
}

// download gets a remote file into the job's part, going on where an earlier
// download of the same content stopped. It returns what the server says the
// content is.
func (j job) download(ctx context.Context, r remote) (string, error) {
	return j.store.web.Part(ctx, web.File{
		URL: r.url, Header: r.header, Path: j.part, Origin: r.place,
		Size: j.file.Size, Problem: r.problem,
		Progress: func(done, total int64) {
			j.report(Event{Phase: Downloading, Done: done, Total: total})
		},
	})
}

// meter reads and reports progress. It stops with the context.
type meter struct {
	r           io.Reader
	ctx         context.Context // of the one copy that the meter is made for
	done, total int64
	reported    int64
	report      func(Event)
}

// reportEvery is how many bytes lie between two events.
const reportEvery = 1 << 20

func (m *meter) Read(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		return 0, context.Cause(m.ctx)
	}
	n, err := m.r.Read(p)
	m.done += int64(n)
	if m.done-m.reported >= reportEvery || (err == io.EOF && m.done != m.reported) {
		m.reported = m.done
		m.report(Event{Phase: Downloading, Done: m.done, Total: m.total})
	}
	return n, err
}
