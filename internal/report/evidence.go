package report

// Verdicts are words for what the data say of a difference, never a bare p.
const (
	// Separated: the data can tell the two apart.
	Separated = "separated"
	// Level: they were compared, and the data cannot tell.
	Level = "level"
	// NotTested: no comparison was made, such as with unmeasured questions.
	NotTested = "not tested"
)

// Interval bounds a mean: a 95 % percentile bootstrap interval over questions.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// GoldenQuestion is a judged question of the experiment, in the set's order.
type GoldenQuestion struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	Tags []string `json:"tags,omitempty"`
	// Part is "dev" or "test"; empty for one that a split by tag leaves out.
	Part string `json:"part"`
	// Relevant counts the judgements of a grade above 0, Span tells whether the
	// first of them has an answer span.
	Relevant int  `json:"relevant"`
	Span     bool `json:"span,omitempty"`
	// Wording is null where the documents' texts were not at hand.
	Wording *Wording `json:"wording,omitempty"`
}

// Ceiling says how much room the test questions leave. A question is solved by a
// row when its primary metric is above 0, so that something relevant is in sight.
type Ceiling struct {
	// All is the share of the scored questions that every row solves, None that no
	// row does, Perfect on which every row has the highest value there is.
	All     float64 `json:"solved_by_all"`
	None    float64 `json:"solved_by_none"`
	Perfect float64 `json:"perfect_by_all"`
	// Unsolved are the questions that no row solves.
	Unsolved []string `json:"unsolved,omitempty"`
}

// Interaction is how much the worth of an axis's options depends on another axis.
type Interaction struct {
	A string `json:"a"`
	B string `json:"b"`
	// Size is the largest difference, between two options of B, of what two options
	// of A differ by, averaged over everything else that both are crossed with; the four
	// options are named, so that the first of A is ahead of the second by Size more with
	// the first of B than with the second. The test accounts for their being picked.
	Size    float64     `json:"size"`
	OptionA [2]string   `json:"option_a"`
	OptionB [2]string   `json:"option_b"`
	Tested  *Comparison `json:"comparison,omitempty"`
	// Explained is the share of the spread of the rows of that grid that the pair
	// explains beyond the two axes themselves: the sum of squares of the interaction.
	Explained float64 `json:"explained"`
}

// TagEvidence is what the questions of one tag say. Tags are those that at least five
// scored questions carry, and not all; rarer ones, and those beyond the twelve most frequent
// of a prefix, stand together under the prefix, such as source:wiki:* for source:wiki:123.
type TagEvidence struct {
	Tag       string `json:"tag"`
	Questions int    `json:"questions"`
	// Means are the rows' means of the primary metric by the row's name, over the
	// tag's scored questions.
	Means map[string]*float64 `json:"means"`
	// Best is the best row's name; Effects are those of the axes, on these questions,
	// corrected over all axes and tags.
	Best    string   `json:"best"`
	Effects []Effect `json:"effects,omitempty"`
}

// Reversal is a difference between two options of an axis that has one sign on
// the questions of one tag and the other on another's.
type Reversal struct {
	Axis   string  `json:"axis"`
	A      string  `json:"a"`
	B      string  `json:"b"`
	TagA   string  `json:"tag_a"` // where A is ahead
	TagB   string  `json:"tag_b"` // where B is
	AheadA float64 `json:"ahead_a"`
	AheadB float64 `json:"ahead_b"`
	// Verdict is that of the difference of the two differences, corrected over all axes
	// and pairs of tags.
	Verdict string `json:"verdict"`
}

// Recommendation is the cheapest row that may be as good as the best: the 95 % interval
// of its difference from the best holds 0. That is the stricter rule: a correction for
// many comparisons, as in [Comparison.Verdict], would let more rows pass the more there are.
type Recommendation struct {
	Row  string `json:"configuration"`
	Best string `json:"best"`
	// Order is what cheap means: some of [CostNames], from the first to the last. Costs are
	// the same when they are within 5 % of the least, and never told apart by less than
	// 1 ms, 0.1 s, 10 kB and 0.000001 USD; between equals the next one decides, and at last
	// the primary metric. An unmeasured one counts as the highest.
	Order []string `json:"order"`
	// Level are the rows that may be as good as the best, that one included, cheapest
	// first, so that the recommended one is at their head; each measurement once.
	Level []string `json:"level"`
	// Otherwise are whole sentences: what would have to be true for another row to
	// be chosen.
	Otherwise []string `json:"otherwise,omitempty"`
}

// LossStages are those at which a question can be lost, in the order of the pipeline.
// A question is lost when the primary metric gives it 0: nothing relevant stands
// within the cut-off of the ranking that is scored. It has exactly one stage.
//
//   - corpus: none of its relevant documents is in the corpus.
//   - chunker: no chunk is relevant: none holds enough of an answer span, or there is
//     no chunk of a relevant document, or none with a judged name.
//   - depth: some chunk is, and no search ranks one within its depth.
//
// For the others something relevant is ranked by a search. What becomes of it is seen
// in three rankings, as long as they are: the best of the searches', the one before
// reranking, and the one that is scored; in each it is within the cut-off, below it,
// or not there. The stage is the last between two of them that made that worse:
//
//   - leg: fusing did, and a leg had ranked nothing relevant at all.
//   - fusion: fusing did, although every leg had ranked something relevant.
//   - reranker: reranking did: it pushed below the cut-off what stood within it, or
//     dropped it from the list.
//   - cutoff: none did: what the searches ranked below the cut-off stayed there.
//
// Rankings are cut and collapsed as the score does it, so that a document that one
// chunk brings within the cut-off is within it.
var LossStages = []string{"corpus", "chunker", "depth", "leg", "fusion", "reranker", "cutoff"}

// Losses say where a row lost the test questions that it did not solve within the
// primary metric's cut-off.
type Losses struct {
	// Questions maps a lost question to its stage in [LossStages]; Counts counts them
	// by stage, with every stage there, and ByTag by tag and stage, without zeros. A
	// question counts under each of its tags.
	Questions map[string]string         `json:"questions"`
	Counts    map[string]int            `json:"counts"`
	ByTag     map[string]map[string]int `json:"by_tag,omitempty"`
}

// Finding is one thing that mattered, or did not, or could not be told.
type Finding struct {
	// Kind is axis, option, interaction, cost, tag or tuning.
	Kind string `json:"kind"`
	// Text is a whole sentence made from the numbers.
	Text string `json:"text"`
	Axis string `json:"axis,omitempty"`
	// Size is by how much it matters, in the primary metric. Costs follow
	// the others: theirs is the largest of the differences as a share of the larger cost.
	Size float64 `json:"size"`
	// Interval and Verdict are those of the difference, where there is one.
	Interval *Interval `json:"interval,omitempty"`
	Verdict  string    `json:"verdict,omitempty"`
}

// Provenance says what the results were made of.
type Provenance struct {
	Program string `json:"program"`
	// Spec is the spec's digest, Corpus names the content of the documents.
	Spec   string `json:"spec"`
	Corpus string `json:"corpus,omitempty"`
	// Assets are models, dictionaries and libraries with their versions.
	Assets []string `json:"assets,omitempty"`
	// Locks are the lock files that were obeyed, as name and SHA-256.
	Locks []string `json:"locks,omitempty"`
	// Unpinned are whole sentences: what was read that may be another thing tomorrow.
	Unpinned []string `json:"unpinned,omitempty"`
}
