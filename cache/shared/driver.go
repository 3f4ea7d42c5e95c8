package shared

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Driver opens the buckets of one scheme of URL.
type Driver struct {
	// Scheme of the URLs, such as s3.
	Scheme string
	// Example is a URL, for messages and documentation.
	Example string
	// Query lists the parameters that a URL may have. They are no secrets: they are shown.
	Query []string
	// Open opens the bucket of a URL. It need not ask the server for anything.
	Open func(ctx context.Context, u *url.URL) (Bucket, error)
}

// OpenBucket opens the bucket of a URL with the driver of its scheme. A URL may not hold credentials.
func OpenBucket(ctx context.Context, drivers []Driver, raw string) (Bucket, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse quotes what it was given.
		return nil, errors.New("open store: its address is no URL")
	}
	i := slices.IndexFunc(drivers, func(d Driver) bool { return d.Scheme == u.Scheme })
	if i < 0 {
		return nil, fmt.Errorf("open store %s: this raglab opens %s", Redact(raw), examples(drivers))
	}
	if err := checkURL(drivers[i], u); err != nil {
		return nil, fmt.Errorf("open store %s: %w", Redact(raw), err)
	}
	b, err := drivers[i].Open(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", Redact(raw), redactError(err))
	}
	return b, nil
}

func examples(drivers []Driver) string {
	var all []string
	for _, d := range drivers {
		all = append(all, d.Example)
	}
	if len(all) == 0 {
		return "no stores"
	}
	return strings.Join(all, ", ")
}

// checkURL refuses what would be a secret in the wrong place, or is not understood.
func checkURL(d Driver, u *url.URL) error {
	if u.User != nil {
		return errors.New("a store's URL holds no user and no password: credentials come from the environment")
	}
	if u.Fragment != "" {
		return errors.New("a store's URL has no part behind #")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("its parameters behind ? cannot be read")
	}
	for name := range query {
		if !slices.Contains(d.Query, name) {
			known := "it knows none"
			if len(d.Query) > 0 {
				known = "it knows " + strings.Join(d.Query, ", ")
			}
			return fmt.Errorf("%s:// knows no parameter %q; %s", d.Scheme, name, known)
		}
	}
	return nil
}
