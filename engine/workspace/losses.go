package workspace

import (
	"errors"

	"raglab/cache"
	"raglab/internal/report"
)

const lossState = "losses"

// lossMemory reads where the rows of the last report lost questions.
func (s *Session) lossMemory() *report.LossMemory {
	raw, err := s.state.Read(lossState)
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		s.Log.Debug("no losses", "error", err)
	}
	return report.ParseLossMemory(raw)
}

// keepLosses remembers them for the next report.
func (s *Session) keepLosses() {
	b := s.Pipeline.Lost.Encode()
	if b == nil || s.ReadOnly {
		return
	}
	if err := s.state.Replace(lossState, b); err != nil {
		s.Log.Debug("losses not kept", "error", err)
	}
}
