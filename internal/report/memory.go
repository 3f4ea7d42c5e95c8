package report

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
)

// Memory keeps the comparisons of one report for the next, each under a hash of
// all that it was computed from: resampling is most of the work of an apply that
// has nothing else to do. Nil remembers nothing. Not safe for concurrent use.
type Memory struct {
	known, used map[string][]Comparison
	changed     bool
}

// comparisonVersion is raised when the same values may give other comparisons.
const comparisonVersion = "comparisons 1"

// ParseMemory reads what [Memory.Encode] wrote. What cannot be read is forgotten.
func ParseMemory(b []byte) *Memory {
	m := &Memory{known: map[string][]Comparison{}, used: map[string][]Comparison{}}
	if len(b) > 0 && json.Unmarshal(b, &m.known) != nil {
		m.known = map[string][]Comparison{}
	}
	return m
}

// Encode returns the comparisons that were asked for since the memory was read,
// and nil when they were all known.
func (m *Memory) Encode() []byte {
	if !m.changed {
		return nil
	}
	b, err := json.Marshal(m.used)
	if err != nil {
		return nil // a number that JSON lacks: computed again next time
	}
	return b
}

// againstFirst is the function of that name, remembered.
func (m *Memory) againstFirst(systems [][]float64) []Comparison {
	if m == nil {
		return againstFirst(systems)
	}
	key := hashOf(systems)
	found, ok := m.known[key]
	if !ok || len(found) != len(systems)-1 {
		found, m.changed = againstFirst(systems), true
	}
	m.used[key] = found
	return found
}

func hashOf(systems [][]float64) string {
	hash := sha256.New()
	hash.Write([]byte(comparisonVersion))
	var buf []byte
	for _, values := range systems {
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(len(values)))
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
		}
		hash.Write(buf)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
