package report

import "slices"

// OptionDetail says what stands behind an option's label.
type OptionDetail struct {
	Factor string `json:"factor"`
	Label  string `json:"label"`
	Kind   string `json:"kind"`
	// Legs are the labels of the options whose rankings it fuses.
	Legs []string `json:"legs,omitempty"`
	// Settings are the parameters that its results depend on, in the order of the
	// kind's documentation.
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is a parameter with its value as the spec language writes it. One that
// is fitted or crossed names what it reads, as in tune.k.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Default tells that the value is that of the documentation.
	Default bool `json:"default,omitempty"`
}

// NotCrossed is a slot of the pipeline with the kinds that no option of the spec
// uses.
type NotCrossed struct {
	Factor string `json:"factor"`
	// Held are the labels of the options that were measured.
	Held []string `json:"measured"`
	// Kinds are the documented kinds besides, in the order of the documentation.
	Kinds []string `json:"not_measured"`
}

// detail is what is known of an option, nil when nothing is.
func (r *Report) detail(factor, label string) *OptionDetail {
	i := slices.IndexFunc(r.Options, func(o OptionDetail) bool { return o.Factor == factor && o.Label == label })
	if i < 0 {
		return nil
	}
	return &r.Options[i]
}

// Row returns the row of that name, nil when there is none.
func (r *Report) Row(name string) *Configuration {
	for i := range r.Configurations {
		if r.Configurations[i].Name == name {
			return &r.Configurations[i]
		}
	}
	return nil
}
