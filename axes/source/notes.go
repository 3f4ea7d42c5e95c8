package source

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"raglab/axes"
)

// tally counts one sort of oddity and remembers where it was first met.
type tally struct {
	n     int
	first string
}

func (t *tally) add(where string) {
	if t.n == 0 {
		t.first = where
	}
	t.n++
}

// say returns a sentence for a tally that is not zero. The formats take the
// count (many only) and the first place.
func (t *tally) say(one, many string) []string {
	switch t.n {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf(one, t.first)}
	default:
		return []string{fmt.Sprintf(many, t.n, t.first)}
	}
}

// notes are the oddities that a run through the documents noticed.
type notes struct {
	marks, crlf, skipped, kept tally
	linkedFolders              tally
}

func (n *notes) warnings() []string {
	return slices.Concat(
		n.marks.say("%s begins with a byte order mark, which was left out",
			"%d files begin with a byte order mark, which was left out; the first is %s"),
		n.crlf.say("the document %s has CRLF line ends, which are kept",
			"%d documents have CRLF line ends, which are kept; the first is %s"),
		n.skipped.say("the document %s has no text and was skipped",
			"%d documents have no text and were skipped; the first is %s"),
		n.kept.say("the document %s has no text and was kept as an empty one",
			"%d documents have no text and were kept as empty ones; the first is %s"),
		n.linkedFolders.say("the folder %s is a symbolic link and was not entered",
			"%d folders are symbolic links and were not entered; the first is %s"),
	)
}

// warnings holds what the last complete reading of each sort had to say.
type warnings struct {
	mu                   sync.Mutex
	documents, questions []string
}

// Warnings implements [Warner].
func (w *warnings) Warnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(w.documents, w.questions)
}

// reading turns a function that reads a corpus into its sequence, and keeps what it
// said once it has read all. The function returns what there is to warn of, whether
// the caller still wants to hear, and what was wrong.
func (w *warnings) reading(ctx context.Context,
	read func(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error),
) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		said, more, err := read(ctx, yield)
		switch {
		case !more:
		case err != nil:
			yield(axes.Document{}, err)
		default:
			w.setDocuments(said)
		}
	}
}

func (w *warnings) setDocuments(said []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.documents = said
}

func (w *warnings) setQuestions(said []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.questions = said
}
