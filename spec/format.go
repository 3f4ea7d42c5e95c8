package spec

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/rogpeppe/go-internal/diff"
)

// maxFormatPasses bounds how often the formatter is applied; in practice the
// second pass changes nothing, but rarely.
const maxFormatPasses = 8

// Format lays out the text of a spec in the canonical way: indentation, spaces
// and aligned equal signs. Formatting twice changes nothing. Text that cannot
// be parsed is returned as it is, together with what is wrong with it.
func Format(name string, src []byte) ([]byte, hcl.Diagnostics) {
	if d := checkText(Source{Name: name, Bytes: src}); d != nil {
		return src, hcl.Diagnostics{d}
	}
	if _, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos); diags.HasErrors() {
		return src, tidy(diags)
	}
	for range maxFormatPasses {
		formatted := hclwrite.Format(src)
		if bytes.Equal(formatted, src) {
			break
		}
		src = formatted
	}
	return src, nil
}

// Diff shows as a unified diff what formatting changes; it is empty when that
// is nothing.
func Diff(name string, src, formatted []byte) []byte {
	return diff.Diff(fmt.Sprintf("a/%s", name), src, fmt.Sprintf("b/%s", name), formatted)
}
