package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"raglab/engine"
)

// SavedPlan is a plan in a file: what was planned, and enough to tell whether
// an apply would still do just that.
type SavedPlan struct {
	Version int    `json:"raglab_plan"`
	Program string `json:"program"`
	// Binary is the digest of the program's file: two builds may share a version.
	Binary   string            `json:"binary"`
	Spec     string            `json:"spec"`
	Vars     map[string]string `json:"vars,omitempty"`
	VarFiles []string          `json:"var_files,omitempty"`
	Selection
	SpecDigest string       `json:"spec_digest"`
	Graph      string       `json:"graph_digest"`
	Stages     []SavedStage `json:"stages"`
	Summary    PlanSummary  `json:"summary"`
	// Notes are the plan's.
	Notes []string `json:"notes,omitempty"`
}

// SavedStage is a stage of a saved plan that would do something.
type SavedStage struct {
	Address  string           `json:"address"`
	Outcome  engine.Outcome   `json:"outcome"`
	Reason   engine.Reason    `json:"reason"`
	Note     string           `json:"note,omitempty"`
	Forecast *engine.Forecast `json:"forecast,omitempty"`
}

// PlanSummary counts a plan's stages by outcome.
type PlanSummary struct {
	Cached          int     `json:"cached"`
	Run             int     `json:"run"`
	Maybe           int     `json:"maybe"`
	Blocked         int     `json:"blocked"`
	EstimateSeconds float64 `json:"estimate_seconds"`
	Unestimated     int     `json:"unestimated"`
	// EstimateUSD is what stages that are billed cost, as far as their inputs are
	// known; those of which it is not known are Unpriced.
	EstimateUSD float64 `json:"estimate_usd,omitempty"`
	Unpriced    int     `json:"unpriced,omitempty"`
	Partial     bool    `json:"partial"`
}

const savedPlanVersion = 1

// Summarise counts a plan.
func Summarise(p *engine.Plan) PlanSummary {
	total, unknown := p.Estimate()
	s := PlanSummary{
		Cached: p.Count(engine.Cached), Run: p.Count(engine.WillRun), Maybe: p.Count(engine.Maybe), Blocked: p.Count(engine.Blocked),
		EstimateSeconds: total.Seconds(), Unestimated: unknown, Partial: p.Partial,
	}
	for i := range p.Stages {
		switch ps := &p.Stages[i]; {
		case !ps.Stage.Billed || ps.Outcome != engine.WillRun && ps.Outcome != engine.Maybe:
		case ps.Forecast != nil:
			s.EstimateUSD += ps.Forecast.USD
		default:
			s.Unpriced++
		}
	}
	return s
}

// SavePlan writes a plan. The caller fills in how the spec was loaded. Values
// of sensitive variables, and those with secrets of the store, are left out: who applies the plan gives them again.
func SavePlan(path string, s *Session, p *engine.Plan, how SavedPlan) error {
	abs, err := filepath.Abs(how.Spec)
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	vars, hide := how.Vars, s.Experiment.Redact()
	how.Vars = map[string]string{}
	for name, value := range vars {
		if !s.Experiment.Sensitive(name) && hide(value) == value {
			how.Vars[name] = value
		}
	}
	how.Version, how.Program, how.Spec = savedPlanVersion, s.Version, abs
	if how.Binary, err = binaryDigest(); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	how.SpecDigest, how.Graph, how.Summary = s.Experiment.Digest, s.graph, Summarise(p)
	how.Notes = p.Notes
	for i := range p.Stages {
		ps := &p.Stages[i]
		if ps.Outcome != engine.Cached && ps.Outcome != "" {
			how.Stages = append(how.Stages, SavedStage{ps.Stage.Address, ps.Outcome, ps.Reason, ps.Note, ps.Forecast})
		}
	}
	b, err := json.MarshalIndent(how, "", " ")
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

// ErrNoPlan says that a file is not a saved plan.
var ErrNoPlan = errors.New("not a saved plan")

// LoadPlan reads a saved plan.
func LoadPlan(path string) (*SavedPlan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	var p SavedPlan
	if json.Unmarshal(b, &p) != nil || p.Version == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoPlan)
	}
	if p.Version != savedPlanVersion {
		return nil, fmt.Errorf("%s is a plan of form %d, and this raglab reads form %d: plan again", path, p.Version, savedPlanVersion)
	}
	return &p, nil
}

// Stale reports why a saved plan no longer describes what an apply would do, or
// nil.
func (p *SavedPlan) Stale(s *Session) error {
	binary, err := binaryDigest()
	switch {
	case err != nil:
		return fmt.Errorf("check plan: %w", err)
	case p.Program != s.Version:
		return fmt.Errorf("the plan was made by raglab %s, and this is %s: plan again", p.Program, s.Version)
	case p.Binary != binary:
		return errors.New("the plan was made by another build of raglab: plan again")
	case p.SpecDigest != s.Experiment.Digest:
		return errors.New("the spec or its variables changed since the plan was made: plan again")
	case p.Graph != s.graph:
		return errors.New("the corpus or the questions changed since the plan was made: plan again")
	}
	return nil
}

// binaryDigest is the SHA-256 of the file that this process was started from.
func binaryDigest() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program's file: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the program's file: %w", err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the program's file: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
