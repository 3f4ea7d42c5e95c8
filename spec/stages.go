package spec

import "slices"

// Stages is a staged cross: the axes are fixed one by one, each at the option
// that did best on the dev questions, so that the rows of a stage are known
// only when the one before has been measured.
type Stages struct {
	cross *Cross
	order []int
}

// Stages returns the stages of a staged cross, and nil for other modes.
func (c *Cross) Stages() *Stages {
	if c.Mode != StagedCross {
		return nil
	}
	return &Stages{cross: c, order: c.space.stageOrder(c.order)}
}

// Axes lists the axes in the order in which they are fixed.
func (s *Stages) Axes() []string {
	names := make([]string, len(s.order))
	for i, n := range s.order {
		names[i] = s.cross.space.factors[n].Name
	}
	return names
}

// Next returns the first axis that best does not name, and the rows that vary
// it: axes that best names hold the label given there, the others that of the
// base. The row that holds the base's label comes first, the others in the
// order of the options; what is excluded or impossible is left out, so that
// there may be none, and the base's label stays. The axis is empty when best
// names all.
func (s *Stages) Next(best map[string]string) (axis string, rows []*Configuration) {
	space := s.cross.space
	at := slices.IndexFunc(s.order, func(i int) bool { return best[space.factors[i].Name] == "" })
	if at < 0 {
		return "", nil
	}
	labels := make(map[string]string, len(space.factors))
	for name, label := range s.cross.Base {
		labels[name] = label
		if b := best[name]; b != "" {
			labels[name] = b
		}
	}
	for _, choice := range space.around(space.choose(labels), s.order[at:at+1]) {
		c := space.configuration(choice)
		space.mu.Lock()
		by, _ := space.excluded(c)
		impossible := space.impossible(c)
		space.mu.Unlock()
		if by == nil && impossible == "" {
			rows = append(rows, c)
		}
	}
	return space.factors[s.order[at]].Name, rows
}

// stageOrder completes an order of axes by those that it does not name.
func (s *space) stageOrder(named []string) []int {
	var order []int
	for _, name := range named {
		if i, ok := s.index[name]; ok && s.factors[i].IsAxis && !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	for _, i := range s.axes() {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	return order
}
