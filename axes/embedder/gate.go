package embedder

import (
	"net/http"
	"strconv"
	"time"

	"raglab/internal/web"
)

// gate keeps requests apart, as many in a minute as the user says, and holds them
// back while the server's limits are used up. Safe for concurrent use.
type gate struct{ *web.Pace }

// longestHold bounds what a server's headers may ask for unsaid; a longer wait is
// for a refusal with Retry-After to tell.
const longestHold = 2 * time.Minute

// heed reads the headers with which OpenAI and others say what is left of their
// limits, and waits where the next request of about so many tokens would be too
// much.
func (g gate) heed(header http.Header, tokens int) {
	for _, limit := range []struct {
		name string
		need int
	}{{"requests", 1}, {"tokens", tokens}} {
		left, err := strconv.Atoi(header.Get("x-ratelimit-remaining-" + limit.name))
		if err != nil || left >= limit.need {
			continue
		}
		if d := resets(header, limit.name); d > 0 {
			g.Hold(min(d, longestHold))
		}
	}
}

// resets is the time after which a limit is whole again, such as 1s or 6m0s; 0 when
// the server does not say.
func resets(header http.Header, limit string) time.Duration {
	value := header.Get("x-ratelimit-reset-" + limit)
	if d, err := time.ParseDuration(value); err == nil {
		return max(0, d)
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return 0
}

// check judges an answer by its status. A refusal for want of patience that does
// not say when to come again in Retry-After may do so in other headers.
func (g gate) check(a web.Answer) error {
	err := a.Err()
	if a.Code != http.StatusTooManyRequests {
		return err
	}
	wait := max(resets(a.Header, "requests"), resets(a.Header, "tokens"))
	if a.Header.Get("Retry-After") == "" && wait > 0 {
		return web.Temporary(err, min(wait, longestHold))
	}
	return err
}
