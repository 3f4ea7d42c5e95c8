package workspace

import (
	"raglab/axes"
	"raglab/engine/pipeline"
	"raglab/internal/param"
	"raglab/internal/pg"
	"raglab/internal/report"
	"raglab/internal/report/html"
	"raglab/spec"
)

// catalog adds to the pipeline's kinds those of the blocks around it.
type catalog struct{ pipeline.Catalog }

// Catalog is what kinds there are.
func Catalog() spec.Catalog {
	return catalog{pipeline.Catalog{Outputs: axes.Describe(outputs())}}
}

// outputs are the kinds of output block: those of package report, and the page.
func outputs() []axes.Kind[report.Output] {
	return append(report.Outputs(), html.Kind())
}

// Kinds implements [spec.Catalog].
func (c catalog) Kinds(factor string) []spec.KindInfo {
	if factor == "store" {
		return []spec.KindInfo{postgresStore()}
	}
	return c.Catalog.Kinds(factor)
}

// PostgresParams are the parameters of the store postgres. Where indexes live
// changes no result, so none of them enters a key.
type PostgresParams struct {
	DSN            pg.DSN `hcl:"dsn" key:"-" default:"" doc:"Address of the server, as postgres://USER:PASSWORD@HOST:PORT/DATABASE or host=HOST user=USER dbname=DATABASE; without it RAGLAB_DSN counts, else a private server of raglab's own." example:"env(\"RAGLAB_DSN\")"`
	Schema         string `hcl:"schema" key:"-" default:"raglab" doc:"Schema of the database that holds raglab's tables; it is made when it is not there."`
	MaxConnections int    `hcl:"max_connections" key:"-" default:"0" min:"0" max:"1000" doc:"Most connections that one raglab opens for its work; 0 means two more than the machine has processors, but at least 4."`
}

func postgresStore() spec.KindInfo {
	return spec.KindInfo{
		Name:    "postgres",
		Summary: "A Postgres with pgvector, for the indexes of retrievers that live in a database.",
		Doc: "Each index is one table, named by its key, so that its size can be measured and dropping it is " +
			"collection. The role needs a schema that it may make tables in, and the extension vector, 0.8 or later; " +
			"what is missing is said with the SQL that an administrator must run.\n\n" +
			"The address may hold a password: it is shown nowhere, and enters no key, plan, log or report. " +
			"Moving indexes to another server builds them again there and changes no result.",
		Params: func() any {
			p := new(PostgresParams)
			param.SetDefaults(p)
			return p
		},
		Check: func(params any, _ string) error {
			p := params.(*PostgresParams)
			if err := p.DSN.Check(); err != nil {
				return param.Errorf("dsn", "%v", err)
			}
			if err := pg.CheckSchema(p.Schema); err != nil {
				return param.Errorf("schema", "%v", err)
			}
			return nil
		},
		Secrets: func(params any) []string { return params.(*PostgresParams).DSN.Secrets() },
	}
}
