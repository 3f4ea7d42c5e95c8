package workspace

import (
	"fmt"
	"io"
	"slices"

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
		_, err := fmt.Fprintf(w, "%s\n    %s\n    %s\n    As in: %s\n", k.Pattern(), k.Summary, k.Formula, k.Source)
		if err != nil {
			return fmt.Errorf("write documentation: %w", err)
		}
	}
	return nil
}
