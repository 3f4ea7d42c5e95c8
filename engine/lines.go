package engine

// lines are the jobs that are ready to run. They stand in one line for each
// main resource class, so that a download need not wait behind work for the
// processor.
type lines struct {
	of   [lineCount]line
	last uint64
}

// line is a queue of jobs, first in, first out.
type line struct {
	jobs []*job
	head int
}

// The lines, by the class that a stage competes for before all others.
const (
	lineCPU = iota
	lineNetwork
	lineAccelerator
	lineCount
)

func lineOf(r Resources) int {
	switch {
	case r.Accelerator > 0:
		return lineAccelerator
	case r.CPU == 0 && r.Network > 0:
		return lineNetwork
	}
	return lineCPU
}

// add puts a job at the end of its line.
func (l *lines) add(j *job) {
	l.last++
	j.place = l.last
	q := &l.of[lineOf(j.cost)]
	q.jobs = append(q.jobs, j)
}

// empty reports whether no job is ready.
func (l *lines) empty() bool {
	for i := range l.of {
		if l.of[i].first() != nil {
			return false
		}
	}
	return true
}

// take removes and returns the job that has been ready longest among those at
// the head of a line that fit into free, or nil. A job that does not fit keeps
// later ones of other lines from what it is short of: small jobs cannot starve
// one that wants all threads.
func (l *lines) take(free Resources) *job {
	var closed classes
	var seen [lineCount]bool
	for range l.of {
		i := l.earliest(seen)
		if i < 0 {
			return nil
		}
		j := l.of[i].first()
		short := j.cost.beyond(free)
		if short == 0 && j.cost.used()&closed == 0 {
			l.of[i].drop()
			return j
		}
		seen[i] = true
		closed |= short
	}
	return nil
}

// earliest is the line, of those not seen, whose head has been ready longest;
// -1 when all of them are empty.
func (l *lines) earliest(seen [lineCount]bool) int {
	best, place := -1, uint64(0)
	for i := range l.of {
		j := l.of[i].first()
		if j != nil && !seen[i] && (best < 0 || j.place < place) {
			best, place = i, j.place
		}
	}
	return best
}

func (q *line) first() *job {
	if q.head == len(q.jobs) {
		return nil
	}
	return q.jobs[q.head]
}

// drop removes the first job. What the line held is released as it goes.
func (q *line) drop() {
	q.jobs[q.head] = nil
	q.head++
	if q.head == len(q.jobs) {
		q.jobs, q.head = q.jobs[:0], 0
	}
}

// remove takes a job out of its line, wherever it stands.
func (l *lines) remove(j *job) {
	q := &l.of[lineOf(j.cost)]
	for i := q.head; i < len(q.jobs); i++ {
		if q.jobs[i] == j {
			copy(q.jobs[q.head+1:i+1], q.jobs[q.head:i])
			q.drop()
			return
		}
	}
}
