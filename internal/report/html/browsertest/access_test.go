package browsertest

import (
	"strings"
	"testing"
)

// TestBarriers_found opens a page with one of each.
func TestBarriers_found(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, []byte(`<!DOCTYPE html><html><head><title></title></head><body>
<h1>One</h1><h3 id="a">Three</h3><p id="a">twice</p><nav><a href="#a"></a></nav>
<p style="color: #999; background: #fff">pale</p><button></button><input><img src="data:,"><div aria-labelledby="none">x</div>
<table><tr><th>head</th></tr></table><svg class="chart" role="img"><path class="fill c-heat1" fill="#222" d="M0,0"/></svg>
<div style="overflow: auto; height: 20px"><p style="height: 100px">far</p></div><p tabindex="3" onclick="1">first</p>
</body></html>`))
	found := strings.Join(p.Barriers(), "\n")
	for _, want := range []string{
		"no language", "no title", "not one main", "id twice", "navigation without a name", "skips a level", "aria-labelledby names nothing",
		"no name: a", "no name: button", "no name: input", "image without alt", "drawing without title", "table without caption", "head without scope",
		"no keyboard reaches", "positive tabindex", "attribute onclick", "attribute style", "contrast of text 2.8", "contrast of fill c-heat1",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("not found: %s", want)
		}
	}
	if t.Failed() {
		t.Log(found)
	}
}
