package spec

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// The summaries of all diagnostics that are not HCL's own. Each has an example
// in testdata/diagnostics.
const (
	sumNoFile            = "No spec"
	sumEncoding          = "Not a text file"
	sumLineEndings       = "Windows line endings"
	sumUnknownBlock      = "Unknown block"
	sumUnknownAttribute  = "Unknown attribute"
	sumMissingAttribute  = "Missing attribute"
	sumMissingBlock      = "Missing block"
	sumDuplicateBlock    = "Duplicate block"
	sumWrongLabels       = "Wrong number of labels"
	sumBadName           = "Invalid name"
	sumBadLabel          = "Invalid label"
	sumUnknownName       = "Unknown name"
	sumUnknownVariable   = "Unknown variable"
	sumUnknownLocal      = "Unknown local"
	sumUnknownAxis       = "Unknown axis"
	sumUnknownTune       = "Unknown tune"
	sumNotKnownHere      = "Not known here"
	sumLocalCycle        = "Locals in a circle"
	sumVariableType      = "Wrong type of variable"
	sumVariableUnset     = "Variable not set"
	sumVariableFile      = "Unusable variable file"
	sumWrongType         = "Wrong type"
	sumBadValue          = "Value not allowed"
	sumUnknownKind       = "Unknown kind"
	sumUnknownFactor     = "Unknown factor"
	sumUnknownOption     = "Unknown option"
	sumUnknownLeg        = "Unknown leg"
	sumSelfLeg           = "Leg of itself"
	sumLegCycle          = "Legs in a circle"
	sumLegUnused         = "Leg not used"
	sumDuplicateOption   = "Duplicate option"
	sumNoOptions         = "No options"
	sumFixedSeveral      = "Fixed factor with several options"
	sumAxisSingle        = "Axis with a single option"
	sumAxisUnread        = "Axis that nothing reads"
	sumTuneUnused        = "Tune not used"
	sumTuneNoSplit       = "Tune without a split"
	sumTunedLegs         = "Tuned reference"
	sumNoQuestions       = "No questions"
	sumGoldenFiles       = "Contradictory golden files"
	sumUnknownMetric     = "Unknown metric"
	sumPrimary           = "Primary metric not measured"
	sumShallow           = "Metric deeper than the ranking"
	sumDuplicateOutput   = "Duplicate output"
	sumExcludeNever      = "Exclude that never matches"
	sumIncludeNothing    = "Include that adds nothing"
	sumIncludeImpossible = "Impossible combination included"
	sumExpectNothing     = "Expectation that matches nothing"
	sumAbstainNothing    = "Abstention that matches nothing"
	sumGateNothing       = "Gate that is about nothing"
	sumNothingLeft       = "No configuration left"
	sumTooLarge          = "Cross too large"
	sumBaseDropped       = "Base not among the configurations"
	sumTuneMissing       = "Tuned value missing"
)

// problem is a diagnostic in the making.
func problem(severity hcl.DiagnosticSeverity, summary string, subject hcl.Range, format string, args ...any) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: severity, Summary: summary, Detail: fmt.Sprintf(format, args...)}
	if subject.Filename != "" {
		d.Subject = &subject
	}
	return d
}

func errorAt(summary string, subject hcl.Range, format string, args ...any) *hcl.Diagnostic {
	return problem(hcl.DiagError, summary, subject, format, args...)
}

func warningAt(summary string, subject hcl.Range, format string, args ...any) *hcl.Diagnostic {
	return problem(hcl.DiagWarning, summary, subject, format, args...)
}

// sentence makes an error's text one.
func sentence(err error) string {
	s := capital(err.Error())
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// inContext adds what shows the values of the names that the expression reads.
func inContext(d *hcl.Diagnostic, expr hcl.Expression, ctx *hcl.EvalContext) *hcl.Diagnostic {
	d.Expression, d.EvalContext = expr, ctx
	return d
}

// tidy sorts diagnostics by file and place and removes repetitions. Those
// without a place come first.
func tidy(diags hcl.Diagnostics) hcl.Diagnostics {
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		ra, rb := subject(a), subject(b)
		return cmp.Or(
			cmp.Compare(ra.Filename, rb.Filename),
			cmp.Compare(ra.Start.Byte, rb.Start.Byte),
			cmp.Compare(ra.End.Byte, rb.End.Byte),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Summary, b.Summary),
			cmp.Compare(a.Detail, b.Detail),
		)
	})
	return slices.CompactFunc(diags, func(a, b *hcl.Diagnostic) bool {
		return a.Severity == b.Severity && a.Summary == b.Summary && a.Detail == b.Detail && subject(a) == subject(b)
	})
}

func subject(d *hcl.Diagnostic) hcl.Range {
	if d.Subject == nil {
		return hcl.Range{}
	}
	return *d.Subject
}

// redact replaces secret texts that a message quotes.
func redact(diags hcl.Diagnostics, secrets []string) {
	if len(secrets) == 0 {
		return
	}
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "(sensitive)")
	}
	r := strings.NewReplacer(pairs...)
	for _, d := range diags {
		d.Detail = r.Replace(d.Detail)
	}
}

// WriteDiagnostics prints diagnostics with the lines that they are about and
// the values of the names read there. The files are an [Experiment]'s. A width
// of 0 does not wrap.
func WriteDiagnostics(w io.Writer, files map[string]*hcl.File, diags hcl.Diagnostics, width int, color bool) error {
	if err := hcl.NewDiagnosticTextWriter(w, files, uint(max(width, 0)), color).WriteDiagnostics(diags); err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}
	return nil
}
