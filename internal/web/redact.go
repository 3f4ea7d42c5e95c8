package web

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// RedactURL returns the address without user, password, query and fragment: the
// query of a redirected download is a signature, that of an API may be a key.
func RedactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that does not parse)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// RedactError returns the error of an HTTP client with its address redacted.
func RedactError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return &url.Error{Op: e.Op, URL: RedactURL(e.URL), Err: RedactError(e.Err)}
	}
	return err
}

var (
	userinfo = regexp.MustCompile(`(://)[^/@\s]+@`)
	query    = regexp.MustCompile(`(https?://[^\s?"']+)\?[^\s"']+`)
)

// RedactText removes credentials from what a server or another program said: the
// given secrets, users and passwords in addresses, and queries.
func RedactText(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = userinfo.ReplaceAllString(text, "$1***@")
	return query.ReplaceAllString(text, "$1")
}

// harmless lists the headers that a redirect to another host keeps.
var harmless = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true,
	"Content-Type": true, "Range": true, "User-Agent": true,
}

// shortestSecret is how long a header's value must be to be looked for: shorter ones
// are words or numbers, which would be blotted out anywhere.
const shortestSecret = 6

// secretsOf returns what a request's headers must not show of: the values of those
// that are not known to be harmless, without the word of their scheme.
func secretsOf(header http.Header) []string {
	var secrets []string
	for name, values := range header {
		if harmless[name] {
			continue
		}
		for _, v := range values {
			if _, token, ok := strings.Cut(v, " "); ok {
				v = token
			}
			if len(v) >= shortestSecret {
				secrets = append(secrets, v)
			}
		}
	}
	return secrets
}
