package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retry makes tries until one gives no temporary error. The try tells whether it
// brought something, which starts the count of failures anew.
func (c *Client) retry(ctx context.Context, try func() (brought bool, err error)) error {
	wait := c.config.FirstWait
	for n := 1; ; n++ {
		brought, err := try()
		temporary, ok := errors.AsType[*temporaryError](err)
		if !ok {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if brought {
			n, wait = 0, c.config.FirstWait
		}
		if n >= c.config.Tries {
			return fmt.Errorf("%w (tried %d times)", err, n)
		}
		if temporary.wait > c.config.LongestWait {
			return fmt.Errorf("%w; the server asks to come back in %s", err, temporary.wait)
		}
		pause := max(wait, temporary.wait)
		if c.config.Retrying != nil {
			c.config.Retrying(err, pause)
		}
		if err := c.config.Sleep(ctx, pause); err != nil {
			return err
		}
		wait = min(2*wait, c.config.LongestWait)
	}
}

// retryAfter reads how long a server asks to wait: RFC 9110 §10.2.3, a number of
// seconds or a date. It is 0 where the header is missing, wrong or past.
func (c *Client) retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(c.config.Now()).Round(time.Second))
	}
	return 0
}

// judged turns what is wrong with an answer into an error that passes or not, with
// the wait the server asks for.
func (c *Client) judged(err error, code int, header http.Header) error {
	if err == nil {
		return nil
	}
	temporary, marked := errors.AsType[*temporaryError](err)
	if !marked && !passes(code) {
		return err
	}
	wait := c.retryAfter(header)
	if marked {
		wait = max(wait, temporary.wait)
	}
	return Temporary(err, wait)
}
