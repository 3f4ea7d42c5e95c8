package main

import (
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/axes/source/sourcetest"
)

// cmdWiki has scripts speak to a wiki of their own on the loopback:
//
//	wiki start FOLDER     with the articles of a folder; WIKI is its API's address
//	wiki edit TITLE FILE  gives an article another text
//	wiki delete TITLE
//	wiki add-redirect FROM TO
func cmdWiki(ts *testscript.TestScript, args []string) {
	if args[0] == "start" {
		list, err := sourcetest.ReadArticles(ts.MkAbs(args[1]))
		ts.Check(err)
		wiki := sourcetest.NewMediaWiki(list)
		server := httptest.NewServer(wiki)
		ts.Defer(server.Close)
		ts.Setenv("WIKI", server.URL+"/w/api.php")
		ts.Value(serversKey{}).(*servers).wiki = wiki
		return
	}
	wiki := ts.Value(serversKey{}).(*servers).wiki
	switch args[0] {
	case "edit":
		wiki.Edit(args[1], ts.ReadFile(args[2]), "")
	case "delete":
		wiki.Delete(args[1])
	case "add-redirect":
		wiki.Redirect(args[1], args[2])
	default:
		ts.Fatalf("wiki does not know %q", args[0])
	}
}

// cmdHub has scripts speak to a hub of models of their own on the loopback, to which
// HF_ENDPOINT then points:
//
//	hub REPOSITORY PATH=TEXT…  gives a model repository a commit with such files; those
//	                           that end in .onnx are large
func cmdHub(ts *testscript.TestScript, args []string) {
	all := ts.Value(serversKey{}).(*servers)
	if all.hub == nil {
		all.hub = sourcetest.NewHub()
		server := httptest.NewServer(all.hub)
		ts.Defer(server.Close)
		ts.Setenv("HF_ENDPOINT", server.URL)
	}
	files := map[string][]byte{}
	for _, path := range args[1:] {
		path, text, _ := strings.Cut(path, "=")
		files[path] = []byte(text + "\n")
		if strings.HasSuffix(path, ".onnx") {
			files[path] = []byte(strings.Repeat(text+"\n", 2000))
		}
	}
	all.hub.Commit("models", args[0], files)
}

// servers are what a script started; serversKey is where they are kept.
type (
	servers struct {
		wiki *sourcetest.MediaWiki
		hub  *sourcetest.Hub
		rank *rankServer
		bill *billServer
	}
	serversKey struct{}
)

// setupServers lets a script start servers.
func setupServers(env *testscript.Env) {
	env.Values[serversKey{}] = &servers{}
}
