package s3test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// Proxy stands before a server and makes its answers worse. Its fields must be set
// before it serves.
type Proxy struct {
	// Refuse answers a request, of which n have come, by itself when it returns a status.
	Refuse func(n int64, r *http.Request) int
	// Cut ends the body of an answer after so many bytes; 0 does not.
	Cut func(r *http.Request) int64

	requests atomic.Int64
	behind   *httputil.ReverseProxy
}

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
		ModifyResponse: func(r *http.Response) error {
			if p.Cut != nil {
				if n := p.Cut(r.Request); n > 0 {
					r.Body = &cutBody{r.Body, n}
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
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
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			if status == http.StatusServiceUnavailable {
				fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
			}
			return
		}
	}
	p.behind.ServeHTTP(w, r)
}

// cutBody breaks after some bytes, and the proxy breaks the connection with it.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
