package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"raglab/internal/web"
)

// wikiAPI asks the query module of a MediaWiki. Answers of both format versions
// are understood.
type wikiAPI struct {
	endpoint string
	client   *web.Client
}

// wikiAnswer is the part of an answer that is read.
type wikiAnswer struct {
	Error *wikiError `json:"error"`
	// Continue holds what the next request is made with; it may hold numbers.
	Continue map[string]any `json:"continue"`
	Query    struct {
		Normalized      []wikiStep `json:"normalized"`
		Redirects       []wikiStep `json:"redirects"`
		Interwiki       []wikiPage `json:"interwiki"`
		Pages           wikiPages  `json:"pages"`
		BadRevIDs       wikiRevIDs `json:"badrevids"`
		CategoryMembers []wikiPage `json:"categorymembers"`
	} `json:"query"`
}

type wikiError struct {
	Code string `json:"code"`
	Info string `json:"info"`
}

// wikiStep is one name that stands for another.
type wikiStep struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type wikiPage struct {
	PageID        int64          `json:"pageid"`
	NS            int            `json:"ns"`
	Title         string         `json:"title"`
	Missing       wikiFlag       `json:"missing"`
	Invalid       wikiFlag       `json:"invalid"`
	InvalidReason string         `json:"invalidreason"`
	Redirect      wikiFlag       `json:"redirect"`
	LastRevID     int64          `json:"lastrevid"`
	Extract       *string        `json:"extract"`
	Revisions     []wikiRevision `json:"revisions"`
}

type wikiRevision struct {
	RevID      int64    `json:"revid"`
	TextHidden wikiFlag `json:"texthidden"`
	Slots      struct {
		Main struct {
			Content *string  `json:"content"`
			Star    *string  `json:"*"`
			Hidden  wikiFlag `json:"texthidden"`
		} `json:"main"`
	} `json:"slots"`
}

// text returns the wikitext, nil where the answer has none.
func (r wikiRevision) text() *string { return cmp.Or(r.Slots.Main.Content, r.Slots.Main.Star) }

func (r wikiRevision) hidden() bool { return bool(r.TextHidden || r.Slots.Main.Hidden) }

// newest is the id of the page's newest revision, as far as the answer tells it.
func (p wikiPage) newest() int64 {
	if p.LastRevID == 0 && len(p.Revisions) > 0 {
		return p.Revisions[0].RevID
	}
	return p.LastRevID
}

// wikiFlag is true, or in format version 1 a text.
type wikiFlag bool

func (f *wikiFlag) UnmarshalJSON(b []byte) error {
	*f = string(b) != "false" && string(b) != "null"
	return nil
}

// wikiPages is a list, or in format version 1 an object by page id.
type wikiPages []wikiPage

func (p *wikiPages) UnmarshalJSON(b []byte) error {
	return eitherList(b, (*[]wikiPage)(p))
}

// wikiRevIDs are revisions that are not there, in either form.
type wikiRevIDs []wikiRevision

func (r *wikiRevIDs) UnmarshalJSON(b []byte) error {
	return eitherList(b, (*[]wikiRevision)(r))
}

// eitherList reads a list, or the values of an object in the order of its keys.
func eitherList[T any](b []byte, list *[]T) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, list)
	}
	var byKey map[string]T
	if err := json.Unmarshal(b, &byKey); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		*list = append(*list, byKey[key])
	}
	return nil
}

// maxContinuations bounds how often an answer may be continued: a category of ten
// million pages is read within it.
const maxContinuations = 20_000

// query asks, and hands on each part of the answer.
func (a *wikiAPI) query(ctx context.Context, asked url.Values, each func(*wikiAnswer) error) error {
	fixed := url.Values{"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "maxlag": {"5"}}
	maps.Copy(fixed, asked)
	next := fixed
	for range maxContinuations {
		answer, err := a.ask(ctx, next)
		if err != nil {
			return err
		}
		if err := each(answer); err != nil {
			return err
		}
		if len(answer.Continue) == 0 {
			return nil
		}
		last := next
		next = maps.Clone(fixed)
		for k, v := range answer.Continue {
			next.Set(k, fmt.Sprint(v))
		}
		if next.Encode() == last.Encode() {
			break
		}
	}
	return fmt.Errorf("%s continues its answer without an end", web.RedactURL(a.endpoint))
}

func (a *wikiAPI) ask(ctx context.Context, asked url.Values) (*wikiAnswer, error) {
	address, err := url.Parse(a.endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API: %w", err)
	}
	query := address.Query()
	maps.Copy(query, asked)
	address.RawQuery = query.Encode()
	var answer wikiAnswer
	return &answer, a.client.JSON(ctx, web.Request{URL: address.String(), Check: wikiProblem}, &answer)
}

// wikiProblem tells what an answer has against the request. What passes when asked
// again later is marked so.
func wikiProblem(a web.Answer) error {
	var answer struct{ Error *wikiError }
	err := json.Unmarshal(a.Body, &answer)
	switch {
	case err == nil && answer.Error != nil:
		return answer.Error.of(a)
	case a.Err() != nil:
		return a.Err()
	case err != nil:
		return fmt.Errorf("%s answers with something else than the JSON of a MediaWiki API", a.URL)
	}
	return nil
}

func (e *wikiError) of(a web.Answer) error {
	err := errors.New(a.URL + " answers " + e.Code + ": " + a.Redact(e.Info))
	switch e.Code {
	case "maxlag", "ratelimited", "readonly", "timeout":
		return web.Temporary(err, 0)
	}
	if strings.HasPrefix(e.Code, "internal_api_error") {
		return web.Temporary(err, 0)
	}
	return err
}
