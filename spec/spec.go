package spec

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Catalog tells which kinds exist. The caller builds it from the factors'
// packages; its answers must not change between calls.
type Catalog interface {
	// Factors returns the slots of the pipeline, in order.
	Factors() []FactorInfo
	// Kinds returns the kinds of a factor, or of "source", "output" or "store".
	Kinds(factor string) []KindInfo
	// Metric returns nil when the name is a metric's, else an error that says
	// what would be.
	Metric(name string) error
}

// Judge is implemented by catalogs that know of combinations that cannot run,
// such as a dense retriever where no embedder is chosen.
type Judge interface {
	// Impossible returns why the kinds cannot work together, or "". The map
	// goes from a slot's name to the chosen option's kind, followed by the
	// kinds of the options that it refers to, such as a fuser's legs. It is
	// asked once for each different combination of kinds.
	Impossible(kinds map[string][]string) string
}

// FactorInfo describes a slot of the pipeline.
type FactorInfo struct {
	Name string
	// Doc is one sentence.
	Doc string
	// Default names the kind that is used when no block names the factor; its
	// parameters must all have defaults. When it is empty, a block is required.
	Default string
}

// KindInfo describes one implementation of a factor.
type KindInfo struct {
	Name    string
	Summary string
	Doc     string
	// Examples are parts of specs, by title, that use the kind, besides the one that
	// is made from its parameters.
	Examples [][2]string
	// Params returns a pointer to a new struct with the tags of package param
	// and every default set.
	Params func() any
	// Check, which may be nil, is asked about parameters that are each valid, for a
	// corpus of that language, which may be empty. A [*raglab/internal/param.Error] is
	// shown at the attribute it names.
	Check func(params any, language string) error
	// Secrets, which may be nil, returns the texts in parameters that nobody may
	// see, such as a password.
	Secrets func(params any) []string
	// BringsQuestions says of a source that it has judged questions of its own.
	// LacksQuestions, which may be nil, returns what to set in parameters so that it
	// has, or nothing when it has.
	BringsQuestions bool
	LacksQuestions  func(params any) string
}

// LoadOptions are what a spec is loaded with.
type LoadOptions struct {
	Catalog Catalog
	// Vars are variables' values as typed after -var: a string as it is, other
	// types as an expression.
	Vars map[string]string
	// VarFiles are files of "name = value" lines; later ones win, Vars win over all.
	VarFiles []string
	// Env looks up environment variables; nil means os.LookupEnv.
	Env func(name string) (string, bool)
	// MaxProduct bounds the number of combinations that a cross may consider;
	// 0 means [DefaultMaxProduct].
	MaxProduct int
}

// DefaultMaxProduct is how many combinations a cross may have.
const DefaultMaxProduct = 1_000_000

// Source is the text of one file of a spec.
type Source struct {
	Name  string
	Bytes []byte
}

// Experiment is a loaded spec. It is safe for concurrent use; what it returns
// must not be modified.
type Experiment struct {
	Name, Title string
	// Dir is the folder that paths in the spec are relative to.
	Dir string
	// Files are the parsed files by name, for showing snippets. Files that
	// could not be parsed are there too.
	Files map[string]*hcl.File
	// Language of the corpus as a BCP 47 tag, or empty.
	Language string
	// Size is how large the spec says that the corpus is.
	Size Size
	// Corpus is the source: factor "source", its label the kind.
	Corpus *Option
	Golden Golden
	// Factors are the slots of the pipeline in order, those that no block
	// names with their default, and then the free factors as written.
	Factors []*Factor
	Tunes   []*Tune
	Score   Score
	Outputs []*Option
	// Store is nil when there is no store block.
	Store   *Option
	Budget  Budget
	Expects []*Expect
	// Abstains ask for abstention curves.
	Abstains []*Abstain
	// Gates say when the results are good enough.
	Gates []*Gate
	// Limits bound how many of some stages run at a time.
	Limits []*Limit
	// Digest is the SHA-256, in hexadecimal, of all that the spec means:
	// comments, white space and the order of blocks and attributes do not
	// change it; variables, files and environment variables read do.
	Digest string

	goldenAsWritten goldenBlock
	cross           *Cross
	world           *world
	eval            *evaluator
	secrets         []string // of sensitive variables
	ownSecrets      []string // of the store and of sources
	sensitive       map[string]bool
}

// Size is a number of bytes that a spec states; zero where it states none.
type Size struct {
	Bytes int64
	Range hcl.Range
}

// Factor is a slot of the pipeline, or a free number or string named by the user.
type Factor struct {
	Name string
	// Free factors have values: each option's Value is set, its Kind is not.
	Free bool
	// IsAxis tells axis from fixed. A factor that no block names is fixed.
	IsAxis bool
	// Options are the choices, at least one; exactly one when fixed.
	Options []*Option
	// Legs are options that others may refer to but that are no row.
	Legs []*Option
	// Range is where the block stands; empty for a default.
	Range hcl.Range
}

// Option is one choice for a factor, or a corpus, output or store.
type Option struct {
	// Factor is a factor's name, "source", "output" or "store".
	Factor string
	// Label is unique among the options and legs of the factor.
	Label string
	Kind  string
	// Value is the value of a free factor's option, else cty.NilVal.
	Value cty.Value
	IsLeg bool
	Range hcl.Range

	index  int // among the factor's options and, after them, legs
	info   KindInfo
	fields []field
	refs   references
	bad    bool // something about it has been reported
}

// Golden says where the judged questions are and how they are used.
type Golden struct {
	// File is one file in a shape of Format; Queries and Qrels are in BEIR's or
	// TREC's. All three are empty when a source brings the questions: Source, or
	// the corpus's.
	File, Queries, Qrels string
	// Format names the shape of File; "auto" takes it from the content.
	Format string
	// Drafts takes questions that a model drafted, too.
	Drafts bool
	// Relevance is "document", "span" or "chunk".
	Relevance string
	// Unreachable is "zero" or "skip": what to do with a question whose span
	// no chunk holds.
	Unreachable string
	// Coverage, above 0 and at most 1, is the share of a span that a relevant
	// chunk holds.
	Coverage float64
	// Within is the metadata field by which documents name the whole that they
	// are a part of, or empty.
	Within string
	// Source is where questions come from that have a source of their own; nil when
	// they are in files or the corpus brings them.
	Source *Option
	// Missing is "error" or "drop": what to do with a judgement of a document that the
	// corpus lacks.
	Missing string
	// Order is "source" or "id".
	Order string
	// StripPrefix is taken off the front of questions.
	StripPrefix string
	// Split is nil when every question is a test question.
	Split *Split
	Range hcl.Range
}

// Split divides the questions into dev and test.
type Split struct {
	// By is "hash" (of the question's id) or "tag".
	By string
	// Dev is the share of dev questions when split by hash.
	Dev float64
	// Salt is hashed with the id.
	Salt string
	// DevTag and TestTag are the tags of the two parts when split by tag.
	DevTag, TestTag string
	Range           hcl.Range
}

// Tune is a parameter that is fitted on the dev questions.
type Tune struct {
	Name string
	// Grid holds the candidates in order, at least one, all different.
	Grid []cty.Value
	// Labels are the grid's values as text.
	Labels []string
	// Per names the factors for each option of which a value of its own is fitted.
	Per   []string
	Range hcl.Range
}

// Score says how runs are scored.
type Score struct {
	// Depth is how many chunks are ranked for a question.
	Depth int
	// Metrics are the names as written, at least one, all different.
	Metrics []string
	// Primary is one of Metrics: what is tuned, ranked and compared by.
	Primary string
	// Cheap is what makes a configuration cheap, what counts most first: some of
	// [CostNames].
	Cheap []string
	Range hcl.Range
}

// CostNames are the costs that a recommendation may go by.
var CostNames = []string{"p95", "ingest", "index", "usd"}

var defaultCheap = []string{"p95", "ingest", "index"}

// Budget bounds an apply; zero means no bound.
type Budget struct {
	Seconds, USD float64
	Range        hcl.Range
}

// Expect states a figure to hold results against.
type Expect struct {
	// Where maps factors to labels; rows that have them all are meant.
	Where     map[string]string
	Metric    string
	Value     float64
	Tolerance float64
	// Source says where the figure is from.
	Source string
	Range  hcl.Range
}

// The signals of an [Abstain].
const (
	SignalMargin = "margin"
	SignalScore  = "score"
)

// Abstain asks how accurate the first result is when only those questions are
// answered for which a signal is strong enough.
type Abstain struct {
	// Signal is [SignalMargin] or [SignalScore].
	Signal string
	// Leg is the label of the retriever's option or leg whose run has the signal;
	// empty for the run that is scored.
	Leg string
	// Where maps factors to labels; rows that have them all are meant.
	Where map[string]string
	// Thresholds ascend; empty for the usual ones.
	Thresholds []float64
	// Floors are accuracies, at least one, for each of which a threshold is picked.
	Floors []float64
	// MinAnswered is how many questions a picked threshold answers at least.
	MinAnswered int
	Range       hcl.Range
}

// Read is something outside the spec that an expression read.
type Read struct {
	// Kind is "file", "fileset", "fileexists" or "env".
	Kind string
	// Name is the path or pattern as written, or the variable's name.
	Name string
	// Path is where a file was found; empty for the other kinds.
	Path string
	// Digest is the SHA-256, in hexadecimal, of the bytes, of the sorted list
	// of names, or of the value; empty when there was nothing.
	Digest string
}

// The modes of a cross.
const (
	Full        = "full"
	OneAtATime  = "one_at_a_time"
	StagedCross = "staged"
)

// Cross is the expanded experiment.
type Cross struct {
	// Mode is [Full], [OneAtATime] or [StagedCross].
	Mode string
	// Base maps every factor to the label of its base option: what the other
	// axes hold while one is varied. In a full cross it is not used.
	Base map[string]string
	// Configurations are the rows, in the order of the product with the last
	// factor varying fastest, then the included ones. A staged cross has the
	// rows of its first stage here; see [Cross.Stages].
	Configurations []*Configuration
	// Dropped are the combinations that are excluded or impossible.
	Dropped []Dropped
	// Accounting counts combinations.
	Accounting Accounting

	space *space
	order []string // of a staged cross, as written
}

// Accounting says what became of every combination. Kept, Excluded, Impossible
// and Same add up to Product; the rows are Kept, Same and Included. In a staged
// cross all but Full are those of the first stage.
type Accounting struct {
	// Full is the size of the full product; math.MaxInt when it is larger.
	Full int
	// Product is how many combinations the mode considers.
	Product int
	// Kept rows differ in what they do from all rows before them.
	Kept int
	// Excluded combinations are dropped by an exclude block.
	Excluded int
	// Impossible combinations are of kinds that cannot work together.
	Impossible int
	// Same rows do what an earlier one does: they differ in labels, or in
	// values of a free factor that nothing of theirs reads.
	Same int
	// Included rows were added by include blocks.
	Included int
}

// Dropped is a combination that is no row.
type Dropped struct {
	Configuration *Configuration
	// Impossible tells impossible from excluded.
	Impossible bool
	// Reason is the text of the exclude block's condition, or why it is impossible.
	Reason string
}

// Configuration is one option for every factor.
type Configuration struct {
	// Ordinal is the place in the full product, unique in the experiment.
	Ordinal int
	// SameAs is the earlier row that does the same, or nil.
	SameAs *Configuration
	// Included tells that an include block added it.
	Included bool

	space  *space
	choice []int32 // the option's index, by factor
}
