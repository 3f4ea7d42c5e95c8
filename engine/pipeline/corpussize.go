package pipeline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"raglab/axes/source"
	"raglab/internal/param"
)

// corpusSize is what a plan knows of how large the corpus is, before it is fetched: from
// local files, a lock file or the spec, and from nothing else.
type corpusSize struct {
	bytes int64 // 0 when nothing tells
	// exact tells that plain local files say it, stated that the spec does.
	exact, stated bool
}

// corpusSize finds out the size of the corpus. What files say counts, unless they are
// packed; then what the spec says, if it does.
func (b *builder) corpusSize(src source.Source, local bool, files []File) (corpusSize, error) {
	stated := b.exp.Size
	size := corpusSize{exact: local && !slices.ContainsFunc(files, packed)}
	if local {
		size.bytes = bytesOf(files)
	} else {
		size.bytes = source.Locked(src)
	}
	switch {
	case stated.Bytes == 0:
		return size, nil
	case size.exact:
		return size, hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Size of a corpus that is there", Subject: stated.Range.Ptr(),
			Detail: fmt.Sprintf("The files of the corpus have %s, and that counts: leave size out.", param.SizeText(size.bytes)),
		}}
	}
	return corpusSize{bytes: stated.Bytes, stated: true}, nil
}

// packed tells by its name that a file's documents are larger than the file.
func packed(f File) bool {
	return slices.Contains([]string{".gz", ".zst", ".zip"}, strings.ToLower(filepath.Ext(f.Path)))
}

// most is how many bytes a shard may have: of a small corpus those that are known.
func (c corpusSize) most(s sharding) int64 {
	each := c.bytes / int64(s.shards)
	if s.shards == fewShards && (c.exact || c.stated) {
		return each
	}
	return max(each, shardBytes)
}

// surprise is what a fetch warns of that found documents of so many bytes where the plan
// assumed another size, or nothing. A quarter more or less is no surprise, and neither is
// it that plain files hold less text than bytes.
func (c corpusSize) surprise(s sharding, found int64) string {
	few := s.shards < shardsFor(found*4/5).shards
	many := s.shards > shardsFor(found*5/4).shards
	if c.exact || !few && !(many && c.stated) {
		return ""
	}
	planned := "unknown size"
	if c.bytes > 0 {
		planned = param.SizeText(c.bytes)
	}
	text := param.SizeText(found)
	return fmt.Sprintf("the corpus has %s, planned as one of %s in %d shards; write size = %q into the corpus block, which cuts it anew",
		text, planned, s.shards, strings.ReplaceAll(text, " ", ""))
}
