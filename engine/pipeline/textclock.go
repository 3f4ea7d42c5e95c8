package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"raglab/axes/text"
	"raglab/engine"
)

// textClock is an analyzer that measures another: how long text handling takes,
// apart from what is done with its terms, and how many texts leave none. Safe for
// concurrent use; times of several goroutines add up.
type textClock struct {
	analyzer text.Analyzer
	// counter, when set, is asked how many words of each text it knows, outside
	// of what is timed.
	counter text.Counter

	spent, counted atomic.Int64 // nanoseconds
	texts, empty   atomic.Int64
	words, unknown atomic.Int64
	buffers        sync.Pool
}

// termBuffer holds the terms of one text.
type termBuffer struct {
	bytes []byte
	ends  []int
}

func (b *termBuffer) add(term []byte) {
	b.bytes = append(b.bytes, term...)
	b.ends = append(b.ends, len(b.bytes))
}

// clocked returns a clock for an analyzer and the analyzer to use; nil is none.
func clocked(a text.Analyzer) (*textClock, text.Analyzer) {
	c := &textClock{analyzer: a}
	if a == nil {
		return c, nil
	}
	return c, c
}

// Terms implements [text.Analyzer]. Terms are kept until the last is made: what
// emit does takes no text handling's time.
func (c *textClock) Terms(s string, emit func(term []byte)) {
	b, ok := c.buffers.Get().(*termBuffer)
	if !ok {
		b = &termBuffer{}
	}
	b.bytes, b.ends = b.bytes[:0], b.ends[:0]
	start := time.Now()
	c.analyzer.Terms(s, b.add)
	c.spent.Add(int64(time.Since(start)))
	c.count(s, len(b.ends))
	from := 0
	for _, end := range b.ends {
		emit(b.bytes[from:end:end])
		from = end
	}
	c.buffers.Put(b)
}

func (c *textClock) count(s string, terms int) {
	c.texts.Add(1)
	if terms == 0 {
		c.empty.Add(1)
	}
	if c.counter == nil {
		return
	}
	start := time.Now()
	words, unknown := c.counter.Unknown(s)
	c.counted.Add(int64(time.Since(start)))
	c.words.Add(int64(words))
	c.unknown.Add(int64(unknown))
}

// time is how long text handling took so far.
func (c *textClock) time() time.Duration { return time.Duration(c.spent.Load()) }

// counting is how long it took to count words.
func (c *textClock) counting() time.Duration { return time.Duration(c.counted.Load()) }

// measureTime measures text handling, of a text kind that was used.
func (c *textClock) measureTime(t *engine.Task, documents int) {
	if c.texts.Load() == 0 {
		return
	}
	t.Measure("normalise_seconds", c.time().Seconds())
	t.Measure("normalise_ms_per_document", milliseconds(c.time())/float64(max(1, documents)))
}

// measureWords measures how many words a text kind did not know, where it tells.
func (c *textClock) measureWords(t *engine.Task) {
	if c.counter == nil || c.texts.Load() == 0 {
		return
	}
	t.Measure("words", c.words.Load())
	t.Measure("unknown_words", c.unknown.Load())
	t.Measure("text_bytes", c.counter.Memory())
}
