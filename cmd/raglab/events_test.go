package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// readEvents reads the output of -json and holds it against its promises: one
// object a line, the first of type version, no type that is not in the list.
func readEvents(text []byte) ([]anEvent, error) {
	var events []anEvent
	for line := range bytes.Lines(text) {
		var e anEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", len(events)+1, err, line)
		}
		if !slices.Contains(eventTypes, e.Type) {
			return nil, fmt.Errorf("line %d: there is no event type %q: %s", len(events)+1, e.Type, line)
		}
		if (e.Type == "version") != (len(events) == 0) {
			return nil, fmt.Errorf("line %d has type %q: the first line alone has type version", len(events)+1, e.Type)
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("no events")
	}
	return events, nil
}

func TestReadEvents_rejects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "no events",
		`{"type":"warning"}` + "\n":              "the first line alone",
		`{"type":"version"}` + "\n" + `{"type":`: "unexpected end",
		`{"type":"version"}` + "\n" + `{"type":"surprise"}` + "\n": `no event type "surprise"`,
	} {
		if _, err := readEvents([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
