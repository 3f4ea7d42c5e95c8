// Package tokenizer reads the tokenizer.json files of Hugging Face models and
// turns text into the token ids such a model was trained on.
//
// A text passes through five steps, each of them one field of the file:
//
//	added tokens    "<mask>", "[SEP]", … are cut out of the text as they stand
//	normalizer      rewrites characters: Unicode forms, case, accents, tables
//	pre_tokenizer   cuts the text into words
//	model           cuts each word into pieces of its vocabulary
//	post_processor  puts the special tokens around the ids
//
// The ids are the ones the Rust library `tokenizers` gives, its oddities
// included: a text that it and this package tokenize differently is a bug here.
// Where the two must differ is written down beside the code: code points that
// the Unicode tables of one of them do not know yet, and text that is not valid
// UTF-8, which Rust cannot hold and which is read here as U+FFFD, one for each
// bad byte.
//
// # Spans
//
// [Tokenizer.Offsets] says which bytes of the original text each token stands
// for. Every step keeps, for each byte of the rewritten text, the span of the
// original that it came from. A replacement stands for the whole of what it
// replaces ("ﬁ" for "fi": both letters come from the one ligature); an inserted
// character, such as the "▁" before a word, stands for the empty span where it
// was put in. Spans are then made to follow one another: each begins no earlier
// than the one before ended. So they are in order, never overlap and begin and
// end on rune boundaries; some are empty. (The Rust library reports overlapping
// spans in those cases.)
//
// # Concurrency and cost
//
// A [Tokenizer] does not change once it is made and may be used by any number of
// goroutines. Words seen before are found in a cache of bounded size; encoding
// into a slice with room allocates nothing once its words are known.
package tokenizer
