package web

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Config says how a client behaves. The zero value is usable.
type Config struct {
	// HTTP makes the exchanges; nil is a client with the usual settings, which
	// honours HTTPS_PROXY. Its CheckRedirect is not used.
	HTTP *http.Client
	// UserAgent is sent with each request; empty is "raglab". See [Agent].
	UserAgent string
	// Tries is how often in a row a request is made before it counts as failed; 0
	// is 5. A try of a download that brought bytes starts the count anew.
	Tries int
	// FirstWait is the wait after the first failure, doubled after each further
	// one up to LongestWait; 0 is a second and LongestWait's 0 two minutes.
	FirstWait, LongestWait time.Duration
	// StallAfter is how long an exchange may bring less than a kilobyte, the wait
	// for its header included; 0 is a minute.
	StallAfter time.Duration
	// Retrying, where set, is told of each failure that is tried again.
	Retrying func(err error, wait time.Duration)
	// Sleep waits, or returns the context's cause; nil waits by a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock that a Retry-After date is read by; nil is time.Now.
	Now func() time.Time
}

// Client makes requests. Its methods may be called from several goroutines.
type Client struct {
	config Config
	http   http.Client
}

// New returns a client. It asks nothing of the network or the environment.
func New(c Config) *Client {
	c.setDefaults()
	client := &Client{config: c}
	if c.HTTP != nil {
		client.http = *c.HTTP
	}
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func (c *Config) setDefaults() {
	if c.UserAgent == "" {
		c.UserAgent = "raglab"
	}
	if c.Tries == 0 {
		c.Tries = 5
	}
	if c.FirstWait == 0 {
		c.FirstWait = time.Second
	}
	if c.LongestWait == 0 {
		c.LongestWait = 2 * time.Minute
	}
	if c.StallAfter == 0 {
		c.StallAfter = time.Minute
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Agent returns a User-Agent as the policies of public APIs ask for it: the
// program, its version, and how to reach whoever runs it (an address of mail or
// of a page), where that is known.
func Agent(version, contact string) string {
	agent := "raglab/" + strings.Join(strings.Fields(version), "-")
	if version == "" {
		agent = "raglab"
	}
	if contact = strings.Join(strings.Fields(contact), " "); contact != "" {
		agent += " (" + strings.NewReplacer("(", "", ")", "").Replace(contact) + ")"
	}
	return agent
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
