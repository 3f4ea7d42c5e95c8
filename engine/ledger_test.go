package engine

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/cache"
)

func keyOf(s string) cache.Key { return cache.Key(cache.DigestOf([]byte(s))) }

func TestLedger_roundTrip(t *testing.T) {
	t.Parallel()
	entry := rapid.Custom(func(t *rapid.T) LedgerEntry {
		return LedgerEntry{
			Key:  keyOf(rapid.String().Draw(t, "key")),
			Wall: time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "ms")) * time.Millisecond,
		}
	})
	address := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z]{1,3}[\[#\t\n\\ t n]{0,6}`))
	rapid.Check(t, func(t *rapid.T) {
		l := Ledger(rapid.MapOf(address, entry).Draw(t, "ledger"))
		got, err := ParseLedger(l.Encode())
		if err != nil || !got.Equal(l) {
			t.Fatalf("%v is read back as %v, %v", l, got, err)
		}
	})
}

func TestLedger_order(t *testing.T) {
	t.Parallel()
	l := Ledger{"b": {Key: keyOf("b")}, "a": {Key: keyOf("a"), Wall: time.Second}, "c": {}}
	want := l.Encode()
	for range 50 {
		if !bytes.Equal(l.Encode(), want) {
			t.Fatal("the order of lines is not fixed")
		}
	}
	if !strings.HasPrefix(string(want), ledgerHead+"\na\t") {
		t.Errorf("the ledger begins %q", want[:40])
	}
}

func FuzzParseLedger(f *testing.F) {
	good := Ledger{"chunk[a]#000": {keyOf("a"), 1500 * time.Millisecond}, "tab\there\\": {}}.Encode()
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte(ledgerHead + "\n"))
	f.Add([]byte("raglab ledger 2\n"))
	f.Add(bytes.Replace(good, []byte("1500"), []byte("9223372036854775807"), 1))
	f.Add(bytes.Replace(good, []byte("1500"), []byte("-1"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLedger(b)
		if err != nil {
			return
		}
		again, err := ParseLedger(l.Encode())
		if err != nil || !again.Equal(l) {
			t.Fatalf("%q is read as %v, which is read back as %v, %v", b, l, again, err)
		}
	})
}

func TestParseLedger_truncated(t *testing.T) {
	t.Parallel()
	b := Ledger{"a": {keyOf("a"), 12 * time.Millisecond}, "b": {keyOf("b"), 0}}.Encode()
	whole := map[int]bool{len(ledgerHead) + 1: true}
	for i := range b {
		if b[i] == '\n' {
			whole[i+1] = true
		}
	}
	for n := range b {
		if _, err := ParseLedger(b[:n]); (err == nil) != whole[n] {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestLedger_Update(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.add(pureKind, "make[a]", "1")
	l.add(pureKind, "make[alias]", "1")
	l.add(pureKind, "make[b]", "2")
	l.ledger = Ledger{"make[gone]": {Key: keyOf("gone")}}
	l.done()
	if _, ok := l.ledger["make[gone]"]; ok {
		t.Error("a stage that is no longer in the graph is remembered")
	}
	if a, alias := l.ledger["make[a]"], l.ledger["make[alias]"]; a != alias || a.Wall < time.Millisecond {
		t.Errorf("make[a] is %v, and its other name %v", a, alias)
	}
	before := l.ledger
	l.done()
	if !l.ledger.Equal(before) {
		t.Errorf("an apply with nothing to do changed %v to %v", before, l.ledger)
	}
}

// A plan of a part does not forget the rest.
func TestLedger_updateOfPartialPlan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.add(pureKind, "make[a]", "1")
	l.add(pureKind, "make[b]", "2")
	l.done()
	p, err := l.planner().Plan(t.Context(), l.graph, l.graph.Closure([]*Stage{a}))
	if err != nil {
		t.Fatal(err)
	}
	before := l.ledger
	l.applyPlan(t.Context(), p)
	if !p.Partial || !l.ledger.Equal(before) {
		t.Errorf("partial %v: %v became %v", p.Partial, before, l.ledger)
	}
}

func TestLedger_rates(t *testing.T) {
	t.Parallel()
	got := Ledger{
		"chunk[a]#000": {Wall: time.Second}, "chunk[a]#001": {Wall: 3 * time.Second}, "score[x]": {Wall: time.Minute}, "bare": {Wall: time.Hour},
	}.rates()
	for kind, want := range map[string]time.Duration{"chunk": 2 * time.Second, "score": time.Minute, "bare": time.Hour} {
		if got[kind] != want {
			t.Errorf("%s takes %v, want %v", kind, got[kind], want)
		}
	}
}
