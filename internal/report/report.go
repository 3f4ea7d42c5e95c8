// Package report holds the results of an experiment and turns them into tables
// and files. It computes comparisons from per-question values, never new scores.
package report

import "time"

// Version is the version of the JSON form. It rises when a field changes its
// meaning or goes; new fields do not raise it.
const Version = 1

// Report is everything that an experiment came to. Its JSON form is documented
// in the README.
type Report struct {
	Version    int    `json:"version"`
	Experiment string `json:"experiment"`
	Title      string `json:"title,omitempty"`
	// Generated is when the newest of the results was made.
	Generated time.Time `json:"generated"`
	// Machines are those that the measurements come from. With more than one,
	// times are not comparable.
	Machines  []string  `json:"machines"`
	Questions Questions `json:"questions"`
	Metrics   []string  `json:"metric_names"`
	Primary   string    `json:"primary"`
	Depth     int       `json:"depth"`
	// WarmUp is how many questions were asked before latencies counted.
	WarmUp  int      `json:"warm_up_questions"`
	Factors []Factor `json:"factors"`
	// Options say what the factors' labels stand for, NotCrossed what else there is.
	Options        []OptionDetail  `json:"options,omitempty"`
	NotCrossed     []NotCrossed    `json:"not_crossed,omitempty"`
	Configurations []Configuration `json:"configurations"`
	Effects        []Effect        `json:"effects"`
	Tuning         []Tuning        `json:"tuning,omitempty"`
	// Spans are there when chunks are relevant that hold an answer span.
	Spans []Spans `json:"spans,omitempty"`
	// Abstentions are in the order of the abstain blocks, and of the rows.
	Abstentions  []Abstention  `json:"abstention,omitempty"`
	Ingest       []Ingest      `json:"ingest"`
	Expectations []Expectation `json:"expectations,omitempty"`
	// Gates are what the spec's gate blocks ask of the results.
	Gates []GateRule `json:"gates,omitempty"`
	// Golden are the judged questions.
	Golden       []GoldenQuestion `json:"golden,omitempty"`
	Ceiling      *Ceiling         `json:"ceiling,omitempty"`
	Interactions []Interaction    `json:"interactions,omitempty"`
	Tags         []TagEvidence    `json:"tags,omitempty"`
	Reversals    []Reversal       `json:"reversals,omitempty"`
	// Recommended is null when nothing was compared.
	Recommended *Recommendation `json:"recommendation,omitempty"`
	// Mattered are the findings, largest first; Limits are whole sentences.
	Mattered   []Finding   `json:"mattered,omitempty"`
	Limits     []string    `json:"limits,omitempty"`
	Provenance *Provenance `json:"provenance,omitempty"`
	// Order are the ids of the questions that rows have values for, in the order in
	// which they are resampled; [Report.Complete] fills it in if it is empty.
	Order []string `json:"-"`
	// CostOrder is what cheap means, see [Recommendation]; p95, ingest, index if empty.
	CostOrder []string `json:"-"`
	// Accounting says what became of every combination of the cross.
	Accounting string `json:"accounting"`
	// Notes are sentences that a reader must know, such as that results are
	// partial.
	Notes []string `json:"notes,omitempty"`
}

// Questions counts judged questions.
type Questions struct {
	Total int `json:"total"`
	Dev   int `json:"dev"`
	Test  int `json:"test"`
	// Scored are the test questions in the means; Excluded have no relevant
	// document.
	Scored   int `json:"scored"`
	Excluded int `json:"excluded"`
}

// Factor is a slot of the pipeline or a free axis, with its labels in order.
type Factor struct {
	Name   string   `json:"name"`
	Axis   bool     `json:"axis"`
	Labels []string `json:"labels"`
}

// Configuration is one row of the result table.
type Configuration struct {
	// Name joins the labels of the axes.
	Name    string            `json:"name"`
	Options map[string]string `json:"options"`
	// Key is the content key of the row's score.
	Key string `json:"key"`
	// InertWith names the rows that are the same measurement under other
	// labels; Inert the axes that make no difference to this row.
	InertWith []string `json:"inert_with"`
	Inert     []string `json:"inert,omitempty"`
	// Metrics are means over the scored test questions; null is unmeasured.
	Metrics map[string]*float64 `json:"metrics"`
	// Empty and Missing count scored questions without results and without a
	// ranking: they count 0 in the means.
	Empty   int `json:"empty"`
	Missing int `json:"missing"`
	// PerQuestion maps question ids to the metrics' values; null is left out.
	PerQuestion map[string]map[string]*float64 `json:"per_question"`
	// Lost are the questions with an answer span that no chunk holds enough of.
	Lost    []string `json:"lost,omitempty"`
	Latency *Latency `json:"latency_ms"`
	// IndexBytes and IngestSeconds are null when unmeasured. HeapBytes is the size
	// of the rows that indexes in a database are over.
	IndexBytes    *int64   `json:"index_bytes"`
	HeapBytes     *int64   `json:"heap_bytes,omitempty"`
	IngestSeconds *float64 `json:"ingest_seconds"`
	// Services are the factors whose option sends texts to a server that is not this
	// machine's own work, such as an embedder over HTTP, whether somebody bills for it
	// or not; none for a row that keeps to itself and its database.
	Services []string `json:"services,omitempty"`
	// Cost is null for a row of which nobody bills anything.
	Cost *Cost `json:"cost,omitempty"`
	// Approximate says that an index may miss some of the nearest vectors, or keeps
	// them in a lower precision; ANNRecall then holds its rankings against exact
	// search, at several ranks, and is empty when unmeasured. Of several such indexes
	// it is the worst one's.
	Approximate bool        `json:"approximate,omitempty"`
	ANNRecall   []ANNRecall `json:"ann_recall,omitempty"`
	// Rounded says that an index keeps vectors in a lower precision. ScoreDifference is
	// then how far a score is at most from that of the vectors as they were embedded,
	// over all questions and the chunks that both rankings have; null when unmeasured.
	Rounded         bool     `json:"rounded,omitempty"`
	ScoreDifference *float64 `json:"score_difference,omitempty"`
	// Termless counts questions that text handling left no term of: a lexical
	// index finds nothing for them.
	Termless int `json:"questions_without_terms,omitempty"`
	// Intervals bound the means, by metric.
	Intervals map[string]*Interval `json:"intervals,omitempty"`
	// Losses say where questions were lost.
	Losses *Losses `json:"losses,omitempty"`
	// Against compares the row with the best one by the primary metric.
	Against *Comparison `json:"against_best,omitempty"`
	// Values are the primary metric's values in the order of the report's questions,
	// [Report.Order], NaN where it is not measured; none for a row without a score.
	Values []float64 `json:"-"`
	// Columns are those of the other metrics too, by name. Whoever makes a report may
	// leave them out: they say what PerQuestion does.
	Columns map[string][]float64 `json:"-"`
}

// Percentiles are by nearest rank.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Latency of a question from end to end, in milliseconds.
type Latency struct {
	Percentiles
	// Parts are those of [LatencyParts] that the row has, each on its own: their
	// percentiles do not add up to the whole's.
	Parts map[string]Percentiles `json:"parts,omitempty"`
	// Composed says that the time of some questions in the part rerank is the sum of
	// what their pairs of question and passage took when those were scored, for
	// another depth or in an earlier run. Tables mark such times.
	Composed bool `json:"composed,omitempty"`
}

// LatencyParts are what a question may pass through, in order.
var LatencyParts = []string{"text", "embed", "search", "fuse", "rerank"}

// ANNRecall is ann_recall@k: the share of the k nearest chunks that an approximate
// index has among the first k that it finds, with the 5th percentile over the
// questions.
type ANNRecall struct {
	K    int     `json:"k"`
	Mean float64 `json:"mean"`
	P5   float64 `json:"p5"`
}

// Comparison is the paired difference of two rows' primary metric.
type Comparison struct {
	Difference float64 `json:"difference"`
	// Low and High bound the 95 % bootstrap interval.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// P is of a paired randomisation test, corrected by Holm's method over the family
	// that is shown together: all rows against the best, all axes, all pairs of axes.
	// Where options were picked for being the best and the worst, that is accounted for.
	P float64 `json:"p"`
	// Detectable is the smallest true difference that so many questions would
	// show in four cases of five, from how much the differences vary; left out
	// where a single question cannot say.
	Detectable float64 `json:"detectable,omitempty"`
	// Tell says that the data can tell the rows apart: P is below 0.05.
	Tell bool `json:"tell"`
	// Verdict is the same as a word.
	Verdict string `json:"verdict,omitempty"`
	// Wilcoxon is the p of the signed-rank test, for reference; uncorrected.
	Wilcoxon float64 `json:"wilcoxon_p,omitempty"`
	// Wins, Ties and Losses count questions.
	Wins   int `json:"wins,omitempty"`
	Ties   int `json:"ties,omitempty"`
	Losses int `json:"losses,omitempty"`
	// Decisive are the questions without any one of which the difference would have
	// the other sign or vanish.
	Decisive []string `json:"decisive,omitempty"`
}

// Effect is what one axis is worth: its options, averaged over everything else.
type Effect struct {
	Axis    string         `json:"axis"`
	Options []OptionEffect `json:"options"`
	// Unbalanced says that the options are averaged over different choices of
	// everything else, because no choice is crossed with all of them.
	Unbalanced bool `json:"unbalanced,omitempty"`
	// Worth is the difference of the best and the worst option's mean.
	Worth      float64     `json:"worth"`
	Best       string      `json:"best"`
	Worst      string      `json:"worst"`
	Comparison *Comparison `json:"comparison,omitempty"`
	// Explained is the share of the spread that the axis explains, of the rows that the
	// options are averaged over: the sum of squares between its options over that of the
	// rows' means. Null where it is unbalanced, there is one row for each option, or all
	// score the same.
	Explained *float64 `json:"explained,omitempty"`
}

// OptionEffect is the average over the rows of one option that the axis makes a
// difference to.
type OptionEffect struct {
	Label string              `json:"label"`
	Rows  int                 `json:"configurations"`
	Means map[string]*float64 `json:"means"`
	Best  *float64            `json:"best"`
	P50   *float64            `json:"p50_ms"`
	Index *float64            `json:"index_bytes"`
}

// Tuning is a fitted parameter with the whole curve on the dev questions.
type Tuning struct {
	Names  []string `json:"names"`
	Chosen []string `json:"chosen"`
	Points []Point  `json:"points"`
	Flat   bool     `json:"flat"`
	Edge   []string `json:"edge,omitempty"`
	// Dev and Test are the primary metric's means, over the rows that read it, on the
	// questions that it was fitted on and on the others.
	Dev  *float64 `json:"dev_mean,omitempty"`
	Test *float64 `json:"test_mean,omitempty"`
}

// Point is one candidate of a tuned parameter.
type Point struct {
	Values []string `json:"values"`
	Mean   *float64 `json:"mean"`
}

// Ingest is the cost of making one set of indexes ready.
type Ingest struct {
	Name       string   `json:"name"`
	Chunks     int      `json:"chunks"`
	MeanTokens *float64 `json:"mean_tokens"`
	Chunk      *float64 `json:"chunk_seconds"`
	Embed      *float64 `json:"embed_seconds"`
	// Index is all of the index stage. Normalise, Copy and Build are its parts:
	// text handling, sending rows to a database, and building the index itself.
	Index     *float64 `json:"index_seconds"`
	Normalise *float64 `json:"normalise_seconds,omitempty"`
	// NormalisePerDocument is in milliseconds.
	NormalisePerDocument *float64 `json:"normalise_ms_per_document,omitempty"`
	// Words are those of the texts, of which a dictionary does not have UnknownWords,
	// which stay as they are; TextBytes is what it takes in memory. Null for text
	// handling without one.
	Words        *int     `json:"words,omitempty"`
	UnknownWords *int     `json:"unknown_words,omitempty"`
	TextBytes    *int64   `json:"text_bytes,omitempty"`
	Copy         *float64 `json:"copy_seconds,omitempty"`
	Build        *float64 `json:"build_seconds"`
	Total        *float64 `json:"total_seconds"`
	IndexBytes   *int64   `json:"index_bytes"`
	// HeapBytes is the size of the rows that an index in a database is over.
	HeapBytes *int64 `json:"heap_bytes,omitempty"`
	Truncated *int   `json:"truncated_texts"`
	// USD is what services bill for it, null where there are none; USDEstimated as in
	// [Cost].
	USD          *float64 `json:"usd,omitempty"`
	USDEstimated bool     `json:"usd_estimated,omitempty"`
	// Server is the version of the database.
	Server string `json:"server,omitempty"`
}

// Expectation is a stated figure beside what was measured.
type Expectation struct {
	Row      string   `json:"row"`
	Metric   string   `json:"metric"`
	Value    float64  `json:"value"`
	Measured *float64 `json:"measured"`
	Within   float64  `json:"tolerance"`
	Source   string   `json:"source,omitempty"`
	// Verdict is "OK", "off by …" or "missing".
	Verdict string `json:"verdict"`
}
