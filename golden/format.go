package golden

import (
	"fmt"
	"slices"
	"strings"
)

// Format is a shape that a file of questions and judgements may have.
type Format string

// The formats of one file. Questions and judgements in two files are read by
// [ParseJudged].
const (
	// Auto takes the format from the content, see [Detect].
	Auto Format = "auto"
	// Raglab is raglab's own: JSON lines, see the package's documentation.
	Raglab Format = "raglab"
	// RagEval is JSON lines with the documents and the spans in lists of their
	// own, and no grades:
	//
	//	{"id": "q1", "question": "Who …?", "relevant_docs": ["d7"], "spans": [{"doc": "d7", "text": "it was …"}], "tags": ["kind:lead"]}
	//
	// Spans and tags may be left out. relevant_docs may be called
	// relevant_doc_ids or relevant_documents, a span's doc doc_id; a span may be
	// its text alone when there is one document.
	RagEval Format = "rag-eval"
	// Turkish is the JSON list of turkish-rag-eval: one document and one span for
	// each question, contributed ones with their annotator, what a second one
	// marked, and whether the two agree:
	//
	//	[{"qid": "q1", "question": "Kim …?", "doc_id": "7", "doc_title": "…", "answer_span": "…",
	//	  "annotator": "llm-1", "source": "llm-draft",
	//	  "second_annotation": {"annotator": "llm-2", "answer_span": "…"}, "review": "agreed"}]
	//
	// The fields annotator, source, review and second_of become tags of those
	// names, such as "source:llm-draft".
	Turkish Format = "turkish-rag-eval"
)

// Formats lists the formats by name, [Auto] first.
func Formats() []Format { return []Format{Auto, Raglab, RagEval, Turkish} }

// ParseFormat reads the name of a format; empty means [Auto].
func ParseFormat(name string) (Format, error) {
	if name == "" {
		return Auto, nil
	}
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	names := make([]string, len(Formats()))
	for i, f := range Formats() {
		names[i] = string(f)
	}
	return "", fmt.Errorf("there is no format %q of questions; there are %s", name, strings.Join(names, ", "))
}

// ReadOptions say which questions of a file are wanted.
type ReadOptions struct {
	// Drafts takes questions that a model wrote ("source": "llm-draft"), too.
	Drafts bool
	// Unsettled takes questions whose annotators disagree ("review":
	// "needs-human"), too: their answer is not known yet.
	Unsettled bool
}

// Read reads a file of questions and judgements. The name stands in messages.
// Nothing is corrected: what cannot be taken as it stands is an error, of type
// [Problems], which holds everything that is wrong with the file. The warnings
// tell what was left out: a byte order mark, carriage returns at line ends,
// drafts that were not asked for.
func Read(name, data string, format Format, o ReadOptions) (set *Set, warnings []Problem, err error) {
	if format == Auto || format == "" {
		format = Detect(data)
	}
	switch format {
	case Raglab:
		set, warnings, err = Parse(name, data)
	case RagEval:
		set, warnings, err = parseRagEval(name, data)
	case Turkish:
		set, warnings, err = parseTurkish(name, data)
	default:
		return nil, nil, fmt.Errorf("read %s: there is no format %q", name, format)
	}
	if err != nil {
		return nil, warnings, err
	}
	left, err := o.choose(name, set)
	return set, append(warnings, left...), err
}

// Detect tells the format of a file: a list is [Turkish], a first line with a
// field that only [RagEval] knows is that, all else is for [Raglab], whose reader
// says best what is wrong.
func Detect(data string) Format {
	data = strings.TrimSpace(strings.TrimPrefix(data, byteOrderMark))
	if strings.HasPrefix(data, "[") {
		return Turkish
	}
	line, _, _ := strings.Cut(data, "\n")
	ms, err := readObject([]byte(line))
	if err == nil && slices.ContainsFunc(ms, func(m member) bool { return m.name == "spans" || slices.Contains(ragEvalDocs, m.name) }) {
		return RagEval
	}
	return Raglab
}

// Tags that keep what contributed questions say of themselves.
const (
	tagDraft     = "source:llm-draft"
	tagUnsettled = "review:needs-human"
)

// choose leaves out what the options do not ask for, and says so.
func (o ReadOptions) choose(name string, set *Set) (warnings []Problem, err error) {
	drafts, unsettled, all := 0, 0, len(set.Questions)
	set.Questions = slices.DeleteFunc(set.Questions, func(q Question) bool {
		switch {
		case !o.Unsettled && slices.Contains(q.Tags, tagUnsettled):
			unsettled++
		case !o.Drafts && slices.Contains(q.Tags, tagDraft):
			drafts++
		default:
			return false
		}
		return true
	})
	if drafts > 0 {
		warnings = append(warnings, Problem{File: name, Summary: fmt.Sprintf("%s left out", were(drafts, "draft")), Detail: "ask for drafts to have them"})
	}
	if unsettled > 0 {
		warnings = append(warnings, Problem{File: name, Summary: fmt.Sprintf("%s left out", were(unsettled, "question")), Detail: "their annotators disagree (" + tagUnsettled + ")"})
	}
	if all > 0 && len(set.Questions) == 0 {
		return warnings, Problems{{File: name, Summary: "no question is left", Detail: warnings[0].String()}}
	}
	return warnings, nil
}

func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return fmt.Sprintf("%d %ss were", n, noun)
}
