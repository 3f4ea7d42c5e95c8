package pgindex

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	mib = 1 << 20
	// leastMemory is Postgres's own default of maintenance_work_mem.
	leastMemory = 64 * mib
	// workerMemory is what Postgres wants for each that takes part in a build.
	workerMemory = 32 * mib
)

// size is what one vector takes in Postgres, with its header.
func (v Vectors) size() int64 {
	if v.Half {
		return 8 + 2*int64(v.Dim)
	}
	return 8 + 4*int64(v.Dim)
}

// HNSWMemory is the maintenance_work_mem with which the graph of so many vectors
// stays in memory while it is built by the workers and their leader. An element of
// pgvector 0.8 has 128 bytes, 8 for each of its layers and 8 in front of every
// piece, the vector, and in each layer 16 bytes for every neighbour there is room
// for: 2m in the lowest, m in the others, of which there are 1 / (m - 1) on average
// (hnsw.h, hnswutils.c). A tenth more is for chance and what is left of blocks.
func (v Vectors) HNSWMemory(rows, m, workers int) int64 {
	return memory(1.1*v.graph(rows, m), workers)
}

// graph is what a graph takes on average, in bytes.
func (v Vectors) graph(rows, m int) float64 {
	element := 128 + 8 + (8 + 8 + 8 + 32*float64(m) + 8) + float64(align(v.size())+8)
	return float64(rows) * (element + (8+8+16*float64(m)+8)/float64(m-1))
}

// IVFFlatMemory is the maintenance_work_mem with which the lists are found: that of
// a sample and of Elkan's k-means over it (ivfbuild.c, ivfkmeans.c of pgvector 0.8).
func (v Vectors) IVFFlatMemory(lists, workers int) int64 {
	return memory(1.05*v.means(lists), workers)
}

// means is what k-means takes, in bytes.
func (v Vectors) means(lists int) float64 {
	k, sample := float64(lists), float64(max(50*lists, 10_000))
	vector := float64(align(v.size()))
	return vector*(2*k+sample) + 4*(k*float64(v.Dim)+3*k+2*sample+sample*k+k*k)
}

// memory rounds up to whole megabytes, and to what Postgres wants for workers.
func memory(bytes float64, workers int) int64 {
	need := int64(math.Ceil(bytes/mib)+8) * mib
	return max(need, leastMemory, workerMemory*int64(workers+1))
}

func align(n int64) int64 { return (n + 7) / 8 * 8 }

// FormatMemory writes bytes as Postgres takes them, in whole megabytes.
func FormatMemory(bytes int64) string { return strconv.FormatInt(bytes/mib, 10) + "MB" }

var memoryPattern = regexp.MustCompile(`^ *([0-9]+) *(kB|MB|GB|TB) *$`)

// mostMemory is the largest maintenance_work_mem of Postgres, in kilobytes.
const mostMemory = math.MaxInt32

// CheckMemory refuses what is no maintenance_work_mem, or one without a unit, which
// Postgres would take for kilobytes.
func CheckMemory(s string) error {
	const want = `expected "auto" or a size such as "2GB", from 1MB to 2047GB, in kB, MB, GB or TB`
	parts := memoryPattern.FindStringSubmatch(s)
	if parts == nil {
		return fmt.Errorf("%q: %s", s, want)
	}
	units := 1 << (10 * strings.Index("kMGT", parts[2][:1]))
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n > mostMemory/int64(units) || n*int64(units) < 1024 {
		return fmt.Errorf("%q: %s", s, want)
	}
	return nil
}

// DefaultLists is pgvector's advice for so many rows: a thousandth of them up to a
// million, the square root above, and at least 1.
func DefaultLists(rows int) int {
	const million = 1_000_000
	if rows <= million {
		return max(rows/1000, 1)
	}
	return int(math.Sqrt(float64(rows)))
}

// DefaultProbes is pgvector's advice for so many lists: the square root, rounded.
func DefaultProbes(lists int) int { return max(int(math.Round(math.Sqrt(float64(lists)))), 1) }
