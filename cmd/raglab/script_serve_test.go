package main

import (
	"archive/zip"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// serve NAME FOLDER serves a folder's files over HTTP, as they are whenever they are
// asked for, and sets a variable to the address.
func cmdServe(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "serve NAME FOLDER")
	server := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[1]))))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// zip FILE FOLDER packs a folder's files.
func cmdZip(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "zip FILE FOLDER")
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer out.Close()
	z := zip.NewWriter(out)
	ts.Check(z.AddFS(os.DirFS(ts.MkAbs(args[1]))))
	ts.Check(z.Close())
}

// dataset REPOSITORY FOLDER gives a dataset of the script's hub a commit with a
// folder's files. The word hub starts it.
func cmdDataset(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "dataset REPOSITORY FOLDER")
	root := ts.MkAbs(args[1])
	files := map[string][]byte{}
	ts.Check(filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil {
			files[filepath.ToSlash(name)], err = os.ReadFile(path)
		}
		return err
	}))
	ts.Value(serversKey{}).(*servers).hub.Commit("datasets", args[0], files)
}

// sql DSN STATEMENT… runs statements.
func cmdSQL(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "sql DSN STATEMENT…")
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	defer conn.Close(ctx)
	for _, statement := range args[1:] {
		_, err := conn.Exec(ctx, statement)
		ts.Check(err)
	}
}
