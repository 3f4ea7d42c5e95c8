package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// StatusError is an answer whose status says that it is not what was asked for.
type StatusError struct {
	// URL is the address asked, redacted.
	URL string
	// Code and Status are as in [http.Response].
	Code   int
	Status string
	// Message is what the server said about it, shortened and redacted, or empty.
	Message string
}

// Error names the address, the status and what the server said.
func (e *StatusError) Error() string {
	text := e.URL + " answers " + e.Status
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// HasStatus tells whether the error is an answer with that status.
func HasStatus(err error, code int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Code == code
}

// MismatchError says that a file is not what was announced or pinned.
type MismatchError struct {
	// What is "size" or "SHA-256"; Got and Want are its values.
	What, Got, Want string
}

// Error says what the file is and what was expected.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("its %s is %s, expected %s", e.What, e.Got, e.Want)
}

// temporaryError is a failure that may pass.
type temporaryError struct {
	error
	wait time.Duration // as the server asked, or 0
}

func (e *temporaryError) Unwrap() error { return e.error }

// Temporary marks an error as one that may pass, to be tried again after at least
// the given wait (0 where the server named none).
func Temporary(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}
	return &temporaryError{err, wait}
}

// IsTemporary tells whether an error may pass: the connection broke or stalled, or
// the server was overloaded. The client has given up for now; the same request may
// succeed later.
func IsTemporary(err error) bool {
	_, ok := errors.AsType[*temporaryError](err)
	return ok
}

// passes tells whether a status may be another one when asked again.
func passes(code int) bool {
	return code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500
}
