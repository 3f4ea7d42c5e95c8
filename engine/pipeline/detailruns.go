package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"raglab/engine/artifact"
	"raglab/internal/report"
)

// rankRuns reads every run once: those that are made of others first, because they
// decide which hits of the others are wanted.
func (d *detailer) rankRuns() error {
	order := make([]int, len(d.runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(d.runs[b].stage.Index(), d.runs[a].stage.Index()) })
	missing := 0
	for _, at := range order {
		raw, err := d.read(d.runs[at].stage, "run")
		if err != nil {
			return err
		}
		if raw == nil {
			missing++
			for i := range d.Rows {
				if d.Rows[i].Run == at {
					d.Rows[i].Run = -1
				}
			}
			continue
		}
		run, err := artifact.ReadRun(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", d.runs[at].stage.Address, err)
		}
		d.rank(at, run)
		d.runs[at].wanted = nil
	}
	if missing > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d rankings are not in the cache, and not here.", missing))
	}
	return nil
}

// rank keeps what is wanted of a run.
func (d *detailer) rank(at int, run artifact.Run) {
	n, out := len(d.questions), &d.Runs[at]
	out.Hits, out.Scores = make([][]int, n), make([]report.Scores, n)
	out.First, out.Found = make([]int, n), make([]int, n)
	for q := range n {
		out.Hits[q], out.Scores[q] = []int{}, report.Scores{}
	}
	for i, id := range run.Questions {
		if q, kept := d.place[id]; kept {
			d.rankQuestion(at, q, run, i)
		}
	}
}

func (d *detailer) rankQuestion(at, q int, run artifact.Run, i int) {
	out, cut := &d.Runs[at], d.runs[at].cut
	out.Found[q] = len(run.Hits[i])
	first := d.firstRelevant(cut, q, run.Chunks[i])
	if first >= 0 {
		out.First[q] = d.documentRank(run.Chunks[i], first)
	}
	for j, name := range run.Chunks[i] {
		score := run.Hits[i][j].Score
		if j < d.Kept {
			chunk := d.chunk(cut, name, j+1)
			out.Hits[q], out.Scores[q] = append(out.Hits[q], chunk), append(out.Scores[q], score)
			d.want(at, q, chunk)
			continue
		}
		chunk, known := d.cuts[cut].chunks[name]
		if j == first {
			chunk = d.chunk(cut, name, j+1)
		} else if !known || !d.runs[at].wanted[[2]int{q, chunk}] {
			continue
		}
		if out.Beyond == nil {
			out.Beyond = map[int]report.Scores{}
		}
		out.Beyond[q] = append(out.Beyond[q], float64(j+1), float64(chunk), score)
		d.want(at, q, chunk)
	}
}

// want asks the rankings that one is made of for a hit.
func (d *detailer) want(at, q, chunk int) {
	for _, in := range d.Runs[at].Inputs {
		d.runs[in].wanted[[2]int{q, chunk}] = true
	}
}

// firstRelevant is the place of the first relevant hit of a ranking, or -1.
func (d *detailer) firstRelevant(cut, q int, names []string) int {
	if d.Relevance != "document" {
		relevant := d.cuts[cut].relevant[q]
		return slices.IndexFunc(names, func(name string) bool { return relevant[name] > 0 })
	}
	return slices.IndexFunc(names, func(name string) bool {
		doc := d.parts.of(artifact.DocumentOf(name))
		for _, r := range d.questions[q].Relevant {
			if r.Grade > 0 && r.Doc == doc {
				return true
			}
		}
		return false
	})
}

// documentRank is the rank of the hit at a place: among documents where these are
// judged.
func (d *detailer) documentRank(names []string, place int) int {
	if d.Relevance != "document" {
		return place + 1
	}
	before := map[string]bool{}
	for _, name := range names[:place+1] {
		before[d.parts.of(artifact.DocumentOf(name))] = true
	}
	return len(before)
}

// chunk is the place of a chunker's chunk in the list. It has that rank in some
// ranking, or 0 when it is there for its answer.
func (d *detailer) chunk(cut int, name string, rank int) int {
	at, ok := d.cuts[cut].chunks[name]
	if ok {
		d.best[at] = min(d.best[at], rank)
		return at
	}
	at = len(d.Chunks)
	// A name is a part of its whole run.
	d.cuts[cut].chunks[strings.Clone(name)] = at
	d.Chunks = append(d.Chunks, report.DetailChunk{Document: d.document(strings.Clone(artifact.DocumentOf(name))), N: -1})
	d.best = append(d.best, rank)
	return at
}
