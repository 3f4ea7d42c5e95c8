package markdown

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FrontMatter splits the block of YAML off that a Markdown text may open with:
// a line of three hyphens, a mapping, and a line of three hyphens or dots. The
// values come as strings: scalars as they are written, lists of scalars joined
// by a comma and a blank, anything deeper as YAML on one line. A text that does
// not open with such a block is returned whole, with no fields. The error is a
// [*FrontMatterError].
func FrontMatter(text string) (fields map[string]string, body string, err error) {
	block, body, ok := cutFrontMatter(text)
	if !ok {
		return nil, text, nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(block), &root); err != nil {
		return nil, text, frontMatterError(err)
	}
	if root.Kind == 0 || len(root.Content) == 0 || isNull(root.Content[0]) {
		return map[string]string{}, body, nil
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, text, &FrontMatterError{Line: top.Line + 1, Problem: "is not a mapping of names to values"}
	}
	fields = make(map[string]string, len(top.Content)/2)
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if _, twice := fields[key.Value]; twice {
			return nil, text, &FrontMatterError{Line: key.Line + 1, Problem: fmt.Sprintf("has the name %q twice", key.Value)}
		}
		if fields[key.Value], err = flat(value); err != nil {
			return nil, text, &FrontMatterError{Line: value.Line + 1, Problem: err.Error()}
		}
	}
	return fields, body, nil
}

// FrontMatterError says what is wrong with front matter.
type FrontMatterError struct {
	// Line counts from 1 in the whole text; 0 if not known.
	Line    int
	Problem string
}

func (e *FrontMatterError) Error() string { return "front matter " + e.Problem }

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (?s)(.*)$`)

// frontMatterError takes the line out of an error of the YAML decoder, whose
// lines count from that after the opening hyphens.
func frontMatterError(err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		return &FrontMatterError{Line: line + 1, Problem: "is not valid YAML: " + m[2]}
	}
	return &FrontMatterError{Problem: "is not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
}

// cutFrontMatter finds the block between the opening and closing lines.
func cutFrontMatter(text string) (block, body string, ok bool) {
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t\r") != "---" {
		return "", "", false
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		end := at + len(line)
		if more {
			end++
		}
		if fence := strings.TrimRight(line, " \t\r"); fence == "---" || fence == "..." {
			return rest[:at], rest[end:], true
		}
		at = end
	}
	return "", "", false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// flat writes a value as one string.
func flat(n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return flat(n.Alias)
	case isNull(n):
		return "", nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	}
	if n.Kind == yaml.SequenceNode && allScalars(n.Content) {
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			parts[i] = c.Value
		}
		return strings.Join(parts, ", "), nil
	}
	return flow(n)
}

func allScalars(nodes []*yaml.Node) bool {
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// flow writes a value in YAML's one-line style.
func flow(n *yaml.Node) (string, error) {
	copied := *n
	copied.Style = yaml.FlowStyle
	copied.Anchor, copied.HeadComment, copied.LineComment, copied.FootComment = "", "", "", ""
	out, err := yaml.Marshal(&copied)
	if err != nil {
		return "", fmt.Errorf("holds a value that cannot be written: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}
