package report

// GateRule says when results are good enough to go on with, as a gate block does.
type GateRule struct {
	// Where maps factors to labels; rows that have them all are meant. None means the
	// best row for floors and costs, and all rows for drops.
	Where map[string]string `json:"where,omitempty"`
	// Floors are the lowest means that pass, and Allow how far a mean may fall below a
	// baseline's although the data can tell, both by metric.
	Floors map[string]float64 `json:"floors,omitempty"`
	Allow  map[string]float64 `json:"allow,omitempty"`
	// Max are the highest costs that pass: p50 and p95 in ms, index in MB, ingest in s.
	Max map[string]float64 `json:"max,omitempty"`
}

// Has reports whether a row has all of some labels, by factor.
func (c *Configuration) Has(labels map[string]string) bool {
	for factor, label := range labels {
		if c.Options[factor] != label {
			return false
		}
	}
	return true
}
