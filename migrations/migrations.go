// Package migrations holds the SQL of raglab's schema in Postgres, in numbered
// files that are applied in order, each once. A file that a release brought is
// never edited again: a change is a new file. In the files {{.schema}} stands for
// the schema's name.
package migrations

import "embed"

// Files holds the numbered files.
//
//go:embed *.sql
var Files embed.FS
