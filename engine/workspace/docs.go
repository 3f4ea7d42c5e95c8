package workspace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"raglab/axes/metric"
	"raglab/spec"
)

// Docs prints the documentation of a topic, see [spec.Docs], and of metrics.
func Docs(w io.Writer, topic, kind string) error {
	if topic != "metric" {
		return spec.Docs(w, Catalog(), topic, kind)
	}
	kinds := metric.Kinds()
	if kind != "" {
		i := slices.IndexFunc(kinds, func(k metric.Kind) bool { return k.Name == kind })
		if i < 0 {
			_, err := metric.Parse(kind)
			return err
		}
		kinds = kinds[i : i+1]
	}
	for _, k := range kinds {
		_, err := fmt.Fprintf(w, "%s\n%s%s%s", k.Pattern(), paragraph(k.Summary), paragraph(k.Formula), paragraph("As in: "+k.Source))
		if err != nil {
			return fmt.Errorf("write documentation: %w", err)
		}
	}
	return nil
}

// paragraph indents a text and breaks it into lines of at most 80 characters.
func paragraph(text string) string {
	const margin, width = "    ", 80
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString(margin)
			at = len(margin)
		case at+1+n > width:
			b.WriteString("\n" + margin)
			at = len(margin)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String() + "\n"
}
