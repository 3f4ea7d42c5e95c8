package engine

// limited counts who runs under each limit, and keeps aside those whose turn came while
// one of theirs was full. The zero value is ready.
type limited struct {
	running map[string]int
	aside   []*job // in the order in which their turn came
}

// enter counts a job whose turn it is in its stage's limits, or keeps it aside when one
// is full, and reports which.
func (l *limited) enter(j *job, limits map[string]int) bool {
	if len(j.stage.Limits) == 0 {
		return true
	}
	for _, name := range j.stage.Limits {
		if most, bound := limits[name]; bound && l.running[name] >= most {
			l.aside = append(l.aside, j)
			return false
		}
	}
	if l.running == nil {
		l.running = map[string]int{}
	}
	for _, name := range j.stage.Limits {
		l.running[name]++
	}
	j.entered = true
	return true
}

// leave ends what a job took, and puts those that were kept aside in line again.
func (l *limited) leave(j *job, ready *lines) {
	if !j.entered {
		return
	}
	j.entered = false
	for _, name := range j.stage.Limits {
		l.running[name]--
	}
	for _, waiting := range l.aside {
		ready.add(waiting)
	}
	l.aside = nil
}
