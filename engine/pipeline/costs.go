package pipeline

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"raglab/engine"
	"raglab/internal/jsonscan"
	"raglab/internal/report"
)

// measurement is what was observed while a stage ran. Its methods may be called by
// several goroutines at once.
type measurement struct {
	values  map[string]json.RawMessage
	wall    float64 // seconds
	started time.Time
	machine string

	reading sync.Once // of the times
	whole   times
	parts   map[string]times
}

// number reads a measured number, and false when it was not measured.
func (m *measurement) number(name string) (float64, bool) {
	raw, ok := m.values[name]
	if !ok {
		return 0, false
	}
	in := jsonscan.New(raw)
	v := in.Number()
	return v, in.Done() == nil
}

// measure reads what was observed while the stage's result was made; nil when
// there is no result or its record is gone.
func (c *collector) measure(s *engine.Stage) *measurement {
	if m, ok := c.measured[s]; ok {
		return m
	}
	m, ok := c.ahead.measured[s]
	if !ok {
		m = c.readMeasurement(s)
	}
	c.measured[s] = m
	if m == nil {
		return nil
	}
	if m.started.After(c.newest) {
		c.newest = m.started
	}
	if m.machine != "" {
		c.machines[m.machine] = true
	}
	return m
}

func (c *collector) readMeasurement(s *engine.Stage) *measurement {
	if c.out.State[s.Index()] != engine.StateDone {
		return nil
	}
	record, err := c.store.Get(c.ctx, c.out.Keys[s.Index()])
	if err != nil {
		return nil
	}
	var made struct {
		Started time.Time         `json:"started"`
		WallMS  float64           `json:"wall_ms"`
		By      map[string]string `json:"by"`
	}
	values := map[string]json.RawMessage{}
	in := jsonscan.New(record.Measurements)
	in.Object(func(name []byte) { values[string(name)] = in.Raw() })
	if in.Done() != nil || json.Unmarshal(record.Provenance, &made) != nil {
		return nil
	}
	return &measurement{
		values: values, wall: made.WallMS / 1000,
		started: made.Started.UTC().Truncate(time.Second), machine: made.By["machine"],
	}
}

// bytes sums a size over index stages; nil when one did not measure it.
func (c *collector) bytes(indexes []*engine.Stage, name string) *int64 {
	total := int64(0)
	for _, s := range allParts(indexes) {
		m := c.measure(s)
		if m == nil {
			return nil
		}
		v, ok := m.number(name)
		if !ok {
			return nil
		}
		total += int64(v)
	}
	return &total
}

// heapBytes sums the sizes of the rows in a database that indexes are over; nil
// when none of them is in one.
func (c *collector) heapBytes(indexes []*engine.Stage) *int64 {
	resident := slices.DeleteFunc(allParts(indexes), func(s *engine.Stage) bool { return s.Residence == nil })
	if len(resident) == 0 {
		return nil
	}
	return c.bytes(resident, "heap_bytes")
}

// seconds sums the time that stages took, or would have taken had no embedding
// been remembered; nil when that is not known of one of them.
func (c *collector) seconds(stages []*engine.Stage) *float64 {
	total := 0.0
	for _, s := range stages {
		v := c.cost(s)
		if v == nil {
			return nil
		}
		total += *v
	}
	return &total
}

// cost is the time of a stage. One that embeds and found texts remembered costs
// what its own texts say of a token, or those of another shard. Of a table that
// was there before its record it is not known.
func (c *collector) cost(s *engine.Stage) *float64 {
	m := c.measure(s)
	if m == nil {
		return nil
	}
	if _, built := m.values["build_seconds"]; s.Residence != nil && !built {
		return nil
	}
	switch s.Kind {
	case embedKind:
		return c.embedCost(m, "tokens", 0)
	case chunkKindEmbedder:
		spent, _ := m.number("embed_seconds")
		return c.embedCost(m, "embed_tokens", m.wall-spent)
	}
	return &m.wall
}

// embedCost is the time of a stage that embeds texts of so many tokens, and takes
// more for what else it does.
func (c *collector) embedCost(m *measurement, count string, more float64) *float64 {
	tokens, _ := m.number(count)
	fresh, _ := m.number("new_tokens")
	if fresh >= tokens {
		return &m.wall
	}
	rate := c.embedRate(m)
	if rate == nil {
		return nil
	}
	v := more + tokens**rate
	return &v
}

// embedRate is the seconds that a token takes, as measured by the stage itself
// or, when all its texts were remembered, by others of the same embedding space.
func (c *collector) embedRate(own *measurement) *float64 {
	if rate := rateOf(own); rate != nil {
		return rate
	}
	space := string(own.values["space"])
	if rate, ok := c.rates[space]; ok {
		return rate
	}
	var seconds, tokens float64
	for _, s := range c.p.Graph.Stages {
		if s.Kind != embedKind && s.Kind != chunkKindEmbedder {
			continue
		}
		if m := c.measure(s); m != nil && string(m.values["space"]) == space {
			fresh, _ := m.number("new_tokens")
			spent, _ := m.number("embed_seconds")
			seconds, tokens = seconds+spent, tokens+fresh
		}
	}
	c.rates[space] = nil
	if tokens > 0 {
		v := seconds / tokens
		c.rates[space] = &v
	}
	return c.rates[space]
}

func rateOf(m *measurement) *float64 {
	fresh, _ := m.number("new_tokens")
	spent, ok := m.number("embed_seconds")
	if !ok || fresh == 0 {
		return nil
	}
	v := spent / fresh
	return &v
}

// ingest lists the cost of each index once.
func (c *collector) ingest(r *report.Report) error {
	seen := map[*engine.Stage]bool{}
	for _, row := range c.p.Rows {
		for _, index := range row.Indexes {
			if seen[index] {
				continue
			}
			seen[index] = true
			r.Ingest = append(r.Ingest, c.ingestOf(index))
		}
	}
	return nil
}

func (c *collector) ingestOf(index *engine.Stage) report.Ingest {
	var chunks, embeds []*engine.Stage
	parts := partsOf(index)
	for _, part := range parts {
		for _, in := range part.Inputs {
			switch in.From.Kind.Name {
			case "chunk":
				chunks = append(chunks, in.From)
			case "embed":
				embeds = append(embeds, in.From)
			}
		}
	}
	out := report.Ingest{Name: indexName(index), Chunk: c.seconds(chunks)}
	c.indexCost(&out, index)
	n, tokens := c.sum(chunks, "chunks"), c.sum(chunks, "tokens")
	out.Chunks = int(n)
	if len(embeds) > 0 {
		out.Embed = c.seconds(embeds)
		truncated := int(c.sum(embeds, "truncated"))
		tokens, out.Truncated = c.sum(embeds, "tokens"), &truncated
	}
	if n > 0 && tokens > 0 {
		mean := tokens / n
		out.MeanTokens = &mean
	}
	if b := c.bill(append(slices.Clone(chunks), embeds...)); b.services > 0 {
		out.USD, out.USDEstimated = b.report(), b.estimated
	}
	if parts[0] != index { // putting them together takes time too
		parts = append(parts, index)
	}
	out.Total = c.seconds(slices.Concat(chunks, embeds, parts))
	return out
}

// indexCost fills in what the index stages themselves took.
func (c *collector) indexCost(out *report.Ingest, index *engine.Stage) {
	parts := partsOf(index)
	out.Index = c.seconds(parts)
	out.Build = out.Index
	out.IndexBytes, out.HeapBytes = c.bytes(parts, "index_bytes"), c.heapBytes(parts)
	m := c.together(parts)
	if m == nil {
		return
	}
	for name, into := range map[string]**float64{
		"normalise_seconds": &out.Normalise, "normalise_ms_per_document": &out.NormalisePerDocument,
		"copy_seconds": &out.Copy, "build_seconds": &out.Build,
	} {
		if v, ok := m.number(name); ok {
			*into = &v
		}
	}
	_ = json.Unmarshal(m.values["server"], &out.Server) // none in this process
	out.Words, out.UnknownWords, out.TextBytes = whole[int](m, "words"), whole[int](m, "unknown_words"), whole[int64](m, "text_bytes")
}

// together is what the parts of an index measured, added up; nil when one did not.
func (c *collector) together(parts []*engine.Stage) *measurement {
	first := c.measure(parts[0])
	if len(parts) == 1 || first == nil {
		return first
	}
	sum := &measurement{values: map[string]json.RawMessage{"server": first.values["server"]}}
	documents := 0.0
	for _, name := range []string{"normalise_seconds", "copy_seconds", "build_seconds", "words", "unknown_words", "text_bytes"} {
		total, all := 0.0, true
		for _, s := range parts {
			m := c.measure(s)
			if m == nil {
				return nil
			}
			v, ok := m.number(name)
			if each, known := m.number("normalise_ms_per_document"); known && each > 0 && name == "normalise_seconds" {
				documents += 1000 * v / each
			}
			total, all = total+v, all && ok
		}
		if all {
			sum.set(name, total)
		}
		if name == "normalise_seconds" && documents > 0 {
			sum.set("normalise_ms_per_document", 1000*total/documents)
		}
	}
	return sum
}

func (m *measurement) set(name string, v float64) {
	m.values[name] = strconv.AppendFloat(nil, v, 'g', -1, 64)
}

// whole is a measured whole number; nil when it was not measured.
func whole[T int | int64](m *measurement, name string) *T {
	v, ok := m.number(name)
	if !ok {
		return nil
	}
	n := T(v)
	return &n
}

// sum adds up what stages measured.
func (c *collector) sum(stages []*engine.Stage, name string) float64 {
	total := 0.0
	for _, s := range stages {
		if m := c.measure(s); m != nil {
			v, _ := m.number(name)
			total += v
		}
	}
	return total
}
