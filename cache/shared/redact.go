package shared

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// urlText finds URLs in a text.
var urlText = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>` + "`" + `]+`)

// Redact is a store's URL as it may be shown: without a user, a password and parameters, which name
// accounts and may hold signatures.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return "(no URL)"
	}
	shown := u.Scheme + "://" + u.Host + u.Path
	if u.RawQuery != "" || u.ForceQuery {
		shown += "?…"
	}
	return shown
}

// redactText takes users and parameters out of the URLs in a text.
func redactText(text string) string {
	return urlText.ReplaceAllStringFunc(text, func(found string) string {
		if !strings.ContainsAny(found, "?@#") {
			return found
		}
		return Redact(found)
	})
}

// redactedError shows an error without what its URLs hold.
type redactedError struct{ err error }

func (e *redactedError) Error() string { return redactText(e.err.Error()) }
func (e *redactedError) Unwrap() error { return e.err }

// redactError keeps what a driver quotes of its requests out of messages.
func redactError(err error) error {
	var already *redactedError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &redactedError{err}
}
