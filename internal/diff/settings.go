package diff

import (
	"slices"
	"strconv"
	"strings"

	"raglab/internal/report"
)

// settingsOf lists what results follow from, each under a name of its own, in the
// order in which people look for it.
func settingsOf(r *report.Report) []Setting {
	var list []Setting
	add := func(name, value string) {
		if value != "" {
			list = append(list, Setting{Name: name, New: value})
		}
	}
	add("experiment", r.Experiment)
	add("title", r.Title)
	if p := r.Provenance; p != nil {
		add("program", p.Program)
		add("spec", p.Spec)
		add("corpus", p.Corpus)
		add("assets", strings.Join(p.Assets, ", "))
		add("lock files", strings.Join(p.Locks, ", "))
	}
	add("machines", strings.Join(r.Machines, ", "))
	add("questions, dev", strconv.Itoa(r.Questions.Dev))
	add("questions, test", strconv.Itoa(r.Questions.Test))
	add("questions, scored", strconv.Itoa(r.Questions.Scored))
	add("metrics", strings.Join(r.Metrics, ", "))
	add("primary", r.Primary)
	add("depth", strconv.Itoa(r.Depth))
	for _, f := range r.Factors {
		add(f.Name, strings.Join(f.Labels, ", "))
	}
	for _, o := range r.Options {
		name := o.Factor + " " + o.Label
		add(name+": kind", o.Kind)
		add(name+": legs", strings.Join(o.Legs, ", "))
		for _, s := range o.Settings {
			add(name+": "+s.Name, s.Value)
		}
	}
	for _, t := range r.Tuning {
		for i, n := range t.Names {
			if i < len(t.Chosen) {
				add("tuned "+n, t.Chosen[i])
			}
		}
	}
	return list
}

// settings are those that differ, in the order of the new results, those that only
// the old ones have behind.
func settings(old, new *report.Report) []Setting {
	was, is := settingsOf(old), settingsOf(new)
	find := func(list []Setting, name string) string {
		if i := slices.IndexFunc(list, func(s Setting) bool { return s.Name == name }); i >= 0 {
			return list[i].New
		}
		return ""
	}
	out := []Setting{}
	for _, s := range is {
		if before := find(was, s.Name); before != s.New {
			out = append(out, Setting{s.Name, before, s.New})
		}
	}
	for _, s := range was {
		if find(is, s.Name) == "" {
			out = append(out, Setting{s.Name, s.New, ""})
		}
	}
	return out
}
