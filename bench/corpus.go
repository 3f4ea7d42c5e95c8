package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"os"
)

// texts is a corpus in memory.
type texts []string

func (t texts) Len() int                           { return len(t) }
func (t texts) Vectors() (rows []float32, dim int) { return nil, 0 }

func (t texts) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range t {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// streamed is a corpus that is read from its file each time.
type streamed struct {
	path string
	n    int
}

func (s *streamed) Len() int                           { return s.n }
func (s *streamed) Vectors() (rows []float32, dim int) { return nil, 0 }

func (s *streamed) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for r, err := range s.records() {
			if !yield(r.Title+" "+r.Text, err) || err != nil {
				return
			}
		}
	}
}

// textRecord is a line of docs.jsonl or queries.jsonl.
type textRecord struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func (s *streamed) records() iter.Seq2[textRecord, error] { return recordsOf(s.path) }

// recordsOf yields the lines of a file.
func recordsOf(path string) iter.Seq2[textRecord, error] {
	return func(yield func(textRecord, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(textRecord{}, err)
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(bufio.NewReaderSize(f, 1<<20))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var r textRecord
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				yield(r, fmt.Errorf("read %s: %w", path, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(textRecord{}, fmt.Errorf("read %s: %w", path, err))
		}
	}
}

func readRecords(path string) ([]textRecord, error) {
	var out []textRecord
	for r, err := range recordsOf(path) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
