package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"
)

// members are the fields of a JSON object, in order.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// readObject reads one JSON object and nothing behind it. Unlike
// [json.Unmarshal] it keeps all names as they are, so that a caller sees
// misspelt and repeated ones.
func readObject(data []byte) (members, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	open, err := d.Token()
	if err != nil {
		return nil, syntax(err)
	}
	if open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var out members
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, syntax(err)
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, syntax(err)
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, syntax(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object on the line")
	}
	return out, nil
}

func syntax(err error) error {
	var s *json.SyntaxError
	switch {
	case errors.As(err, &s):
		return fmt.Errorf("not valid JSON at byte %d of the line: %w", s.Offset, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("not valid JSON: the line ends inside the object")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// check reports repeated names and, unless known is nil, unknown ones.
func (ms members) check(known []string, report func(detail, summary string, args ...any)) {
	for i, m := range ms {
		switch {
		case slices.ContainsFunc(ms[:i], func(o member) bool { return o.name == m.name }):
			report("", "%q stands twice", m.name)
		case known != nil && !slices.Contains(known, m.name):
			detail := "known are " + strings.Join(known, ", ")
			if near := nearestField(m.name, known); near != "" {
				detail = fmt.Sprintf("did you mean %q?", near)
			}
			report(detail, "unknown field %q", m.name)
		}
	}
}

// elsewhere maps what other formats call a field to what it is called here.
var elsewhere = map[string]string{
	"_id": "id", "qid": "id", "query_id": "id", "query": "question", "text": "question",
	"doc_id": "doc", "document": "doc", "corpus_id": "doc", "docs": "relevant", "answer": "span", "answer_span": "span",
	"score": "grade", "relevance": "grade", "labels": "tags",
}

func nearestField(name string, known []string) string {
	name = strings.ToLower(name)
	if same, ok := elsewhere[name]; ok && slices.Contains(known, same) {
		return same
	}
	best, distance := "", 3
	for _, k := range known {
		if d := levenshtein.Distance(name, k, nil); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	return best
}

// get returns the first value of the name.
func (ms members) get(name string) (json.RawMessage, bool) {
	for _, m := range ms {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// text reads a JSON string as it stands: half of a surrogate pair, which the
// decoder would replace, is an error.
func text(value json.RawMessage) (string, error) {
	if len(value) == 0 || value[0] != '"' {
		return "", fmt.Errorf("must be a string, not %s", jsonType(value))
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", err
	}
	if strings.ContainsRune(s, utf8.RuneError) &&
		!bytes.ContainsRune(value, utf8.RuneError) && !bytes.Contains(bytes.ToLower(value), []byte(`\ufffd`)) {
		return "", errors.New("holds half of a surrogate pair")
	}
	return s, nil
}

func jsonType(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// list reads a JSON list.
func list(value json.RawMessage) ([]json.RawMessage, error) {
	if len(value) == 0 || value[0] != '[' {
		return nil, fmt.Errorf("must be a list, not %s", jsonType(value))
	}
	var out []json.RawMessage
	return out, json.Unmarshal(value, &out)
}
