package html

import (
	"html/template"
	"strings"
)

// sections are the page's, in their order.
func sections() []section {
	return []section{
		{"glance", "At a glance", glance},
		{"mattered", "What mattered", mattered},
		{"limits", "Limits", limits},
		{"intervals", "Intervals", intervals},
		{"configurations", "Configurations", configurations},
		{"tradeoffs", "Quality against cost", tradeoffs},
		{"decisions", "Bench of decisions", decisions},
		{"axes", "Axis by axis", effects},
		{"tags", "By tag", tags},
		{"losses", "Where questions were lost", losses},
		{"explorer", "Question explorer", explorer},
		{"tuning", "Tuning", tuning},
		{"ingest", "Ingest cost", ingest},
		{"more", "More tables", more},
		{"provenance", "Provenance", provenance},
	}
}

// functions are those that templates may call.
func functions() template.FuncMap {
	return template.FuncMap{"oriented": oriented}
}

// oriented is a cell of a column, with the class of numbers where they are.
func oriented(t table, i int, c cell) cell {
	if t.Columns[i].Numeric {
		c.Class = strings.TrimSpace("number " + c.Class)
	}
	return c
}
