package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// NewLosses counts lost questions by stage. The map is kept; nil is none lost.
func NewLosses(questions map[string]string) *Losses {
	l := &Losses{Questions: questions, Counts: make(map[string]int, len(LossStages))}
	if questions == nil {
		l.Questions = map[string]string{}
	}
	for _, stage := range LossStages {
		l.Counts[stage] = 0
	}
	for _, stage := range l.Questions {
		l.Counts[stage]++
	}
	return l
}

// countByTag counts the lost questions of each tag. A tag without any is left out.
func (l *Losses) countByTag(tags map[string][]string) {
	l.ByTag = nil
	for id, stage := range l.Questions {
		for _, tag := range tags[id] {
			if l.ByTag == nil {
				l.ByTag = map[string]map[string]int{}
			}
			if l.ByTag[tag] == nil {
				l.ByTag[tag] = map[string]int{}
			}
			l.ByTag[tag][stage]++
		}
	}
}

// countLosses counts the rows' lost questions by tag.
func (r *Report) countLosses() {
	tags := make(map[string][]string, len(r.Golden))
	for _, q := range r.Golden {
		tags[q.ID] = q.Tags
	}
	for i := range r.Configurations {
		if l := r.Configurations[i].Losses; l != nil {
			l.countByTag(tags)
		}
	}
}

// LossMemory keeps where the rows of one report lost questions for the next, each
// under a key for all that it follows from: the runs of a search are not read again
// to say the same. Nil remembers nothing. Not safe for concurrent use.
type LossMemory struct {
	known, used map[string]map[string][]string // question ids by stage, by key
	changed     bool
}

// ParseLossMemory reads what [LossMemory.Encode] wrote. What cannot be read is
// forgotten.
func ParseLossMemory(b []byte) *LossMemory {
	m := &LossMemory{used: map[string]map[string][]string{}}
	if len(b) == 0 || json.Unmarshal(b, &m.known) != nil {
		m.known = nil
	}
	return m
}

// Encode returns what was asked for since the memory was read, and nil when all of
// it was known.
func (m *LossMemory) Encode() []byte {
	if m == nil || !m.changed {
		return nil
	}
	b, err := json.Marshal(m.used)
	if err != nil {
		panic("report: encode losses: " + err.Error()) // maps and lists of strings
	}
	return b
}

// Known returns what is known under the key.
func (m *LossMemory) Known(key string) (*Losses, bool) {
	if m == nil {
		return nil, false
	}
	byStage, ok := m.used[key]
	if !ok {
		if byStage, ok = m.known[key]; !ok {
			return nil, false
		}
		m.used[key] = byStage
	}
	questions := map[string]string{}
	for stage, ids := range byStage {
		for _, id := range ids {
			questions[id] = stage
		}
	}
	return NewLosses(questions), true
}

// Keep remembers what was found under the key.
func (m *LossMemory) Keep(key string, l *Losses) {
	if m == nil {
		return
	}
	byStage := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(l.Questions)) {
		stage := l.Questions[id]
		byStage[stage] = append(byStage[stage], id)
	}
	m.used[key], m.changed = byStage, true
}

// lossRows is how many rows the table of losses has at most.
const lossRows = 5

// lossTables say where the best rows lost questions, and the best one by tag.
func (r *Report) lossTables(ranked []*Configuration) []Table {
	var rows []*Configuration
	seen := map[string]bool{}
	for _, c := range ranked {
		if c.Losses == nil || c.Key != "" && seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		rows = append(rows, c)
	}
	if len(rows) == 0 {
		return nil
	}
	title := "Where questions were lost"
	if len(rows) > lossRows {
		rows = rows[:lossRows]
		title += fmt.Sprintf(": the best %d", lossRows)
	}
	stages := lossStagesOf(rows)
	t := Table{
		Name: "losses", Title: title,
		Note: fmt.Sprintf("Of the %d test questions, those with nothing relevant within the cut-off of %s, each by the stage at which it was lost: the last one that made its ranking worse.", r.Questions.Scored, r.Primary),
	}
	axes := r.axes()
	for _, name := range axes {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	t.Columns = append(t.Columns, lossColumns(stages)...)
	for _, c := range rows {
		t.Rows = append(t.Rows, append(c.labels(axes), lossCells(c.Losses.Counts, stages)...))
	}
	if slices.ContainsFunc(rows, func(c *Configuration) bool { return len(c.Inert) > 0 }) {
		t.Foot = r.rowsFoot()
	}
	tables := []Table{t}
	if best := rows[0]; len(best.Losses.ByTag) > 0 {
		tables = append(tables, lossTagTable(best, stages))
	}
	return tables
}

// lossStagesOf are the stages at which some row lost a question, in order.
func lossStagesOf(rows []*Configuration) []string {
	return slices.DeleteFunc(slices.Clone(LossStages), func(stage string) bool {
		return !slices.ContainsFunc(rows, func(c *Configuration) bool { return c.Losses.Counts[stage] > 0 })
	})
}

func lossTagTable(c *Configuration, stages []string) Table {
	t := Table{
		Name: "losses", Title: "Where " + c.Name + " lost questions, by tag",
		Columns: append([]Column{{Name: "tag"}}, lossColumns(stages)...),
	}
	for _, tag := range slices.Sorted(maps.Keys(c.Losses.ByTag)) {
		t.Rows = append(t.Rows, append([]string{tag}, lossCells(c.Losses.ByTag[tag], stages)...))
	}
	return t
}

func lossColumns(stages []string) []Column {
	columns := []Column{{"lost", true}}
	for _, stage := range stages {
		columns = append(columns, Column{stage, true})
	}
	return columns
}

func lossCells(counts map[string]int, stages []string) []string {
	lost := 0
	for _, n := range counts {
		lost += n
	}
	cells := []string{strconv.Itoa(lost)}
	for _, stage := range stages {
		cells = append(cells, strconv.Itoa(counts[stage]))
	}
	return cells
}
