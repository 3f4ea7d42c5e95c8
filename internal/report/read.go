package report

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoResults says that something is no results of raglab.
var ErrNoResults = errors.New("these are no results of raglab, as the output json writes them")

// Read reads results that the json output wrote. Values of the rows are left out:
// they are in PerQuestion, by question.
func Read(raw []byte) (*Report, error) {
	var form struct {
		Version        int               `json:"version"`
		Experiment     string            `json:"experiment"`
		Configurations []json.RawMessage `json:"configurations"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoResults, err)
	}
	switch {
	case form.Version == 0 || form.Experiment == "" || form.Configurations == nil:
		return nil, ErrNoResults
	case form.Version != Version:
		return nil, fmt.Errorf("the results have form %d, and this raglab reads form %d: write them again with this one", form.Version, Version)
	}
	r := &Report{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoResults, err)
	}
	return r, nil
}
