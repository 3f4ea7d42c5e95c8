package metric_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"raglab/axes/metric"
	"raglab/internal/trec"
)

// peers is what bench/metrics_fixtures.py writes: by tool, metric and question.
type peers struct {
	Cases []struct {
		Name       string
		Qrels, Run []string
		PytrecEval values             `json:"pytrec_eval"`
		IRMeasures values             `json:"ir_measures"`
		Ranx       values             `json:"ranx"`
		Means      map[string]float64 `json:"ir_measures_means"`
	}
	Duplicates struct {
		Qrels, Run []string
		Said       map[string]string
	}
}

type values map[string]map[string]float64

func readPeers(t *testing.T) peers {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p peers
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func parseLines(t *testing.T, qrelsLines, runLines []string) (*trec.Qrels, *trec.Run) {
	t.Helper()
	qrels, err := trec.ParseQrels("qrels", strings.Join(qrelsLines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := trec.ParseRun("run", strings.Join(runLines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return qrels, run
}

// ranked judges the lines with the rankings ordered by a function.
func ranked(t *testing.T, qrelsLines, runLines []string, order func(*trec.Run)) *metric.JudgedRun {
	t.Helper()
	qrels, run := parseLines(t, qrelsLines, runLines)
	order(run)
	judged, err := metric.JudgeRun(qrels, run)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

func orderBy(tie func(a, b string) int) func(*trec.Run) {
	return func(run *trec.Run) {
		for _, r := range run.Rankings {
			slices.SortStableFunc(r.Entries, func(a, b trec.Entry) int {
				if a.Score != b.Score {
					return cmp.Compare(b.Score, a.Score)
				}
				return tie(a.Doc, b.Doc)
			})
		}
	}
}

// difference says where a tool departs from trec_eval, and why. Each line must
// hold: the tool differs on the case and metric, and agrees once the rankings are
// ordered as it orders them, where order says so.
type difference struct {
	tool   string
	cases  []string
	metric func(name string) bool
	reason string
	order  func(*trec.Run)
}

var (
	ascending = orderBy(strings.Compare)
	insertion = orderBy(func(string, string) int { return 0 })
)

func named(prefix string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, prefix) }
}

var differences = []difference{
	{
		"ir_measures",
		[]string{"all tied", "some tied", "generated with ties"},
		named("mrr@"),
		"RR@k goes to the MS MARCO scorer, which orders ties by ascending id; RR goes to trec_eval", ascending,
	},
	{
		"ir_measures",
		[]string{"all tied", "generated with ties"},
		named("judged@"),
		"a scorer of its own, which orders ties by ascending id", ascending,
	},
	{
		"ir_measures",
		[]string{"negative"},
		named("judged@"),
		"a grade below 0 counts as judged; to trec_eval it says in the pool, not judged", nil,
	},
	{
		"ir_measures",
		[]string{"nothing relevant"},
		named("judged@"),
		"a question to which nothing is relevant has a value; raglab leaves it out", nil,
	},
	{
		"ranx",
		[]string{"all tied", "some tied"},
		named(""),
		"ties keep the order in which the documents were inserted", insertion,
	},
	{
		"ranx",
		[]string{"generated with ties"},
		named(""),
		"the sort is not stable beyond about 15 documents, so that ties have no order at all", nil,
	},
}

func findDifference(tool, caseName, name string) (difference, bool) {
	for _, d := range differences {
		if d.tool == tool && slices.Contains(d.cases, caseName) && d.metric(name) {
			return d, true
		}
	}
	return difference{}, false
}

// toleranceOf is for values near 1. The script behind ir-measures' exponential
// nDCG prints five digits.
func toleranceOf(tool, name string) float64 {
	if tool == "ir_measures" && strings.HasPrefix(name, "ndcg_exp") {
		return 0.51e-5
	}
	return 1e-9
}

func TestPeers_valuesAreEqual(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, c := range readPeers(t).Cases {
		judged := ranked(t, c.Qrels, c.Run, (*trec.Run).SortByScore)
		for tool, theirs := range map[string]values{"pytrec_eval": c.PytrecEval, "ir_measures": c.IRMeasures, "ranx": c.Ranx} {
			if len(theirs) < 20 {
				t.Fatalf("%s: %d metrics of %s", c.Name, len(theirs), tool)
			}
			for _, name := range slices.Sorted(maps.Keys(theirs)) {
				wrong := disagreement(t, tool, name, theirs[name], judged)
				d, known := findDifference(tool, c.Name, name)
				switch {
				case wrong == "":
				case !known:
					t.Errorf("%s: %s: %s: %s", c.Name, tool, name, wrong)
				default:
					used[tool+c.Name+d.reason] = true
					if d.order == nil {
						continue
					}
					if wrong := disagreement(t, tool, name, theirs[name], ranked(t, c.Qrels, c.Run, d.order)); wrong != "" {
						t.Errorf("%s: %s: %s: %s, although %s", c.Name, tool, name, wrong, d.reason)
					}
				}
			}
		}
	}
	for _, d := range differences {
		for _, c := range d.cases {
			if !used[d.tool+c+d.reason] {
				t.Errorf("%s no longer differs on %q: %s", d.tool, c, d.reason)
			}
		}
	}
}

// disagreement describes the first question whose values differ, in order.
func disagreement(t *testing.T, tool, name string, theirs map[string]float64, judged *metric.JudgedRun) string {
	t.Helper()
	m, err := metric.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(theirs) == 0 {
		return "no values"
	}
	for _, question := range slices.Sorted(maps.Keys(theirs)) {
		i := slices.Index(judged.Questions, question)
		if i < 0 {
			return "raglab does not know question " + question
		}
		got := m.Value(judged.Judged[i])
		if len(judged.Judged[i].Ideal) == 0 {
			got = 0 // the peers score what raglab leaves out
		}
		if want := theirs[question]; !(math.Abs(got-want) <= toleranceOf(tool, name)) {
			return fmt.Sprintf("question %s: got %v, the tool has %v", question, got, want)
		}
	}
	return ""
}

// ir-measures counts a question without results as 0, as raglab does, and one
// without relevant documents as well, which raglab leaves out.
func TestPeers_meansAreEqual(t *testing.T) {
	t.Parallel()
	for _, c := range readPeers(t).Cases {
		judged := ranked(t, c.Qrels, c.Run, (*trec.Run).SortByScore)
		for name, want := range c.Means {
			if _, known := findDifference("ir_measures", c.Name, name); known || strings.HasPrefix(name, "judged") {
				continue
			}
			metrics := parseAll(t, name)
			_, summaries := metric.Evaluate(metrics, judged.Judged)
			got := summaries[0].Mean * float64(summaries[0].Scored) / float64(len(judged.Questions))
			if !(math.Abs(got-want) <= toleranceOf("ir_measures", name)) {
				t.Errorf("%s: mean %s is %v, ir-measures has %v", c.Name, name, got, want)
			}
		}
	}
}

func TestJudgeRun_missingAndExtraQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range readPeers(t).Cases {
		if c.Name != "missing and extra" {
			continue
		}
		judged := ranked(t, c.Qrels, c.Run, (*trec.Run).SortByScore)
		_, summaries := metric.Evaluate(parseAll(t, "hit@3"), judged.Judged)
		if want := (metric.Summary{Mean: 2.0 / 3, Scored: 3, Missing: 1}); summaries[0] != want {
			t.Errorf("got %+v, want %+v", summaries[0], want)
		}
		if !slices.Equal(judged.Extra, []string{"9"}) {
			t.Errorf("extra questions: %v", judged.Extra)
		}
		return
	}
	t.Fatal("the case is gone")
}

// Of three tools one refuses a document that is ranked twice; raglab does too,
// and says where it stands.
func TestJudgeRun_duplicateIsRefused(t *testing.T) {
	t.Parallel()
	d := readPeers(t).Duplicates
	if !strings.HasPrefix(d.Said["pytrec_eval"], "refused") {
		t.Errorf("pytrec_eval %s", d.Said["pytrec_eval"])
	}
	qrels, run := parseLines(t, d.Qrels, d.Run)
	_, err := metric.JudgeRun(qrels, run)
	want := "run:3: document a is ranked twice for question 1, first on line 1"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
