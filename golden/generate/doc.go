// Package generate makes questions of a corpus's own text, without a language
// model: four styles, a curation rule, and a reason for every candidate that is
// dropped. Nothing here knows a retriever: a question is never dropped because
// it is not found.
//
// # Styles
//
//	lead     the definition half of an article's first sentence, without the
//	         article's own name: nothing lexical to match on
//	section  the title and the heading of a section, as a short keyword query
//	factoid  a sentence from beyond the lead that holds a date or a figure,
//	         without its figures and the article's own name
//	lemma    content words of such a sentence in their dictionary forms; needs a
//	         dictionary
//
// # Curation
//
// A candidate is dropped when it
//   - is shorter than four tokens (two in section) or longer than twenty-four;
//   - has fewer than three content words once stop words are removed (one in
//     section, whose queries may have two tokens);
//   - leaks the title: at least half of the title's content words stand in it,
//     in whatever form (but in section, which names it on purpose);
//   - has the same set of content words as another candidate before it;
//   - has no term that fewer than a fifth of the documents hold;
//   - is of an article that has a question already.
//
// # Chance
//
// Where there are more candidates than are wanted, the seed decides, by hashes of
// the seed, the document's id and the style: the same corpus and seed give the
// same questions on every machine, and one more document changes few of them.
package generate
