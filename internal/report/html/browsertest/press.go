package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

//go:embed press.js
var press string

// place is where an element stands in the window, in CSS pixels, or why it cannot be pressed.
type place struct {
	X, Y   float64
	Cannot string
}

// Press scrolls to the first element that the selector matches and clicks on it with the
// mouse, once two frames show it at the same place and it is what the mouse would hit
// there. The page itself tells all that: a mirror of its elements, as the browser's
// debugger keeps one, may be of the page before a reload, and then nothing is found in it.
func (p *Page) Press(selector string) {
	p.t.Helper()
	at := Eval[place](p, "("+press+")("+quoted(selector)+")")
	if at.Cannot != "" {
		p.t.Fatalf("press %s: %s", selector, at.Cannot)
	}
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1,
			})
			if err != nil {
				return fmt.Errorf("press %s: %w", selector, err)
			}
			return nil
		}))
	}
}

// Focus gives the first element that the selector matches the focus, as a key would: so
// that it is seen to have it.
func (p *Page) Focus(selector string) {
	p.t.Helper()
	if !Eval[bool](p, `(() => { const e = document.querySelector(`+quoted(selector)+`); e?.focus({ focusVisible: true }); return e !== null && document.activeElement === e })()`) {
		p.t.Fatalf("focus %s: it cannot have the focus", selector)
	}
}

// quoted is a text as JavaScript writes it.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can be
	}
	return string(b)
}
