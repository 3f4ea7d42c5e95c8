package pipeline

import "raglab/golden"

// wordingVersion is that of what [golden.Wordings] computes, which the stage questions writes
// beside the questions where it has read their documents anyway.
const wordingVersion = "1"

// wordings compares the questions with the texts of their documents; nil without texts.
func wordings(set *golden.Set, contents map[string]string) []*golden.Wording {
	if contents == nil {
		return nil
	}
	return golden.Wordings(set, func(id string) (string, bool) {
		text, known := contents[id]
		return text, known
	})
}
