package golden

import (
	"fmt"
	"io"
	"strings"
)

// Write writes the set in raglab's own format.
func Write(w io.Writer, set *Set) error {
	for _, q := range set.Questions {
		if q.Relevant == nil {
			q.Relevant = []Relevant{}
		}
		line, err := marshal(q)
		if err != nil {
			return fmt.Errorf("encode question %s: %w", q.ID, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write questions: %w", err)
		}
	}
	return nil
}

// WriteAs writes the set in a format; [Auto] means [Raglab]. What a question says
// and the format cannot is an error of type [Problems], and nothing is written.
// Second annotations are kept by [Turkish] alone; they are the only thing that
// the others leave out.
func WriteAs(w io.Writer, set *Set, format Format) error {
	var line func(Question) (any, []Problem)
	switch format {
	case Auto, Raglab, "":
		return Write(w, set)
	case RagEval:
		line = ragEvalLine
	case Turkish:
		line = turkishItem
	default:
		return fmt.Errorf("write questions: there is no format %q", format)
	}
	var problems Problems
	lines := make([]string, 0, len(set.Questions))
	for _, q := range set.Questions {
		v, wrong := line(q)
		problems = append(problems, wrong...)
		b, err := marshal(v)
		if err != nil {
			return fmt.Errorf("encode question %s: %w", q.ID, err)
		}
		lines = append(lines, string(b))
	}
	if err := problems.err(); err != nil {
		return err
	}
	before, between, after := "", "\n", "\n"
	if format == Turkish {
		before, between, after = "[\n", ",\n", "\n]\n"
	}
	if _, err := io.WriteString(w, before+strings.Join(lines, between)+after); err != nil {
		return fmt.Errorf("write questions: %w", err)
	}
	return nil
}
