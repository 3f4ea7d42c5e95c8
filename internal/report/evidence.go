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
	// of A differ by; the four options are named.
	Size    float64     `json:"size"`
	OptionA [2]string   `json:"option_a"`
	OptionB [2]string   `json:"option_b"`
	Tested  *Comparison `json:"comparison,omitempty"`
	// Explained is the share of the rows' spread that the pair explains beyond the
	// two axes themselves.
	Explained float64 `json:"explained"`
}

// TagEvidence is what the questions of one tag say.
type TagEvidence struct {
	Tag       string `json:"tag"`
	Questions int    `json:"questions"`
	// Means are the rows' means of the primary metric by the row's name, over the
	// tag's scored questions.
	Means map[string]*float64 `json:"means"`
	// Best is the best row's name; Effects are those of the axes, on these questions.
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
	// Verdict is that of the difference of the two differences.
	Verdict string `json:"verdict"`
}

// Recommendation is the cheapest row that the data cannot separate from the best.
type Recommendation struct {
	Row  string `json:"configuration"`
	Best string `json:"best"`
	// Order is what cheap means: p95, ingest, index, usd, from the first to the last.
	Order []string `json:"order"`
	// Level are the rows that the data cannot separate from the best, cheapest first,
	// the recommended one at their head.
	Level []string `json:"level"`
	// Otherwise are whole sentences: what would have to be true for another row to
	// be chosen.
	Otherwise []string `json:"otherwise,omitempty"`
}

// Stages at which a question can be lost, in the order of the pipeline.
var LossStages = []string{"corpus", "chunker", "depth", "leg", "fusion", "reranker", "cutoff"}

// Losses say where a row lost the questions that it did not solve within the
// primary metric's cut-off.
type Losses struct {
	// Questions maps a lost question to its stage in [LossStages]; Counts counts them
	// by stage, and ByTag by tag and stage.
	Questions map[string]string         `json:"questions"`
	Counts    map[string]int            `json:"counts"`
	ByTag     map[string]map[string]int `json:"by_tag,omitempty"`
}

// Finding is one thing that mattered, or did not, or could not be told.
type Finding struct {
	// Kind is axis, option, interaction, cost, tag or tuning.
	Kind string `json:"kind"`
	// Text is a whole sentence made from the numbers.
	Text string  `json:"text"`
	Axis string  `json:"axis,omitempty"`
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
}
