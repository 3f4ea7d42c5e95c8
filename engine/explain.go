package engine

import (
	"maps"
	"slices"

	"raglab/cache"
)

// LateMark is the map key that marks, in a field's value, a value that an input
// will decide; its value says which.
const LateMark = "$late"

// explain says why a stage with known inputs is not cached.
func (w *planning) explain(s *Stage, key cache.Key, now Manifest, miss cache.Miss) Reason {
	switch miss.Reason {
	case cache.MissRecordCorrupt:
		return Reason{Kind: ReasonCorrupt, Field: "record " + key.Short()}
	case cache.MissOutputMissing:
		return Reason{Kind: ReasonOutputMissing, Field: miss.Output.Name}
	}
	before, ok := w.Ledger[s.Address]
	if !ok {
		return w.nearest(s, now)
	}
	if before.Key == key {
		return Reason{Kind: ReasonOutputMissing, Field: "record " + key.Short()}
	}
	record, _, err := w.ahead.lookup(s, before.Key)
	if err != nil || record == nil {
		return Reason{Kind: ReasonNew}
	}
	old, err := ParseManifest(record.Manifest)
	if err != nil {
		return Reason{Kind: ReasonNew}
	}
	if r := Compare(old, now); r.Kind != ReasonNone {
		return r
	}
	// All that a manifest shows is equal: keys were made in another way then.
	return Reason{Kind: ReasonCode, Field: "stage keys"}
}

// ownReason says why a stage must run whatever its inputs come to: it never ran,
// its result is gone, or its definition differs from the last result's. Fields
// that only an input can decide are not compared.
func (w *planning) ownReason(s *Stage) (Reason, error) {
	before, ok := w.Ledger[s.Address]
	if !ok {
		return Reason{Kind: ReasonNew}, nil
	}
	record, miss, err := w.ahead.lookup(s, before.Key)
	switch {
	case err != nil:
		return Reason{}, err
	case miss.Reason == cache.MissRecordCorrupt:
		return Reason{Kind: ReasonCorrupt, Field: "record " + before.Key.Short()}, nil
	case miss.Reason == cache.MissNoRecord:
		return Reason{Kind: ReasonOutputMissing, Field: "record " + before.Key.Short()}, nil
	}
	if old, err := ParseManifest(record.Manifest); err == nil {
		now := Manifest{Kind: s.Kind.Name, Version: s.Kind.Version, Fields: manifestFields(s.Fields)}
		if s.Late != nil {
			dropUnresolved(&old, &now)
		}
		old.Inputs = nil
		if r := Compare(old, now); r.Kind != ReasonNone {
			return r, nil
		}
	}
	if miss.Reason == cache.MissOutputMissing {
		return Reason{Kind: ReasonOutputMissing, Field: miss.Output.Name}, nil
	}
	if missing := w.missing(s, before.Key); missing != "" {
		return missingReason(missing), nil
	}
	return Reason{}, nil
}

// dropUnresolved removes the fields whose value an input will decide from both.
func dropUnresolved(old, now *Manifest) {
	pending := map[fieldID]bool{}
	now.Fields = slices.DeleteFunc(now.Fields, func(f ManifestField) bool {
		m, _ := f.Value.(map[string]Value)
		if _, late := m[LateMark]; late {
			pending[f.id()] = true
			return true
		}
		return false
	})
	old.Fields = slices.DeleteFunc(old.Fields, func(f ManifestField) bool { return pending[f.id()] })
}

// manifest reads the manifest of an earlier result, when it is still there.
func (w *planning) manifest(k cache.Key) (Manifest, bool) {
	record, err := w.Store.Get(w.ctx, k)
	if err != nil {
		return Manifest{}, false
	}
	m, err := ParseManifest(record.Manifest)
	return m, err == nil
}

// formerStages are results of the ledger whose address the graph no longer has:
// of one kind and, where the kind is sharded, one shard.
type formerStages struct {
	addresses []string
	manifests []Manifest
	fields    []map[fieldID]string
	read      bool
}

// nearestLimit bounds how many earlier results a new address is compared with.
const nearestLimit = 64

// nearest explains a stage whose address is new by the earlier stage of its
// kind, no longer in the graph, that shares the most fields, more than half of
// them: a renamed option then shows what changed. Of equally near ones the first
// by address counts.
func (w *planning) nearest(s *Stage, now Manifest) Reason {
	former := w.former(s)
	if former == nil {
		return Reason{Kind: ReasonNew}
	}
	reason := Reason{Kind: ReasonNew}
	most := len(now.Fields) / 2
	have := fieldSet(now)
	for i, fields := range former.fields {
		n := 0
		for id, value := range have {
			if was, ok := fields[id]; ok && was == value {
				n++
			}
		}
		if n <= most {
			continue
		}
		if r := Compare(former.manifests[i], now); r.Kind != ReasonNone && r.Kind != ReasonInput {
			most, reason = n, r
		}
	}
	return reason
}

// former returns what a new address may be compared with, read once.
func (w *planning) former(s *Stage) *formerStages {
	if w.renamed == nil {
		w.renamed = map[string]*formerStages{}
		for _, a := range slices.Sorted(maps.Keys(w.Ledger)) {
			if _, ok := w.plan.Graph.Find(a); !ok {
				w.group(a).add(a)
			}
		}
	}
	f := w.renamed[formerGroup(s.Address)]
	if f == nil || f.read {
		return f
	}
	f.read = true
	for _, a := range f.addresses {
		if m, ok := w.manifest(w.Ledger[a].Key); ok {
			f.manifests = append(f.manifests, m)
			f.fields = append(f.fields, fieldSet(m))
		}
	}
	return f
}

func (w *planning) group(address string) *formerStages {
	g := formerGroup(address)
	if w.renamed[g] == nil {
		w.renamed[g] = &formerStages{}
	}
	return w.renamed[g]
}

func (f *formerStages) add(address string) {
	if len(f.addresses) < nearestLimit {
		f.addresses = append(f.addresses, address)
	}
}

// formerGroup is an address without the options in it: the kind and the shard.
func formerGroup(address string) string {
	_, shard := splitShard(address)
	return addressKind(address) + shard
}

// fieldSet holds a manifest's fields with their values' encodings.
func fieldSet(m Manifest) map[fieldID]string {
	set := make(map[fieldID]string, len(m.Fields))
	var buf []byte
	for _, f := range m.Fields {
		buf = AppendValue(buf[:0], plain(f.Value))
		set[f.id()] = string(buf)
	}
	return set
}
