package main

import (
	"context"
	"os"
	"path/filepath"
)

// quickstartRow measures the quickstart from an empty cache that has the assets.
func quickstartRow() row {
	return row{
		name: "quickstart", does: "raglab apply of the quickstart, from nothing but the assets and again",
		needs: func(o options) bool { return !o.quick },
		set: func(_ context.Context, b *bench) (*trial, error) {
			assets, missing := assetsFolder()
			if missing != "" {
				return &trial{missing: missing}, nil
			}
			dir, err := b.fresh("quickstart")
			if err != nil {
				return nil, err
			}
			// The quickstart writes its tables beside itself: here into a copy.
			for _, name := range []string{"experiments", "golden", "README.md"} {
				if err := copyTo(filepath.Join(dir, name), filepath.Join(b.root, name)); err != nil {
					return nil, err
				}
			}
			spec := filepath.Join(dir, "experiments", "quickstart.hcl")
			cold, again := step{tool: raglabTool, name: "cold"}, step{tool: raglabTool, name: "again"}
			return &trial{
				input: "the repository's articles and questions",
				own: func(ctx context.Context) ([]sample, error) {
					cache, err := b.fresh("quickstart-cache")
					if err != nil {
						return nil, err
					}
					if err := os.Symlink(assets, filepath.Join(cache, "assets")); err != nil {
						return nil, err
					}
					return coldAndAgain(ctx, b, cache, dir, spec)
				},
				comparisons: []comparison{
					{figure: "cold apply", unit: seconds, own: cold.wall(), goal: under(60, seconds)},
					{figure: "cold apply, peak memory", unit: mebibytes, own: cold.peak()},
					{figure: "again", unit: seconds, own: again.wall(), goal: under(0.3, seconds)},
				},
			}, nil
		},
	}
}

// copyTo copies a file or a folder.
func copyTo(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
