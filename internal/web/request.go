package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// DefaultLimit is how many bytes an answer may have where a request names no limit.
const DefaultLimit = 64 << 20

// Request is one request whose answer is read into memory.
type Request struct {
	// Method is GET when empty.
	Method string
	URL    string
	// Header may hold credentials; User-Agent and Accept-Encoding are the client's.
	Header http.Header
	// Body is sent with the request, again with each try.
	Body []byte
	// Limit bounds the unpacked answer; 0 is [DefaultLimit].
	Limit int64
	// Check tells what is wrong with a whole answer; nil is [Answer.Err]. What it
	// says about a status that passes, or marks with [Temporary], is tried again.
	Check func(Answer) error
}

func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// PostJSON returns a request that sends a value as JSON. It panics when the value
// cannot be encoded, which depends on its type alone.
func PostJSON(address string, header http.Header, value any) Request {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("web: %T is not JSON: %v", value, err))
	}
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	return Request{Method: http.MethodPost, URL: address, Header: header, Body: data}
}

// Answer is a whole answer.
type Answer struct {
	// URL is the address asked, redacted.
	URL    string
	Code   int
	Status string
	Header http.Header
	Body   []byte

	secrets []string
}

// Err returns nil for a status of 2xx, else a [*StatusError] with the start of
// what the server said.
func (a Answer) Err() error {
	if a.Code >= 200 && a.Code <= 299 {
		return nil
	}
	return a.Fail(said(a.Header, a.Body))
}

// Fail returns a [*StatusError] with a message of the caller's, redacted.
func (a Answer) Fail(message string) error {
	return &StatusError{URL: a.URL, Code: a.Code, Status: a.Status, Message: a.Redact(message)}
}

// Redact removes the request's credentials from a text that the server sent.
func (a Answer) Redact(text string) string { return RedactText(text, a.secrets...) }

// maxSaid is how much of an error's body a message shows.
const maxSaid = 300

// said is the start of what a server says about an error, on one line; pages of
// HTML say nothing that the status does not.
func said(header http.Header, body []byte) string {
	if strings.Contains(header.Get("Content-Type"), "html") {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 4*maxSaid)]), "")), " ")
	if runes := []rune(text); len(runes) > maxSaid {
		text = string(runes[:maxSaid]) + "…"
	}
	return text
}

// Do makes a request and returns the whole answer, once Check accepts it.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	var answer Answer
	err := c.retry(ctx, func() (bool, error) {
		var err error
		answer, err = c.once(ctx, r)
		return false, err
	})
	return answer, err
}

// JSON makes a request and decodes the answer into out.
func (c *Client) JSON(ctx context.Context, r Request, out any) error {
	if r.Header.Get("Accept") == "" {
		r.Header = maps.Clone(r.Header)
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("Accept", "application/json")
	}
	answer, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return fmt.Errorf("read %s: %w", answer.URL, err)
	}
	return nil
}

// once makes one try.
func (c *Client) once(ctx context.Context, r Request) (Answer, error) {
	ctx, s, done := c.watch(ctx)
	defer done()
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept-Encoding", "gzip")
	resp, _, err := c.follow(ctx, r)
	if err != nil {
		return Answer{}, stalled(ctx, r.URL, err)
	}
	defer resp.Body.Close()
	answer := Answer{
		URL: RedactURL(r.URL), Code: resp.StatusCode, Status: resp.Status, Header: resp.Header,
		secrets: secretsOf(r.Header),
	}
	if answer.Body, err = c.read(ctx, resp, s, r.Limit); err != nil {
		return answer, fmt.Errorf("read %s: %w", answer.URL, err)
	}
	check := r.Check
	if check == nil {
		check = Answer.Err
	}
	return answer, c.judged(check(answer), answer.Code, answer.Header)
}

// read reads a whole body within a limit.
func (c *Client) read(ctx context.Context, resp *http.Response, s *stall, limit int64) ([]byte, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	in, _, err := c.open(ctx, resp, s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if n, err := io.Copy(&out, io.LimitReader(in, limit+1)); err != nil {
		return nil, err
	} else if n > limit {
		return nil, fmt.Errorf("the answer is larger than %d bytes", limit)
	}
	return out.Bytes(), nil
}

// stalled returns the stall that ended an exchange, where one did, else err.
func stalled(ctx context.Context, address string, err error) error {
	if cause := context.Cause(ctx); cause != nil && IsTemporary(cause) {
		return fmt.Errorf("%s: %w", RedactURL(address), cause)
	}
	return err
}
