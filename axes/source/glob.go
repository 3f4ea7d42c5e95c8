package source

import (
	"path"
	"strings"

	"raglab/internal/param"
)

// glob is a pattern for slash paths: in each segment *, ? and [a-z] as in
// [path.Match], and a segment ** for any number of folders, none included. A
// pattern without a slash is meant for the last segment, at any depth.
type glob []string

// parseGlobs reads the patterns of an attribute.
func parseGlobs(attribute string, patterns []string) ([]glob, error) {
	globs := make([]glob, 0, len(patterns))
	for _, pattern := range patterns {
		g := glob(strings.Split(strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/"), "/"))
		if len(g) == 1 {
			g = glob{"**", g[0]}
		}
		for _, segment := range g {
			if segment == "" {
				return nil, param.Errorf(attribute, "the pattern %q must be relative and name no empty folder", pattern)
			}
			if _, err := path.Match(segment, ""); err != nil {
				return nil, param.Errorf(attribute, "the pattern %q is malformed", pattern)
			}
		}
		globs = append(globs, g)
	}
	return globs, nil
}

// match reports whether the pattern fits the whole path.
func (g glob) match(name string) bool { return g.segments(strings.Split(name, "/")) }

func (g glob) segments(name []string) bool {
	for len(g) > 0 {
		if g[0] == "**" {
			for skip := range len(name) + 1 {
				if g[1:].segments(name[skip:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		// The pattern was checked when it was parsed.
		if ok, _ := path.Match(g[0], name[0]); !ok {
			return false
		}
		g, name = g[1:], name[1:]
	}
	return len(name) == 0
}

func anyMatch(globs []glob, name string) bool {
	for _, g := range globs {
		if g.match(name) {
			return true
		}
	}
	return false
}
