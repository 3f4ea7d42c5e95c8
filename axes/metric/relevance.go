package metric

import "raglab/golden"

// Documents returns a question's judgements of documents. A document judged for
// several spans has the highest of their grades. Documents that ordinal does not
// know become [Nowhere]: they count as relevant and cannot be found.
func Documents(q golden.Question, ordinal func(id string) (uint32, bool)) []Grade {
	var grades []Grade
	places := make(map[string]int, len(q.Relevant))
	for _, r := range q.Relevant {
		if place, ok := places[r.Doc]; ok {
			grades[place].Grade = max(grades[place].Grade, int32(r.Grade))
			continue
		}
		item, ok := ordinal(r.Doc)
		if !ok {
			item = Nowhere
		}
		places[r.Doc] = len(grades)
		grades = append(grades, Grade{item, int32(r.Grade)})
	}
	return grades
}
