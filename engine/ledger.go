package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"raglab/cache"
)

// LedgerEntry is what is remembered of a stage from one apply to the next.
type LedgerEntry struct {
	Key  cache.Key
	Wall time.Duration // of the run that made the result
}

// Ledger remembers, for one experiment, the last result of each address. It
// explains reruns and estimates times; no result depends on it.
type Ledger map[string]LedgerEntry

// ledgerHead names the format of a ledger's file.
const ledgerHead = "raglab ledger 1"

// Tabs and line ends in addresses are escaped as in Go.
var (
	escapeAddress   = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)
	unescapeAddress = strings.NewReplacer(`\\`, "\\", `\t`, "\t", `\n`, "\n")
)

// Encode writes the ledger as lines of address, key and milliseconds, separated
// by tabs, in order of address.
func (l Ledger) Encode() []byte {
	addresses := slices.AppendSeq(make([]string, 0, len(l)), maps.Keys(l))
	slices.Sort(addresses)
	b := make([]byte, 0, 128*(len(l)+1))
	b = append(b, ledgerHead+"\n"...)
	for _, a := range addresses {
		e := l[a]
		b = append(b, escapeAddress.Replace(a)...)
		b = hex.AppendEncode(append(b, '\t'), e.Key[:])
		b = strconv.AppendInt(append(b, '\t'), e.Wall.Milliseconds(), 10)
		b = append(b, '\n')
	}
	return b
}

// ParseLedger reads what [Ledger.Encode] wrote.
func ParseLedger(b []byte) (Ledger, error) {
	text, ok := strings.CutPrefix(string(b), ledgerHead+"\n")
	if !ok {
		return nil, fmt.Errorf("read ledger: it does not begin with %q", ledgerHead)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, errors.New("read ledger: its last line is cut short")
	}
	l := make(Ledger, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		if n := strings.Count(line, "\t") + 1; n != 3 {
			return nil, fmt.Errorf("read ledger: line %q has %d fields, not 3", line, n)
		}
		address, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		digits, wall, _ := strings.Cut(rest, "\t")
		key, err := cache.ParseKey(digits)
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		ms, err := strconv.ParseInt(wall, 10, 64)
		if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
			return nil, fmt.Errorf("read ledger: %q is no number of milliseconds", wall)
		}
		l[unescapeAddress.Replace(address)] = LedgerEntry{key, time.Duration(ms) * time.Millisecond}
	}
	return l, nil
}

// rates is the mean wall time of each stage kind in the ledger, by the word
// with which addresses begin.
func (l Ledger) rates() map[string]time.Duration {
	sum, n := map[string]time.Duration{}, map[string]time.Duration{}
	for a, e := range l {
		k := addressKind(a)
		sum[k] += e.Wall
		n[k]++
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	return sum
}

func addressKind(address string) string {
	if i := strings.IndexAny(address, "[#"); i >= 0 {
		return address[:i]
	}
	return address
}

// Update returns the ledger as it is after an apply: every stage that is done
// has its key, with the time its run took where it ran now, and stages that the
// graph no longer has are forgotten unless the plan left stages out. A stage is
// remembered under all its addresses. One whose result was not kept, or that
// has none, stays as it was.
func (l Ledger) Update(p *Plan, o *Outcomes) Ledger {
	next := make(Ledger, len(p.Stages))
	if p.Partial {
		maps.Copy(next, l)
	}
	for i := range p.Stages {
		s := p.Stages[i].Stage
		l.carry(next, s.Address, o, s)
		for _, address := range s.also {
			l.carry(next, address, o, s)
		}
	}
	for _, s := range o.unkept {
		for _, address := range slices.Concat(s.also, []string{s.Address}) {
			delete(next, address)
			if before, had := l[address]; had {
				next[address] = before
			}
		}
	}
	return next
}

// carry writes into next what is to be remembered of a stage under an address.
func (l Ledger) carry(next Ledger, address string, o *Outcomes, s *Stage) {
	before, had := l[address]
	switch {
	case o.State[s.index] != StateDone:
		if had {
			next[address] = before
		}
	case o.Wall[s.index] > 0:
		next[address] = LedgerEntry{o.Keys[s.index], max(o.Wall[s.index], time.Millisecond)}
	default:
		next[address] = LedgerEntry{o.Keys[s.index], before.Wall}
	}
}

// Equal reports whether two ledgers say the same.
func (l Ledger) Equal(other Ledger) bool { return maps.Equal(l, other) }
