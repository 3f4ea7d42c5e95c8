package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"raglab/engine/workspace"
)

// writeStatus writes what is known of a database.
func writeStatus(w io.Writer, s workspace.DatabaseStatus) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-9s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("server", "%s", s.Origin)
	line("state", "%s", stateText(s))
	if s.Running {
		vector := "no pgvector yet"
		if s.Vector != "" {
			vector = "pgvector " + s.Vector
		}
		line("version", "Postgres %s, %s", s.Version, vector)
		line("address", "%s, database %s, user %s", addressText(s), s.Database, s.User)
		if s.Pooler != "" {
			line("pooler", "%s", s.Pooler)
		}
		line("schema", "%s", schemaText(s))
	}
	if s.Migration > 0 {
		line("tables", "%s", tablesText(s))
	}
	if s.Own != nil {
		line("data", "%s in %s", sizeText(s.Own.DataBytes), s.Own.Folder)
		line("log", "%s", s.Own.Log)
	}
	if s.Running && s.Problem != "" {
		line("problem", "%s", strings.ReplaceAll(s.Problem, "\n", "\n           "))
	}
}

func stateText(s workspace.DatabaseStatus) string {
	switch {
	case !s.Running && s.Problem != "":
		return s.Problem
	case !s.Running:
		return "not running; it starts when it is needed"
	case s.Own == nil:
		return "it answers"
	}
	use := ""
	if s.Own.InUse {
		use = ", in use"
	}
	return fmt.Sprintf("running since %s as process %d of %s%s; stops when nobody has used it for %s",
		s.Own.Started.Local().Format(time.DateTime), s.Own.PID, s.Own.Account, use, idleText(s.Own.IdleSeconds))
}

func idleText(seconds float64) string {
	text := time.Duration(seconds * float64(time.Second)).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// addressText is a host and port, or the folder of a socket.
func addressText(s workspace.DatabaseStatus) string {
	if filepath.IsAbs(s.Host) {
		return fmt.Sprintf("socket %s/.s.PGSQL.%d", s.Host, s.Port)
	}
	return fmt.Sprintf("%s port %d", s.Host, s.Port)
}

func schemaText(s workspace.DatabaseStatus) string {
	if s.Migration == 0 {
		return s.Schema + ", not there yet"
	}
	return fmt.Sprintf("%s, at migration %d", s.Schema, s.Migration)
}

func tablesText(s workspace.DatabaseStatus) string {
	text := fmt.Sprintf("%d of indexes, %s of rows and %s of indexes over them", s.Tables, sizeText(s.HeapBytes), sizeText(s.IndexBytes))
	if s.Broken > 0 {
		text += fmt.Sprintf("; %d are not as they were built", s.Broken)
	}
	return text
}

// dropped says what a drop removes; empty when there is nothing.
func dropped(s workspace.DatabaseStatus) string {
	tables := fmt.Sprintf("%d index tables, %s", s.Tables, sizeText(s.HeapBytes+s.IndexBytes))
	switch {
	case s.Own != nil && s.Own.DataBytes == 0:
		return ""
	case s.Own != nil && !s.Running:
		return fmt.Sprintf("raglab's own server with all its tables, %s in %s", sizeText(s.Own.DataBytes), s.Own.Folder)
	case s.Own != nil:
		return fmt.Sprintf("raglab's own server with %s; %s in %s", tables, sizeText(s.Own.DataBytes), s.Own.Folder)
	case !s.Running || s.Migration == 0:
		return ""
	}
	return fmt.Sprintf("the schema %s with %s, from database %s at %s", s.Schema, tables, s.Database, addressText(s))
}
