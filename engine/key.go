package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"raglab/cache"
)

// keySalt separates keys of this scheme from any other hash. It changes when
// the way keys are made changes, or the form in which package artifact writes.
const keySalt = "raglab stage key 2"

// sortFields brings fields into the order in which they are hashed.
func sortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int {
		if c := strings.Compare(string(a.Class), string(b.Class)); c != 0 {
			return c
		}
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return bytes.Compare(AppendValue(nil, a.Value), AppendValue(nil, b.Value))
	})
}

// appendDefinition appends the part of a key that the stage itself decides.
func appendDefinition(dst []byte, kind *Kind, fields []Field) []byte {
	dst = appendString(dst, keySalt)
	dst = appendString(dst, kind.Name)
	dst = appendString(dst, kind.Version)
	dst = appendLength(dst, len(fields))
	for _, f := range fields {
		dst = appendField(dst, f)
	}
	return dst
}

func appendField(dst []byte, f Field) []byte {
	dst = appendString(dst, string(f.Class))
	dst = appendString(dst, f.Path)
	return AppendValue(dst, f.Value)
}

// planKey hashes a definition with the plan keys of the inputs.
func planKey(buf []byte, s *Stage) (cache.Key, []byte) {
	buf = appendString(buf[:0], "plan")
	buf = appendDefinition(buf, s.Kind, s.Fields)
	for _, in := range s.Inputs {
		buf = appendString(buf, in.Name)
		buf = append(buf, in.From.planKey[:]...)
		buf = appendString(buf, in.Output)
		buf = AppendValue(buf, in.Late)
	}
	return sha256.Sum256(buf), buf
}

// contentKey hashes a definition with the digests of the inputs, which are in
// the order of the stage's.
func contentKey(buf []byte, s *Stage, fields []Field, inputs []cache.Blob) (cache.Key, []byte) {
	buf = appendString(buf[:0], "content")
	buf = appendDefinition(buf, s.Kind, fields)
	for i, in := range s.Inputs {
		if in.Late {
			continue
		}
		buf = appendString(buf, in.Name)
		buf = append(buf, inputs[i].Digest[:]...)
	}
	return sha256.Sum256(buf), buf
}

// Manifest is what a content key was hashed from, in a form to be read and
// compared. It is stored beside the result.
type Manifest struct {
	Kind    string          `json:"kind"`
	Version string          `json:"version"`
	Fields  []ManifestField `json:"fields"`
	Inputs  []ManifestInput `json:"inputs"`
}

// ManifestField is a field of a manifest.
type ManifestField struct {
	Class Class  `json:"class"`
	Path  string `json:"path"`
	Value Value  `json:"value"`
}

// ManifestInput is an input of a manifest: what it was, and the address of the
// stage that made it.
type ManifestInput struct {
	Name   string       `json:"name"`
	From   string       `json:"from"`
	Digest cache.Digest `json:"digest"`
}

func manifestOf(s *Stage, fields []Field, inputs []cache.Blob) Manifest {
	m := Manifest{Kind: s.Kind.Name, Version: s.Kind.Version, Fields: manifestFields(fields)}
	for i, in := range s.Inputs {
		if in.Late {
			continue
		}
		m.Inputs = append(m.Inputs, ManifestInput{in.Name, in.From.Address, inputs[i].Digest})
	}
	return m
}

func manifestFields(fields []Field) []ManifestField {
	out := make([]ManifestField, len(fields))
	for i, f := range fields {
		out[i] = ManifestField{f.Class, f.Path, writable(f.Value)}
	}
	return out
}

// ParseManifest reads a stored manifest.
func ParseManifest(raw json.RawMessage) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	return m, nil
}

// mergeFields returns base with each of late's fields put in the place of the
// one with its class and path, or added.
func mergeFields(base, late []Field) []Field {
	out := slices.Clone(base)
	for _, f := range late {
		i := slices.IndexFunc(out, func(o Field) bool { return o.Class == f.Class && o.Path == f.Path })
		if i < 0 {
			out = append(out, f)
		} else {
			out[i] = f
		}
	}
	sortFields(out)
	return out
}
