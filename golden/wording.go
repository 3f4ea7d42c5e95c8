package golden

import (
	"slices"
	"strings"
	"unicode"
)

// Wording says how much of a question's wording is that of the documents: shares of its
// different words, as [CopiedShare] has them.
type Wording struct {
	// Document is the share that stands in a relevant document, of several the highest.
	Document float64
	// Other is the share that stands in a document that is relevant to another question
	// and not to this one, to hold Document against: common words stand in any
	// text. Nil where there is no such document.
	Other *float64
	// Span is the share that stands in an answer span, of several the highest; nil without one.
	Span *float64
}

// Wordings compares the questions' words with the texts of their documents, as content has
// them, letter by letter: it cuts no endings and knows no synonyms. The result runs
// parallel to the set's questions; it is nil for one without words, and for one of whose relevant documents
// no text is known.
func Wordings(set *Set, content func(id string) (string, bool)) []*Wording {
	w := wordings{ids: map[string]int32{}, content: content, documents: map[string][]int32{}}
	for _, q := range set.Questions {
		asked := []int32{}
		for _, word := range foldedWords(q.Text) {
			id, known := w.ids[word]
			if !known {
				id = int32(len(w.ids))
				w.ids[word] = id
			}
			asked = append(asked, id)
		}
		w.asked = append(w.asked, distinct(asked))
	}
	out := make([]*Wording, len(set.Questions))
	for i := range set.Questions {
		out[i] = w.of(set.Questions, i)
	}
	return out
}

// wordings knows words by numbers, but those of documents alone that no question has.
type wordings struct {
	ids       map[string]int32
	asked     [][]int32 // by question
	content   func(id string) (string, bool)
	documents map[string][]int32
}

func (w *wordings) of(questions []Question, i int) *Wording {
	if len(w.asked[i]) == 0 {
		return nil
	}
	var out Wording
	known := false
	for _, r := range questions[i].Relevant {
		if r.Grade <= 0 {
			continue
		}
		if words := w.document(r.Doc); words != nil {
			out.Document, known = max(out.Document, w.share(i, words)), true
		}
		if r.Span != "" {
			share := w.share(i, w.wordsOf(r.Span))
			if out.Span == nil || share > *out.Span {
				out.Span = &share
			}
		}
	}
	if !known {
		return nil
	}
	if doc := w.other(questions, i); doc != "" {
		share := w.share(i, w.document(doc))
		out.Other = &share
	}
	return &out
}

// other is the first document that is relevant to the next question that has one that is
// not relevant to this one; after the last question comes the first. Empty for none.
func (w *wordings) other(questions []Question, i int) string {
	for step := 1; step < len(questions); step++ {
		for _, r := range questions[(i+step)%len(questions)].Relevant {
			judged := slices.ContainsFunc(questions[i].Relevant, func(own Relevant) bool { return own.Doc == r.Doc })
			if r.Grade > 0 && !judged && w.document(r.Doc) != nil {
				return r.Doc
			}
		}
	}
	return ""
}

// share is the part of a question's words that are among others.
func (w *wordings) share(question int, words []int32) float64 {
	return float64(shared(w.asked[question], words)) / float64(len(w.asked[question]))
}

// document are the words of a document that questions have, nil where its text is not known.
func (w *wordings) document(id string) []int32 {
	words, seen := w.documents[id]
	if !seen {
		if text, known := w.content(id); known {
			words = w.wordsOf(text)
		}
		w.documents[id] = words
	}
	return words
}

// wordsOf are the different words of a text that questions have, never nil.
func (w *wordings) wordsOf(text string) []int32 {
	found := []int32{}
	for _, word := range foldedWords(text) {
		if id, asked := w.ids[word]; asked {
			found = append(found, id)
		}
	}
	return distinct(found)
}

// foldedWords are the runs of letters, digits and underscores of the folded text. An apostrophe
// within a word is left out.
func foldedWords(text string) []string {
	folded := strings.NewReplacer("'", "", "’", "", "ʼ", "").Replace(Fold(text))
	return strings.FieldsFunc(folded, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
}
