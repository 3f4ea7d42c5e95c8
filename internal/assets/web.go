package assets

import (
	"context"

	"raglab/internal/web"
)

// URL is a file on a web server.
type URL struct{ Address string }

func (p URL) String() string { return web.RedactURL(p.Address) }
func (p URL) byHand() string { return web.RedactURL(p.Address) }

func (p URL) fetch(ctx context.Context, j job) (obtained, error) {
	if err := web.Secure(p.Address); err != nil {
		return obtained{}, err
	}
	if _, err := j.download(ctx, remote{url: p.Address, place: p.String()}); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: p.String()}, nil
}
