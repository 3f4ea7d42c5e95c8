package assets

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// redactURL returns the address without user, password and query: a query of a
// redirected download is a signature.
func redactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that does not parse)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// redactError returns the error of an HTTP client with its address redacted.
func redactError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return &url.Error{Op: e.Op, URL: redactURL(e.URL), Err: redactError(e.Err)}
	}
	return err
}

var (
	userinfo = regexp.MustCompile(`(://)[^/@\s]+@`)
	query    = regexp.MustCompile(`(https?://[^\s?"']+)\?[^\s"']+`)
)

// redactText removes credentials from what another program printed.
func redactText(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = userinfo.ReplaceAllString(text, "$1***@")
	return query.ReplaceAllString(text, "$1")
}
