package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// sample is what one tool measured of one step in one turn: the medians over the
// repetitions within it. The peers' scripts and this program's drivers print
// samples in the same form.
type sample struct {
	Tool    string  `json:"tool"`
	Step    string  `json:"step"`
	Threads int     `json:"threads"`
	Wall    float64 `json:"wall_s"`
	CPU     float64 `json:"cpu_s"`
	PeakMB  float64 `json:"max_rss_mb"`
	// PerSecond is work done per second of wall time, 0 where the step is one
	// piece of work.
	PerSecond float64 `json:"per_s,omitempty"`
	Error     string  `json:"error,omitempty"`

	IndexMB  float64 `json:"index_mb,omitempty"`
	P50      float64 `json:"p50_ms,omitempty"`
	Tokens   float64 `json:"tokens_per_s,omitempty"`
	Hit10    float64 `json:"hit10,omitempty"`
	Recall10 float64 `json:"recall10,omitempty"`
	Cosine   float64 `json:"cosine_min,omitempty"`
	IDs      string  `json:"ids,omitempty"`
	// Over is the length of a simulated schedule over what cannot be beaten, OverOracle
	// over one that knows all times beforehand.
	Over       float64 `json:"over,omitempty"`
	OverOracle float64 `json:"over_oracle,omitempty"`
	means
}

// means are the means of the measures that the metric peers compute, as decimals.
type means struct {
	NDCG10    string `json:"ndcg@10,omitempty"`
	Recall5   string `json:"recall@5,omitempty"`
	Recall100 string `json:"recall@100,omitempty"`
	MRR10     string `json:"mrr@10,omitempty"`
	MAP       string `json:"map,omitempty"`
}

// samplesOf reads the last line that a script or driver printed.
func samplesOf(out []byte) ([]sample, error) {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var printed struct {
		Rows []sample `json:"rows"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &printed); err != nil {
		return nil, fmt.Errorf("read what it measured: %w", err)
	}
	var errs []error
	for _, s := range printed.Rows {
		if s.Error != "" {
			last := s.Error[strings.LastIndexByte(strings.TrimSpace(s.Error), '\n')+1:]
			errs = append(errs, fmt.Errorf("%s %s: %s", s.Tool, s.Step, last))
		}
	}
	return printed.Rows, errors.Join(errs...)
}

// value is one figure of one turn. The seconds of processor time are those of the
// step that it is about.
type value struct{ value, cpu float64 }

// reading picks a figure out of the samples of a turn; false: it is not there.
type reading func([]sample) (value, bool)

// step says which samples a reading is about: those of a tool and step, either of
// which may end in * for whatever follows, with that many threads (0: any).
type step struct {
	tool, name string
	threads    int
}

func (w step) matches(s sample) bool {
	return named(s.Tool, w.tool) && named(s.Step, w.name) && (w.threads == 0 || s.Threads == w.threads) && s.Error == ""
}

func named(name, pattern string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, beginning)
	}
	return name == pattern
}

// find returns the first matching sample.
func (w step) find(samples []sample) (sample, bool) {
	for _, s := range samples {
		if w.matches(s) {
			return s, true
		}
	}
	return sample{}, false
}

// of reads a field of the step's sample.
func (w step) of(field func(sample) float64) reading {
	return func(samples []sample) (value, bool) {
		s, ok := w.find(samples)
		return value{field(s), s.CPU}, ok && field(s) > 0
	}
}

func (w step) wall() reading      { return w.of(func(s sample) float64 { return s.Wall }) }
func (w step) rate() reading      { return w.of(func(s sample) float64 { return s.PerSecond }) }
func (w step) tokenRate() reading { return w.of(func(s sample) float64 { return s.Tokens }) }
func (w step) peak() reading      { return w.of(func(s sample) float64 { return s.PeakMB }) }
func (w step) index() reading     { return w.of(func(s sample) float64 { return s.IndexMB }) }
func (w step) p50() reading       { return w.of(func(s sample) float64 { return s.P50 }) }

// rateOfBoth is the rate of work that takes two steps one after the other.
func rateOfBoth(a, b step) reading {
	return func(samples []sample) (value, bool) {
		x, okX := a.find(samples)
		y, okY := b.find(samples)
		if !okX || !okY || x.PerSecond == 0 {
			return value{}, false
		}
		return value{x.PerSecond * x.Wall / (x.Wall + y.Wall), x.CPU + y.CPU}, true
	}
}

// peakOfBoth is the greater of two steps' peaks.
func peakOfBoth(a, b step) reading {
	return func(samples []sample) (value, bool) {
		x, okX := a.find(samples)
		y, okY := b.find(samples)
		return value{max(x.PeakMB, y.PeakMB), x.CPU + y.CPU}, okX && okY
	}
}

// quotient is one figure over another.
func quotient(a, b reading) reading {
	return func(samples []sample) (value, bool) {
		x, okX := a(samples)
		y, okY := b(samples)
		if !okX || !okY || y.value == 0 {
			return value{}, false
		}
		return value{x.value / y.value, x.cpu}, true
	}
}
