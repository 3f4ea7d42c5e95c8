package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects bounds a chain of redirects; public hosts need one or two.
const maxRedirects = 10

// Secure tells what is wrong with the address of a public server: it has to be
// https, or http on the loopback. The client itself asks plain http too, for servers
// of one's own network; whoever means public ones asks Secure first.
func Secure(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("not an address that parses")
	case u.Host == "" || (u.Scheme != "https" && (u.Scheme != "http" || !loopback(u))):
		return errors.New("not an https address")
	}
	return nil
}

func loopback(u *url.URL) bool {
	return u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost"
}

// follow makes an exchange and follows redirects. It returns the last answer and
// the identity of the content: see [identity]. Errors of the connection are
// temporary ones.
func (c *Client) follow(ctx context.Context, r Request) (*http.Response, string, error) {
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, "", errors.New("the address does not parse")
	}
	header, method, body, linked := r.Header.Clone(), r.method(), r.Body, ""
	for range maxRedirects {
		resp, err := c.exchange(ctx, method, at.String(), header, body)
		if err != nil {
			return nil, "", Temporary(RedactError(err), 0)
		}
		if linked == "" {
			linked = strongETag(resp.Header.Get("X-Linked-Etag"))
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return resp, identity(linked, resp), nil
		}
		resp.Body.Close()
		to, err := step(at, location)
		if err != nil {
			return nil, "", fmt.Errorf("%s %w", RedactURL(r.URL), err)
		}
		if to.Scheme != at.Scheme || to.Host != at.Host {
			header = onlyHarmless(header)
		}
		if method, body, err = again(method, body, resp.StatusCode); err != nil {
			return nil, "", fmt.Errorf("%s %w", RedactURL(r.URL), err)
		}
		at = to
	}
	return nil, "", fmt.Errorf("%s redirects more than %d times", RedactURL(r.URL), maxRedirects)
}

// exchange makes one request without following redirects.
func (c *Client) exchange(ctx context.Context, method, address string, header http.Header, body []byte) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, in)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("User-Agent", c.config.UserAgent)
	return c.http.Do(req)
}

// step returns where a redirect leads, if it may be followed.
func step(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	switch {
	case err != nil:
		return nil, errors.New("redirects to an address that does not parse")
	case from.Scheme == "https" && to.Scheme != "https":
		return nil, errors.New("redirects away from https")
	case to.Scheme != "https" && to.Scheme != "http":
		return nil, errors.New("redirects to something else than a web page")
	}
	return to, nil
}

// again returns what a redirected request is made with. RFC 9110 lets 301 and 302
// turn a POST into a GET, which would ask for something else; such an address is
// to be corrected instead.
func again(method string, body []byte, code int) (string, []byte, error) {
	switch {
	case method == http.MethodGet, code == http.StatusTemporaryRedirect, code == http.StatusPermanentRedirect:
		return method, body, nil
	}
	return "", nil, fmt.Errorf("redirects a %s with status %d", method, code)
}

// onlyHarmless returns the headers that may be sent to another host.
func onlyHarmless(header http.Header) http.Header {
	kept := http.Header{}
	for name, values := range header {
		if harmless[name] {
			kept[name] = values
		}
	}
	return kept
}

// identity is what the servers call the content: the X-Linked-Etag of a Hugging
// Face hub, which only its first answer has, else the last answer's ETag; empty
// when neither is a strong one.
func identity(linked string, resp *http.Response) string {
	if linked != "" {
		return linked
	}
	return strongETag(resp.Header.Get("Etag"))
}

// strongETag returns the value of an entity tag that stands for equal bytes.
func strongETag(tag string) string {
	if len(tag) < 2 || strings.HasPrefix(tag, "W/") {
		return ""
	}
	return strings.Trim(tag, `"`)
}
