// Package lemma reads dictionaries of word forms and looks forms up.
//
// Two formats are read: the front-coded, XZ-compressed dictionaries of the
// Python package simplemma ([Read]) and plain lines of a form, a tab and its
// lemma ([ReadTSV]).
//
// # Front-coded format
//
// An XZ file over a stream of bytes; numbers are LEB128:
//
//	"SMFC1"
//	flags    u8; bit 0: forms and lemmas are stored with their bytes reversed
//	count    number of records
//	record   until the end of the stream:
//	  shared  bytes that the form has in common with the form before
//	  length  and as many bytes: the rest of the form
//	  trim    u8; 254: the lemma of the record before;
//	          255: length and as many bytes, the lemma;
//	          else: length and as many bytes, which follow the form without
//	          its last trim bytes
//
// Forms ascend byte by byte.
//
// # Memory
//
// A dictionary holds each form once in one array of bytes, each distinct lemma
// once in another, and a hash table of five bytes a slot over the forms: 20 MB
// for the 600,000 Ukrainian forms. What a file claims of itself is never
// allocated before it is there.
package lemma
