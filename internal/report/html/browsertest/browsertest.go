// Package browsertest opens a report's page in a real browser, headless Chromium, and
// looks at it as a reader would: what it shows, what it asks for, what it complains of.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for the browser before it gives up.
const patience = time.Minute

// Browser is one running browser, without a profile of its user's.
type Browser struct{ ctx context.Context }

// Start starts a browser that ends with the test. Without one on this machine the test is
// skipped with a line that begins with SKIP-BROWSER; in continuous integration, where the
// variable CI is set, it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		const missing = "SKIP-BROWSER: no chromium on this machine; install Debian's package chromium"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocated, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return &Browser{ctx}
}

func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Page is a file in a tab. Not safe for concurrent use.
type Page struct {
	t    testing.TB
	ctx  context.Context
	url  string
	lock sync.Mutex
	// faults are what the page complained of or asked for, and must not have.
	faults []string
}

// Open writes the file and opens it in a tab of its own. When the test ends it fails if
// the page put an error on the console, was refused something by its policy, or asked
// for anything but itself.
func (b *Browser) Open(t testing.TB, file []byte) *Page {
	t.Helper()
	return b.OpenAt(t, file, "")
}

// OpenAt is Open by a link: the file's address with a fragment, which begins with # or is empty.
func (b *Browser) OpenAt(t testing.TB, file []byte, fragment string) *Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return b.open(t, "file://"+path, fragment)
}

// open opens an address in a tab of its own.
func (b *Browser) open(t testing.TB, url, fragment string) *Page {
	t.Helper()
	tab, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	p := &Page{t: t, ctx: tab, url: url}
	if err := chromedp.Listen(tab, p.heard); err != nil {
		t.Fatalf("listen to the page: %v", err)
	}
	t.Cleanup(p.complain)
	p.Size(1280, 900)
	p.Do(chromedp.Navigate(p.url + fragment))
	return p
}

// heard notes what a page must not do.
func (p *Page) heard(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.note("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.note("console: %s", e.Type)
	case *log.EventEntryAdded:
		p.note("log: %s", e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if url, _, _ := strings.Cut(e.Request.URL, "#"); url != p.url && !strings.HasPrefix(url, "data:") {
			p.note("request: %s", e.Request.URL)
		}
	}
}

func (p *Page) note(format string, args ...any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *Page) complain() {
	for _, fault := range p.Faults() {
		p.t.Error(fault)
	}
}

// Faults returns what the page did that it must not have, and forgets it.
func (p *Page) Faults() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	faults := p.faults
	p.faults = nil
	return faults
}

// Do does something to the page.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeoutCause(p.ctx, patience, fmt.Errorf("the browser took longer than %s", patience))
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// Eval returns the value of a JavaScript expression in the page; a promise is waited for.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeoutCause(p.ctx, patience, fmt.Errorf("the browser took longer than %s", patience))
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %.200s: %v", expression, err)
	}
	return v
}

// Size sets the window's inner size in CSS pixels.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(width, height))
}

// Media sets the medium, screen or print, and the colour scheme, light or dark, that
// the reader asks for.
func (p *Page) Media(medium, scheme string) {
	p.t.Helper()
	p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// Shoot writes a picture of the whole page into the folder that the variable
// RAGLAB_SHOTS names; without it nothing is written.
func (p *Page) Shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("RAGLAB_SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeoutCause(p.ctx, patience, fmt.Errorf("the browser took longer than %s", patience))
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatalf("take a picture: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
