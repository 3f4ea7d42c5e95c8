package assets

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects bounds a chain of redirects; the hub needs one or two.
const maxRedirects = 10

// URL is a file on a web server.
type URL struct{ Address string }

func (p URL) String() string { return redactURL(p.Address) }
func (p URL) byHand() string { return redactURL(p.Address) }

func (p URL) fetch(ctx context.Context, j job) (obtained, error) {
	u, err := url.Parse(p.Address)
	if err != nil || (u.Scheme != "https" && !loopback(u)) {
		return obtained{}, fmt.Errorf("not an https address")
	}
	if _, err := j.download(ctx, remote{url: p.Address, place: p.String()}); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String()}, nil
}

func loopback(u *url.URL) bool {
	return u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost"
}

// get makes one GET request without following redirects.
func (s *Store) get(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, redactError(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("User-Agent", "raglab")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, redactError(err)
	}
	return resp, nil
}

// follow makes a GET request and follows redirects, keeping Authorization only
// on the host it was meant for. It returns the last answer and what the servers
// call the content: the hub's X-Linked-Etag, which only its first answer has,
// else the last answer's ETag; empty when neither is a strong one.
func (s *Store) follow(ctx context.Context, address string, header http.Header) (*http.Response, string, error) {
	from, err := url.Parse(address)
	if err != nil {
		return nil, "", redactError(err)
	}
	header, linked := header.Clone(), ""
	for range maxRedirects {
		resp, err := s.get(ctx, from.String(), header)
		if err != nil {
			return nil, "", err
		}
		if linked == "" {
			linked = strongETag(resp.Header.Get("X-Linked-Etag"))
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			if linked == "" {
				linked = strongETag(resp.Header.Get("Etag"))
			}
			return resp, linked, nil
		}
		resp.Body.Close()
		to, err := from.Parse(location)
		if err != nil {
			return nil, "", fmt.Errorf("%s redirects to an address that does not parse", redactURL(address))
		}
		if from.Scheme == "https" && to.Scheme != "https" {
			return nil, "", fmt.Errorf("%s redirects away from https", redactURL(address))
		}
		if to.Scheme != from.Scheme || to.Host != from.Host {
			header.Del("Authorization")
		}
		from = to
	}
	return nil, "", fmt.Errorf("%s redirects more than %d times", redactURL(address), maxRedirects)
}

// strongETag returns the value of an entity tag that stands for equal bytes.
func strongETag(tag string) string {
	if len(tag) < 2 || strings.HasPrefix(tag, "W/") {
		return ""
	}
	return strings.Trim(tag, `"`)
}
