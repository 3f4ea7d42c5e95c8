// Package spec is raglab's language: it reads the HCL in which a user writes
// down an experiment, says what is wrong with it, and expands it into
// configurations.
//
// # The language
//
// A spec is one HCL file, or a folder whose .hcl files are read as one. Blocks
// are flat; their order does not matter, but by custom is that of the pipeline.
//
//	experiment "NAME" { title = … }
//	corpus "KIND" { language = …, … }          the source's parameters
//	golden { file | queries and qrels, relevance, unreachable, split { … } }
//	fixed "FACTOR" { use | option | leg }      one choice
//	axis "FACTOR" { use | option | leg }       several, to be compared
//	axis "NAME" { values = [ … ] }             a free factor, read as axis.NAME
//	tune "NAME" { grid = [ … ], per = [ … ] }  fitted on dev, read as tune.NAME
//	exclude { when = CONDITION }               leaves combinations out
//	include { FACTOR = LABEL … }               adds one
//	cross { mode, base, order }                which combinations are considered
//	score { depth, metrics, primary }
//	expect { where, metric, value, tolerance, source }
//	budget { seconds, usd }
//	limit "NAME" { concurrent, stages }        how many of some stages run at a time
//	output "KIND" { … }
//	store "KIND" { … }
//	variable "NAME" { type, default, description, sensitive }
//	locals { NAME = … }
//
// In a fixed or axis block, option "LABEL" { … } is a choice. Its kind, the
// implementation, is the label unless the attribute kind names another; all
// other attributes are the kind's parameters. use = "KIND" and
// use = ["KIND", …] are short for options that set no parameter. A kind that
// works on others, such as a fuser, names them by label in a list; leg "LABEL"
// { … } is an option that can be named so and is no row of its own. Fusers may
// be legs of fusers, but not in circles.
//
// A factor that no block names takes the default that the catalog gives. What
// is not set, or set to null, takes the default of its parameter.
//
// # Expressions
//
// Every attribute takes an HCL expression. It may call [Functions] and read
// var.NAME and local.NAME; in options and legs also axis.NAME, the chosen value
// of a free factor or the label of the option chosen for another, and
// tune.NAME; in the condition of an exclude block also axis.NAME. Values are
// not converted silently: "5" is not a number, nor is 5 a text.
//
// The functions file, fileset, fileexists and env look outside the spec. What
// they read is listed by [Experiment.Reads] and is part of the digest. Values
// of env and of sensitive variables never appear in a diagnostic.
//
// # The cross
//
// A configuration is one option for every factor. [Load] expands the cross and
// accounts for every combination: it is kept, excluded, impossible (the catalog
// says so, see [Judge]) or the same as another, which does what an earlier row
// does under other labels. Parameters are evaluated once for each combination
// of the values that they read, not once for each configuration, so that the
// cost of a configuration is a few array look-ups.
//
// # Diagnostics
//
// All problems of a spec are reported together as [hcl.Diagnostics], sorted by
// file and line, each once. They point at the source, say what was expected,
// show the values that took part, and suggest the nearest name. Unused tunes,
// legs and axes, exclude blocks that never match and the like are warnings.
package spec
