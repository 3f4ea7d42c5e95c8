package source_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"testing"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
)

// TestDigests fails when what a kind makes of the same files changes and its
// version does not. A new version gets a new line; old lines never change.
func TestDigests(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"files@1": "f51cc5ef367234982189d57303aaca2d20bc41b520e9b231d5745d9907146fea",
		"jsonl@1": "e5426ae1adaa06635f3f402926a7a066c6f77034ec0f166c1f942b4a4ea14585",
		"beir@1":  "26d4f3f5f2705c1b027f131d72594d1059d38c2d56d25d927eb69026353fe28d",
	}
	dir := write(t, map[string]string{
		"f/a.md":          "\ufeff---\ntitle: Дніпро\nid: dnipro\ntags: [a, b]\nx: {y: z}\n---\n\n# Річка\r\n\r\nТекст.\r\n",
		"f/b.md":          "Вступ.\n\n# Назва ##\n\n```\n# код\n```\n",
		"f/b/c.txt":       "# просто текст\n\t\n",
		"f/d.html":        "<title>T</title><nav>x</nav><h1>T</h1><p>a <b>b</b><br>c<ul><li>d<ol><li>e</ol></ul><table><tr><td>f<td>g</table><pre>h\n i</pre>",
		"b/corpus.jsonl":  "{\"_id\":\"1\",\"title\":\"T\",\"text\":\"\\u0456\\n\\ud83d\\ude00\",\"u\":\"v\",\"m\":{\"n\":1}}\n\n{\"text\":\"x\",\"_id\":2,\"title\":null}\r\n",
		"b/queries.jsonl": "{\"_id\":\"q\",\"text\":\"?\"}\n", "b/qrels.tsv": "query-id\tcorpus-id\tscore\nq\t1\t1\n",
	})
	sources := map[string]source.Source{
		"files": newFiles(t, filepath.Join(dir, "f")),
		"jsonl": newJSONL(t, filepath.Join(dir, "b", "corpus.jsonl")),
		"beir":  newBEIR(t, filepath.Join(dir, "b")),
	}
	for _, k := range source.Kinds() {
		if k.Resource == axes.Network {
			continue // see the tests of that kind
		}
		checkDigest(t, k, sources[k.Name], want)
	}
}

func checkDigest(t *testing.T, k axes.Kind[source.Source], s source.Source, want map[string]string) {
	t.Helper()
	key := k.Name + "@" + k.Version
	if got := digest(t, s); got != want[key] {
		t.Errorf("%s: digest %s, want %q: if the output was meant to change, raise the version", key, got, want[key])
	}
}

func digest(t *testing.T, s source.Source) string {
	t.Helper()
	h := sha256.New()
	encode := func(v any) {
		if err := json.NewEncoder(h).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, doc := range sourcetest.Read(t, s) {
		encode([]axes.Document{doc})
	}
	if q, ok := s.(source.Questioner); ok {
		set, err := q.Questions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		encode(set.Questions)
	}
	return hex.EncodeToString(h.Sum(nil))
}
