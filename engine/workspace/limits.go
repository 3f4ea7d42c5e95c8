package workspace

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// limit has the stages that a limit of the spec counts name it.
func (s *Session) limit() error {
	for _, l := range s.Experiment.Limits {
		for _, pattern := range l.Stages {
			found := s.Pipeline.Graph.Match(pattern)
			if len(found) == 0 {
				return &hcl.Diagnostic{
					Severity: hcl.DiagError, Summary: "Limit that counts nothing", Subject: l.Range.Ptr(),
					Detail: fmt.Sprintf("%v.", s.noStage(pattern)),
				}
			}
			for _, st := range found {
				if !slices.Contains(st.Limits, l.Name) {
					st.Limits = append(st.Limits, l.Name)
				}
			}
		}
	}
	return nil
}

// limits are how many stages of each limit may run at a time.
func (s *Session) limits() map[string]int {
	most := map[string]int{}
	for _, l := range s.Experiment.Limits {
		most[l.Name] = l.Concurrent
	}
	return most
}
