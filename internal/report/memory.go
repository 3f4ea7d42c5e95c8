package report

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"

	"raglab/internal/stats"
)

// Memory keeps what one report found by resampling for the next, each thing under a
// hash of all that it was computed from: resampling is most of the work of an apply
// that has nothing else to do. Nil remembers nothing. Not safe for concurrent use.
type Memory struct {
	known, used map[string]json.RawMessage
	changed     bool
	draws       *stats.Draws // of this report; made when something is not remembered
}

// memoryVersion is raised when the same values may give another result.
const memoryVersion = "resampled 2"

// ParseMemory reads what [Memory.Encode] wrote. What cannot be read is forgotten.
func ParseMemory(b []byte) *Memory {
	m := &Memory{known: map[string]json.RawMessage{}, used: map[string]json.RawMessage{}}
	if len(b) > 0 && json.Unmarshal(b, &m.known) != nil {
		m.known = map[string]json.RawMessage{}
	}
	return m
}

// Encode returns what was asked for since the memory was read, and nil when all of
// it was known.
func (m *Memory) Encode() []byte {
	if !m.changed {
		return nil
	}
	b, err := json.Marshal(m.used)
	if err != nil {
		return nil // computed again next time
	}
	return b
}

// remembered returns what compute returns, from memory if it is there. The name and
// the systems are all that it depends on.
func remembered[T any](m *Memory, name string, systems [][]float64, compute func(*stats.Draws) T) T {
	if m == nil {
		return compute(newDraws())
	}
	var v T
	key := hashOf(name, systems)
	raw, ok := m.known[key]
	if !ok || json.Unmarshal(raw, &v) != nil {
		if m.draws == nil {
			m.draws = newDraws()
		}
		v = compute(m.draws)
		m.changed = true
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return v // a number that JSON lacks: computed again next time
		}
	}
	m.known[key], m.used[key] = raw, raw
	return v
}

// newDraws returns draws that what one report resamples has in common.
func newDraws() *stats.Draws { return stats.NewDraws(stats.DefaultOptions().Seed, stats.DrawsRoom) }

// rest lets go of the draws.
func (m *Memory) rest() { m.draws = nil }

func hashOf(name string, systems [][]float64) string {
	hash := sha256.New()
	hash.Write([]byte(memoryVersion + "\x00" + name + "\x00"))
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
