package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// parquetTable reads the wanted columns of a Parquet file side by side, row group by
// row group, a page of each at a time. Columns that nobody asked for are not read.
type parquetTable struct {
	groups  []parquet.RowGroup
	leaves  []*parquet.Column // nil for an optional column that is missing
	columns []*parquetColumn  // of the row group being read
	left    int64             // rows of it
	row     []*string
	n       int
}

// readParquet opens a Parquet file, which needs to be read at any place, and hands it
// to use. A library that meets bytes which no honest writer writes may panic.
func readParquet(m member, wants []want, use func(at string, t table) error) error {
	local, remove, err := m.onDisk()
	if err != nil {
		return err
	}
	defer remove()
	file, err := os.Open(local)
	if err != nil {
		return unreadable(m.at, err)
	}
	defer file.Close()
	t, err := openParquet(file, wants)
	if err != nil {
		return inFile(m.at, 0, err)
	}
	defer t.close()
	return use(m.at, t)
}

// onDisk returns a file with the member's content.
func (m member) onDisk() (local string, remove func(), err error) {
	if m.local != "" {
		return m.local, func() {}, nil
	}
	tmp, err := os.CreateTemp("", "raglab-*.parquet")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.Remove(tmp.Name()) }
	in, err := m.open()
	if err == nil {
		_, err = io.Copy(tmp, in)
		err = errors.Join(err, in.Close())
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return tmp.Name(), remove, nil
}

// rescue turns a panic of the Parquet library into an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Problem: fmt.Sprintf("is a damaged Parquet file: %v", r), Hint: "fetch it again"}
	}
}

func openParquet(file *os.File, wants []want) (t *parquetTable, err error) {
	defer rescue(&err)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(file, info.Size()); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, &Error{Problem: "is no Parquet file that can be read: " + err.Error(), Err: err}
	}
	t = &parquetTable{groups: f.RowGroups(), row: make([]*string, len(wants)), leaves: make([]*parquet.Column, len(wants))}
	for i, w := range wants {
		if w.name == "" {
			continue
		}
		leaf, err := findLeaf(f.Root(), w.name)
		if err != nil {
			return nil, err
		}
		if leaf == nil && !w.optional {
			return nil, noColumn(w.name, columnNames(f.Root()))
		}
		t.leaves[i] = leaf
	}
	return t, nil
}

// checkFooter refuses a file that says its footer is longer than it is: the library
// would make room for it, up to 4 GiB, before it reads.
func checkFooter(file *os.File, size int64) error {
	var end [8]byte
	if size < 12 {
		return &Error{Problem: "is no Parquet file: it is too short"}
	}
	if _, err := file.ReadAt(end[:], size-8); err != nil {
		return err
	}
	if footer := int64(binary.LittleEndian.Uint32(end[:4])); footer > size-12 {
		return &Error{Problem: fmt.Sprintf("is no Parquet file that can be read: its footer would be %d of %d bytes", footer, size)}
	}
	return nil
}

func columnNames(c *parquet.Column) []string {
	var names []string
	for _, inner := range c.Columns() {
		names = append(names, inner.Name())
	}
	return names
}

// findLeaf returns the column of values behind a name, which may lead into structures
// with dots, or nil. Of a list the column is that of its elements.
func findLeaf(root *parquet.Column, name string) (*parquet.Column, error) {
	at := root.Column(name)
	if at == nil {
		at = root
		for part := range strings.SplitSeq(name, ".") {
			if at = unwrap(at, part); at == nil {
				return nil, nil
			}
		}
	}
	for !at.Leaf() {
		inner := at.Columns()
		if len(inner) != 1 {
			return nil, &Error{
				Problem: fmt.Sprintf("the column %q is a structure", name),
				Hint:    fmt.Sprintf("name a field in it, such as %s.%s", name, strings.Join(columnNames(at), " or "+name+".")),
			}
		}
		at = inner[0]
	}
	if at.MaxRepetitionLevel() > 1 {
		return nil, &Error{Problem: fmt.Sprintf("the column %q is a list of lists", name)}
	}
	return at, nil
}

// unwrap steps into a structure, through the two levels that make a list of it.
func unwrap(at *parquet.Column, part string) *parquet.Column {
	for range 3 {
		if inner := at.Column(part); inner != nil {
			return inner
		}
		if at.Leaf() || len(at.Columns()) != 1 {
			return nil
		}
		at = at.Columns()[0]
	}
	return nil
}

func (t *parquetTable) line() int { return t.n }

func (t *parquetTable) close() {
	for _, c := range t.columns {
		if c != nil {
			c.close()
		}
	}
	t.columns = nil
}

func (t *parquetTable) next() (row []*string, err error) {
	defer func() {
		if err != nil {
			t.left, t.groups = 0, nil // nothing after it can be told apart
		}
	}()
	defer rescue(&err)
	for t.left == 0 {
		t.close()
		if len(t.groups) == 0 {
			return nil, io.EOF
		}
		g := t.groups[0]
		t.groups, t.left = t.groups[1:], g.NumRows()
		chunks := g.ColumnChunks()
		t.columns = make([]*parquetColumn, len(t.leaves))
		for i, leaf := range t.leaves {
			if leaf != nil {
				t.columns[i] = &parquetColumn{leaf: leaf, pages: chunks[leaf.Index()].Pages()}
			}
		}
	}
	t.left--
	t.n++
	for i, c := range t.columns {
		if c == nil {
			continue
		}
		if t.row[i], err = c.next(); err != nil {
			return nil, &Error{Problem: "cannot be read: " + err.Error(), Err: err}
		}
	}
	return t.row, nil
}

// parquetColumn reads one column of a row group.
type parquetColumn struct {
	leaf   *parquet.Column
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [128]parquet.Value
	at, n  int
}

func (c *parquetColumn) close() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	c.pages.Close()
}

// next returns the text of the next row's values.
func (c *parquetColumn) next() (*string, error) {
	first, err := c.peek()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	text, err := c.text(*first)
	c.at++
	if err != nil || c.leaf.MaxRepetitionLevel() == 0 {
		return text, err
	}
	var parts []string
	for {
		if text != nil {
			parts = append(parts, *text)
		}
		more, err := c.peek()
		if errors.Is(err, io.EOF) || err == nil && more.RepetitionLevel() == 0 {
			joined := strings.Join(parts, "\n")
			return &joined, nil
		}
		if err == nil {
			text, err = c.text(*more)
		}
		if err != nil {
			return nil, err
		}
		c.at++
	}
}

// peek returns the next value, which holds until the next call.
func (c *parquetColumn) peek() (*parquet.Value, error) {
	for c.at == c.n {
		if c.values == nil {
			if c.page != nil {
				parquet.Release(c.page)
				c.page = nil
			}
			page, err := c.pages.ReadPage()
			if err != nil {
				return nil, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.at, c.n = 0, n
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			c.values = nil
		} else if err != nil {
			return nil, err
		}
	}
	return &c.buf[c.at], nil
}

func (c *parquetColumn) text(v parquet.Value) (*string, error) {
	if v.IsNull() {
		return nil, nil
	}
	var s string
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		s = string(v.ByteArray())
	case parquet.Int32:
		s = strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		s = strconv.FormatInt(v.Int64(), 10)
	case parquet.Boolean:
		s = strconv.FormatBool(v.Boolean())
	case parquet.Float:
		s = strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		s = strconv.FormatFloat(v.Double(), 'g', -1, 64)
	default:
		return nil, fmt.Errorf("values of the type %s are no text", v.Kind())
	}
	return &s, nil
}
