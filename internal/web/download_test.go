package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// content returns n bytes that do not compress and do not change.
func content(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// file serves the bytes, with ranges, cutting the answers whose numbers are given
// after so many bytes. It notes the ranges asked for.
func file(t *testing.T, data []byte, etag string, cut map[int]int) (string, *[]string) {
	t.Helper()
	ranges := &[]string{}
	at := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		*ranges = append(*ranges, r.Header.Get("Range"))
		if etag != "" {
			w.Header().Set("Etag", etag)
		}
		if after := cut[n]; after > 0 {
			w = &cutter{w, after}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	})
	return at, ranges
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func TestDownload_isWholeVerifiedAndAlone(t *testing.T) {
	t.Parallel()
	data := content(3 << 20)
	at, _ := file(t, data, `"one"`, nil)
	path := filepath.Join(t.TempDir(), "deep", "file")
	client, _ := patient(t)
	var told []int64
	got, err := client.Download(t.Context(), File{URL: at, Path: path, Size: int64(len(data)), SHA256: sumOf(data), Progress: func(done, total int64) { told = append(told, done, total) }})
	if want := (Got{int64(len(data)), sumOf(data), "one"}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	held, err := os.ReadFile(path)
	left, _ := os.ReadDir(filepath.Dir(path))
	if err != nil || !bytes.Equal(held, data) || len(left) != 1 {
		t.Errorf("wrong content or remains: %v, %v", left, err)
	}
	if len(told) < 4 || told[len(told)-2] != int64(len(data)) || told[1] != int64(len(data)) {
		t.Errorf("progress %v", told)
	}
}

func TestDownload_goesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	data := content(1 << 20)
	// More breaks than tries: each brought something.
	cut := map[int]int{1: 100_000, 2: 100_000, 3: 100_000, 4: 100_000, 5: 100_000, 6: 100_000}
	at, ranges := file(t, data, `"one"`, cut)
	client, waits := patient(t, func(c *Config) { c.Tries = 2 })
	path := filepath.Join(t.TempDir(), "file")
	if _, err := client.Download(t.Context(), File{URL: at, Path: path, SHA256: sumOf(data)}); err != nil {
		t.Fatal(err)
	}
	if len(*ranges) != 7 || slices.Contains((*ranges)[1:], "") || (*waits)[5] != time.Second {
		t.Errorf("ranges %v, waits %v", *ranges, *waits)
	}
}

// An unfinished file of another process is gone on with when the server still has
// the same content under a strong name, and only then.
func TestDownload_unfinishedFile(t *testing.T) {
	t.Parallel()
	data := content(1 << 20)
	tests := map[string]struct {
		part, record, etag string
		ranges             []string
	}{
		"same content":    {string(data[:1000]), `{"place":"here","id":"one"}`, `"one"`, []string{"bytes=1000-"}},
		"changed content": {string(data[:1000]), `{"place":"here","id":"zero"}`, `"one"`, []string{"bytes=1000-", ""}},
		"another place":   {string(data[:1000]), `{"place":"there","id":"one"}`, `"one"`, []string{""}},
		"a weak name":     {string(data[:1000]), `{"place":"here","id":"one"}`, `W/"one"`, []string{"bytes=1000-", ""}},
		"no record":       {string(data[:1000]), ``, `"one"`, []string{""}},
		"too long":        {string(make([]byte, 2<<20)), `{"place":"here","id":"one"}`, `"one"`, []string{"bytes=2097152-", ""}},
		"all but the end": {string(data[:len(data)-1]), `{"place":"here","id":"one"}`, `"one"`, []string{fmt.Sprintf("bytes=%d-", len(data)-1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, ranges := file(t, data, test.etag, nil)
			path := filepath.Join(t.TempDir(), "file")
			err := errors.Join(os.WriteFile(path+".part", []byte(test.part), 0o666), os.WriteFile(path+".part.json", []byte(test.record), 0o666))
			if err != nil {
				t.Fatal(err)
			}
			client, _ := patient(t)
			if _, err := client.Download(t.Context(), File{URL: at, Path: path, Origin: "here", SHA256: sumOf(data)}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(*ranges, test.ranges) {
				t.Errorf("ranges %q, expected %q", *ranges, test.ranges)
			}
		})
	}
}

func TestDownload_refusals(t *testing.T) {
	t.Parallel()
	data := content(100_000)
	at, _ := file(t, data, `"one"`, nil)
	unsized := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.(http.Flusher).Flush() // chunked: the length is not said
		w.Write(data)
	})
	missing := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		http.Error(w, "no such file", http.StatusNotFound)
	})
	partial := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusPartialContent) })
	var mismatch *MismatchError
	for name, test := range map[string]struct {
		file File
		want string
		is   bool
	}{
		"wrong length, said before":  {File{URL: at, Size: 99_999}, "its size is 100000 bytes, expected 99999 bytes", true},
		"wrong length, seen after":   {File{URL: unsized, Size: 100_001}, "the connection ended after 100000 of 100001 bytes", false},
		"longer than said":           {File{URL: unsized, Size: 99_999}, "is larger than 99999 bytes", false},
		"longer than allowed":        {File{URL: at, Limit: 99_999}, "is larger than 99999 bytes", false},
		"wrong digest":               {File{URL: at, SHA256: strings.Repeat("0", 64)}, "its SHA-256 is " + sumOf(data), true},
		"not there":                  {File{URL: missing}, "answers 404 Not Found: no such file", false},
		"a part nobody asked for":    {File{URL: partial}, "answers 206 Partial Content", false},
		"not there, by its own word": {File{URL: missing, Problem: func(a Answer) error { return errors.New("gone: " + string(a.Body)) }}, "gone: no such file", false},
	} {
		test.file.Path = filepath.Join(t.TempDir(), "file")
		client, _ := patient(t)
		_, err := client.Download(t.Context(), test.file)
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, &mismatch) != test.is {
			t.Errorf("%s: error %v, expected %q", name, err, test.want)
		}
		if _, err := os.Stat(test.file.Path); err == nil {
			t.Errorf("%s: a file has the final name", name)
		}
	}
}

func TestDownload_packedAlthoughNotAsked(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("abc"), 10_000)
	at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("accepted codings %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Etag", `"one"`)
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed(t, data))
	})
	client, _ := patient(t)
	got, err := client.Download(t.Context(), File{URL: at, Path: filepath.Join(t.TempDir(), "file"), Size: int64(len(data)), SHA256: sumOf(data)})
	if err != nil || got.ID != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDownload_slowDripEnds(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Length", "1000000")
		io.WriteString(w, strings.Repeat("x", 5000))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	client, _ := patient(t, func(c *Config) { c.StallAfter, c.Tries = 50*time.Millisecond, 2 })
	_, err := client.Download(t.Context(), File{URL: at, Path: filepath.Join(t.TempDir(), "file")})
	if err == nil || !IsTemporary(err) || !strings.Contains(err.Error(), "came") {
		t.Errorf("error %v", err)
	}
}

// However the connection breaks, the file that comes out is the one on the server.
func TestDownload_anyBreaks(t *testing.T) {
	t.Parallel()
	data := content(50_000)
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		cut := map[int]int{}
		for i, after := range rapid.SliceOfN(rapid.IntRange(1, 30_000), 0, 6).Draw(rt, "cuts") {
			cut[i+1] = after
		}
		at, _ := file(t, data, rapid.SampledFrom([]string{`"one"`, `W/"one"`, ""}).Draw(rt, "etag"), cut)
		client, _ := patient(t, func(c *Config) { c.Tries = 8 })
		path := filepath.Join(dir, "file")
		if _, err := client.Download(t.Context(), File{URL: at, Path: path}); err != nil {
			rt.Fatal(err)
		}
		if held, err := os.ReadFile(path); err != nil || !bytes.Equal(held, data) {
			rt.Fatalf("%d bytes, %v", len(held), err)
		}
	})
}
