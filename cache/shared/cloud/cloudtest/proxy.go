package cloudtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// Proxy stands before a server and makes the way to it worse. Its fields must be set before it serves.
type Proxy struct {
	// Refuse answers a request, of which n have come, by itself when it returns a status.
	Refuse func(n int64, r *http.Request) int
	// Cut ends the body of an answer after so many bytes; 0 does not.
	Cut func(r *http.Request) int64
	// CutRequest ends the body of a request after so many bytes, and then the connections on both
	// sides; 0 does not.
	CutRequest func(r *http.Request) int64
	// Lose ends the connection in place of the answer to a request that the server has answered.
	Lose func(r *http.Request) bool
	// Flip turns a bit in the body of an answer.
	Flip func(r *http.Request) bool

	requests atomic.Int64
	behind   *httputil.ReverseProxy
}

// errCut is why a connection ends early.
var errCut = errors.New("the proxy cut the connection")

// NewProxy returns a proxy before the server at a URL.
func NewProxy(server string) (*Proxy, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	p.behind = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: p.spoil,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errCut) {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	return p, nil
}

// Requests is how many requests have come.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := p.requests.Add(1)
	if p.Refuse != nil {
		if status := p.Refuse(n, r); status != 0 {
			refuse(w, status)
			return
		}
	}
	if p.CutRequest != nil {
		if n := p.CutRequest(r); n > 0 {
			r.Body = &cutBody{r.Body, n}
		}
	}
	p.behind.ServeHTTP(w, r)
}

// refuse answers as S3 does. The other providers' clients read the status.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if status == http.StatusServiceUnavailable {
		fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
	}
}

// spoil makes an answer worse.
func (p *Proxy) spoil(r *http.Response) error {
	if p.Lose != nil && p.Lose(r.Request) {
		return errCut
	}
	if p.Flip != nil && p.Flip(r.Request) {
		r.Body = &flippedBody{r.Body, false}
	}
	if p.Cut != nil {
		if n := p.Cut(r.Request); n > 0 {
			r.Body = &cutBody{r.Body, n}
		}
	}
	return nil
}

// cutBody breaks after some bytes, and the proxy breaks the connection with it.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errCut
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// flippedBody turns the first bit.
type flippedBody struct {
	io.ReadCloser
	done bool
}

func (f *flippedBody) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 && !f.done {
		f.done = true
		p[0] ^= 0x80
	}
	return n, err
}
