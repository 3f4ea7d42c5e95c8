package browsertest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// OpenSlowly opens the file as it comes over a slow line: in so many pieces, from a server on this machine, with
// time to show each before the next one comes.
func (b *Browser) OpenSlowly(t testing.TB, file []byte, pieces int) *Page {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		out := http.NewResponseController(w)
		frames := time.NewTicker(40 * time.Millisecond)
		defer frames.Stop()
		for i := range pieces {
			if _, err := w.Write(file[i*len(file)/pieces : (i+1)*len(file)/pieces]); err != nil || out.Flush() != nil {
				return // the tab was closed
			}
			select {
			case <-frames.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return b.open(t, server.URL+"/", "")
}
