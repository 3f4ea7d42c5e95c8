package tokenizer

import "unicode"

// The Rust library takes the general category of a code point from tables
// (crate unicode_categories) that are older than Go's. The lists below hold the
// code points the two judge differently: those whose category came, or changed,
// after its tables were made. They were found by asking it about every code point
// (tokenizers 0.23.3 against Unicode 15.0).
const (
	newerPunctuation = `61D 9FD A76 C77 C84 1B7D-1B7E 2E43-2E4F 2E52-2E5D
		10EAD 10F55-10F59 10F86-10F89 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B
		11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11C41-11C45 11C70-11C71
		11EF7-11EF8 11F43-11F4F 11FFF 12FF1-12FF2 16E97-16E9A 16FE2 1E95E-1E95F`
	formerPunctuation = `166D 111C9`

	newerFormat = `890-891 8E2 110CD 13430-1343F`

	newerNonspacing = `7FD 898-89F 8CA-8E1 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA ECE
		180F 1885-1886 1ABF-1ACE 1DF6-1DFB A82C A8C5 A8FF A9BD 10D24-10D27 10EAB-10EAC
		10EFD-10EFF 10F46-10F50 10F82-10F85 11070 11073-11074 110C2 111C9 111CF 1123E 11241 1133B
		11438-1143F 11442-11444 11446 1145E 1182F-11837 11839-1183A 1193B-1193C 1193E 11943
		119D4-119D7 119DA-119DB 119E0 11A01-11A0A 11A33-11A38 11A3B-11A3E 11A47 11A51-11A56
		11A59-11A5B 11A8A-11A96 11A98-11A99 11C30-11C36 11C38-11C3D 11C3F 11C92-11CA7 11CAA-11CB0
		11CB2-11CB3 11CB5-11CB6 11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47 11D90-11D91 11D95
		11D97 11EF3-11EF4 11F00-11F01 11F36-11F3A 11F40 11F42 13440 13447-13455 16F4F 16FE4
		1CF00-1CF2D 1CF30-1CF46 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E08F
		1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E944-1E94A`
	formerNonspacing = `1734`

	newerMarks = `7FD 898-89F 8CA-8D3 9FE AFA-AFF B55 C04 C3C CF3 D00 D3B-D3C D81 EBA ECE 1715
		180F 1ABF-1ACE 1CF7 1DF6-1DFA A82C A8FF 10D24-10D27 10EAB-10EAC 10EFD-10EFF 10F46-10F50
		10F82-10F85 11070 11073-11074 110C2 11145-11146 111C9 111CE-111CF 11241 1133B 1145E
		1182C-1183A 11930-11935 11937-11938 1193B-1193E 11940 11942-11943 119D1-119D7 119DA-119E0
		119E4 11A01-11A0A 11A33-11A39 11A3B-11A3E 11A47 11A51-11A5B 11A8A-11A99 11D31-11D36 11D3A
		11D3C-11D3D 11D3F-11D45 11D47 11D8A-11D8E 11D90-11D91 11D93-11D97 11EF3-11EF6 11F00-11F01
		11F03 11F34-11F3A 11F3E-11F42 13440 13447-13455 16F4F 16F7F-16F87 16FE4 16FF0-16FF1
		1CF00-1CF2D 1CF30-1CF46 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF`
	formerMarks = `1CF2-1CF3`

	// newerWord are letters, marks and digits of Unicode 16 and later, which the
	// library's expressions (crate regex, Oniguruma) already know.
	newerWord = `897 1C89-1C8A A7CB-A7CD A7DA-A7DC 105C0-105F3 10D40-10D65 10D69-10D6D 10D6F-10D85
		10EC2-10EC4 10EFC 11380-11389 1138B 1138E 11390-113B5 113B7-113C0 113C2 113C5 113C7-113CA
		113CC-113D3 113E1-113E2 116D0-116E3 11BC0-11BE0 11BF0-11BF9 11F5A 13460-143FA 16100-16139
		16D40-16D6C 16D70-16D79 18CFF 1CCF0-1CCF9 1E5D0-1E5FA 2EBF0-2EE5D`

	// newerNumbers are numbers of Unicode 16 and later, which Rust knows.
	newerNumbers = `10D40-10D49 116D0-116E3 11BF0-11BF9 11DE0-11DE9 16130-16139 16D70-16D79
		16FF4-16FF6 1CCF0-1CCF9 1E5F1-1E5FA`

	// newerForms have a decomposition that the library's normalization tables
	// (crate unicode-normalization-alignments) do not know.
	newerForms = `32FF A7F2-A7F4 AB69 10781-10785 10787-107B0 107B2-107BA 11938 1E030-1E06D
		1F16C 1FBF0-1FBF9`
)

// punctuation is what BERT and the pre-tokenizer Punctuation cut at: category P
// and all other ASCII characters that are not letters, digits, space or control.
func punctuation() *runeSet {
	return newRuneSet(ranges(newerPunctuation), unicode.P,
		ranges("21-2F 3A-40 5B-60 7B-7E"), ranges(formerPunctuation))
}

// controls is what BertNormalizer removes: categories Cc, Cf and Co (but not Cn,
// code points not assigned) without tab, line feed and carriage return, and
// U+FFFD.
func controls() *runeSet {
	kept := ranges("9-A D " + newerFormat)
	return newRuneSet(kept, unicode.Cc, unicode.Cf, unicode.Co, ranges("FFFD"))
}

// nonspacing is category Mn.
func nonspacing() *runeSet {
	return newRuneSet(ranges(newerNonspacing), unicode.Mn, ranges(formerNonspacing))
}

// marks is category M.
func marks() *runeSet {
	return newRuneSet(ranges(newerMarks), unicode.M, ranges(formerMarks))
}

// whitespace is the property White_Space, which both sides define alike.
func whitespace() *runeSet { return newRuneSet(nil, unicode.White_Space) }

// wordRunes is \w of UTS #18: alphabetic, mark, decimal digit, connector
// punctuation, join control.
func wordRunes() *runeSet {
	return newRuneSet(nil, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control, ranges(newerWord))
}

// numbers is category N.
func numbers() *runeSet { return newRuneSet(nil, unicode.N, ranges(newerNumbers)) }
