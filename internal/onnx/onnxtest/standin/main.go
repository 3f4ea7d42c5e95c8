// Standin writes a folder with a cross-encoder made by rule, for runs that cannot
// get a trained one:
//
//	go run ./internal/onnx/onnxtest/standin -o DIR FILE…
//
// The files are a corpus: each line of a .jsonl file is a document with the fields
// title and text, any other file is one document. A spec names the folder:
//
//	fixed "reranker" {
//	  option "cross_encoder" { folder = "DIR" }
//	}
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"raglab/internal/onnx/onnxtest"
)

func main() {
	out := flag.String("o", "", "`folder` to write")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: standin -o DIR FILE…")
		os.Exit(2)
	}
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func run(dir string, files []string) error {
	var texts []string
	for _, name := range files {
		some, err := read(name)
		if err != nil {
			return err
		}
		texts = append(texts, some...)
	}
	return onnxtest.WriteOverlap(dir, texts)
}

// longestLine bounds a document of a .jsonl file.
const longestLine = 64 << 20

func read(name string) ([]string, error) {
	if !strings.HasSuffix(name, ".jsonl") {
		text, err := os.ReadFile(name)
		return []string{string(text)}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var texts []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var d struct{ Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(texts)+1, err)
		}
		texts = append(texts, d.Title+"\n"+d.Text)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return texts, nil
}
