package idmap

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestMap_isAsAMap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	m, want := New(), map[string]uint64{}
	for i := range 200_000 {
		key, value := fmt.Sprint(r.IntN(100_000)), uint64(i)
		if i%1000 == 0 {
			value = Most
		}
		before, known := m.Add(key, value)
		old, has := want[key]
		if known != has || before != old {
			t.Fatalf("%s: %d, %v, want %d, %v", key, before, known, old, has)
		}
		if !has {
			want[key] = value
		}
	}
	if m.Len() != len(want) {
		t.Errorf("%d strings, want %d", m.Len(), len(want))
	}
	for i := range 110_000 {
		key := fmt.Sprint(i)
		got, known := m.Get(key)
		if value, has := want[key]; known != has || got != value {
			t.Fatalf("%s: %d, %v, want %d, %v", key, got, known, value, has)
		}
	}
	if _, known := New().Get(""); known {
		t.Error("an empty map has something")
	}
}

// Strings that share what decides the place of a slot are told apart by the rest.
func TestTable_probes(t *testing.T) {
	t.Parallel()
	var tab table
	tab.grow()
	for i := range uint64(6) {
		*tab.find(slot{^uint64(0), i << 48}) = slot{^uint64(0), i<<48 | i}
	}
	tab.grow()
	for i := range uint64(6) {
		if got := tab.find(slot{^uint64(0), i << 48}).rest & Most; got != i {
			t.Errorf("slot %d has %d", i, got)
		}
	}
}

func TestMap_isSmall(t *testing.T) {
	t.Parallel()
	m := New()
	for n := 1; n <= 1_000_000; n++ {
		m.Add(fmt.Sprint(n), 1)
		if n < 100_000 || n%50_000 != 0 {
			continue
		}
		slots := 0
		for _, tab := range m.tables {
			slots += cap(tab.slots)
		}
		if each := 16 * float64(slots) / float64(n); each > 26 {
			t.Errorf("%d strings take %.1f bytes each", n, each)
		}
	}
}

func TestAdd_refusesTooGreatANumber(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it was taken")
		}
	}()
	New().Add("a", Most+1)
}

func BenchmarkAdd(b *testing.B) {
	keys := make([]string, 1<<20)
	for i := range keys {
		keys[i] = fmt.Sprintf("document-%d", i)
	}
	m := New()
	for i := 0; b.Loop(); i++ {
		if i%len(keys) == 0 {
			m = New()
		}
		m.Add(keys[i%len(keys)], 7)
	}
}
