package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patient is a client that notes its waits instead of waiting, and the waits.
func patient(t *testing.T, set ...func(*Config)) (*Client, *[]time.Duration) {
	t.Helper()
	waits := &[]time.Duration{}
	c := Config{Sleep: func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return context.Cause(ctx)
	}}
	for _, f := range set {
		f(&c)
	}
	return New(c), waits
}

// serve starts a server; the handler is told which request it is, from 1.
func serve(t *testing.T, handler func(w http.ResponseWriter, r *http.Request, n int)) string {
	t.Helper()
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(w, r, int(n.Add(1)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestDo_waitsLongerEachTime(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n < 5 {
			w.WriteHeader([]int{500, 503, 429, 408}[n-1])
			return
		}
		fmt.Fprint(w, "done")
	})
	client, waits := patient(t)
	answer, err := client.Do(t.Context(), Request{URL: at})
	if err != nil || string(answer.Body) != "done" {
		t.Fatalf("%q, %v", answer.Body, err)
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(*waits, want) {
		t.Errorf("waits %v, expected %v", *waits, want)
	}
}

func TestDo_givesUp(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		http.Error(w, "too busy", http.StatusServiceUnavailable)
	})
	var told int
	client, waits := patient(t, func(c *Config) {
		c.Tries, c.LongestWait = 4, 3*time.Second
		c.Retrying = func(error, time.Duration) { told++ }
	})
	_, err := client.Do(t.Context(), Request{URL: at + "/x?key=SECRET"})
	if err == nil || !IsTemporary(err) || !HasStatus(err, 503) || err.Error() != at+"/x answers 503 Service Unavailable: too busy (tried 4 times)" {
		t.Errorf("error %v", err)
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(*waits, want) || told != 3 {
		t.Errorf("waits %v, told %d times", *waits, told)
	}
}

func TestDo_whatDoesNotPassIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 401, 403, 404, 410, 422} {
		asked := 0
		at := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			asked = n
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			fmt.Fprint(w, "<html>a long page</html>")
		})
		client, _ := patient(t)
		_, err := client.Do(t.Context(), Request{URL: at})
		if !HasStatus(err, code) || IsTemporary(err) || asked != 1 || strings.Contains(err.Error(), "html") {
			t.Errorf("%d: %v after %d requests", code, err, asked)
		}
	}
}

func TestDo_retryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		value string
		want  time.Duration
	}{
		"seconds":          {"7", 7 * time.Second},
		"a date":           {"Mon, 30 Nov 2026 12:00:42 GMT", 42 * time.Second},
		"a date long past": {"Mon, 30 Nov 2020 12:00:42 GMT", time.Second},
		"less than ours":   {"0", time.Second},
		"nonsense":         {"soon", time.Second},
		"negative":         {"-5", time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n == 1 {
					w.Header().Set("Retry-After", test.value)
					w.WriteHeader(http.StatusTooManyRequests)
				}
			})
			client, waits := patient(t, func(c *Config) { c.Now = func() time.Time { return now } })
			if _, err := client.Do(t.Context(), Request{URL: at}); err != nil || !slices.Equal(*waits, []time.Duration{test.want}) {
				t.Errorf("waits %v, expected %v; %v", *waits, test.want, err)
			}
		})
	}
}

func TestDo_retryAfterThatIsTooLong(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	client, waits := patient(t)
	_, err := client.Do(t.Context(), Request{URL: at})
	if err == nil || !strings.Contains(err.Error(), "the server asks to come back in 1h0m0s") || !IsTemporary(err) || len(*waits) > 0 {
		t.Errorf("error %v after waits %v", err, *waits)
	}
}

func TestDo_checkOfAGoodAnswer(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		w.Header().Set("Retry-After", "5")
		fmt.Fprint(w, []string{"lag", "fine"}[n-1])
	})
	client, waits := patient(t)
	answer, err := client.Do(t.Context(), Request{URL: at, Check: func(a Answer) error {
		if string(a.Body) == "lag" {
			return Temporary(errors.New("lagging"), 0)
		}
		return nil
	}})
	if err != nil || string(answer.Body) != "fine" || !slices.Equal(*waits, []time.Duration{5 * time.Second}) {
		t.Errorf("%q, %v, waits %v", answer.Body, err, *waits)
	}
}

func TestDo_brokenConnectionsAndCutBodies(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) {
		case 1, 2: // the transport itself asks once more when nothing came
			panic(http.ErrAbortHandler)
		case 3:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "cut")
		case 4:
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			fmt.Fprint(z, strings.Repeat("cut", 1000))
			z.Close()
			w.Write(b.Bytes()[:b.Len()/2])
		default:
			fmt.Fprint(w, "whole")
		}
	}))
	t.Cleanup(server.Close)
	client, waits := patient(t)
	answer, err := client.Do(t.Context(), Request{URL: server.URL})
	if err != nil || string(answer.Body) != "whole" || len(*waits) < 3 {
		t.Errorf("%q, %v after %d waits", answer.Body, err, len(*waits))
	}
}

func TestDo_nobodyThere(t *testing.T) {
	t.Parallel()
	client, waits := patient(t)
	_, err := client.Do(t.Context(), Request{URL: "http://me:SECRET@127.0.0.1:1/x?key=SECRET"})
	if err == nil || !IsTemporary(err) || strings.Contains(err.Error(), "SECRET") || len(*waits) != 4 {
		t.Errorf("error %v after %d waits", err, len(*waits))
	}
}

func TestDo_stalls(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request, every time.Duration) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
		}
	}
	tests := map[string]struct {
		handler func(http.ResponseWriter, *http.Request)
		want    string
	}{
		"before the header": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "nothing came for 50ms"},
		"in the body": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "begin")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, " came in 50ms"},
		"a slow drip": {func(w http.ResponseWriter, r *http.Request) { drip(w, r, time.Millisecond) }, " came in 50ms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { test.handler(w, r) })
			client, _ := patient(t, func(c *Config) { c.StallAfter, c.Tries = 50*time.Millisecond, 2 })
			_, err := client.Do(t.Context(), Request{URL: at})
			if err == nil || !IsTemporary(err) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), at) {
				t.Errorf("error %v, expected %q", err, test.want)
			}
		})
	}
}

func TestDo_cancelGivesTheCause(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	at := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		cancel(stop)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := New(Config{FirstWait: time.Hour}).Do(ctx, Request{URL: at}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestDo_unpacksAndLimits(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("accepted codings %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.Copy(z, io.LimitReader(zeros{}, 10_000))
		z.Close()
	})
	client, _ := patient(t)
	answer, err := client.Do(t.Context(), Request{URL: at})
	if err != nil || len(answer.Body) != 10_000 {
		t.Errorf("%d bytes, %v", len(answer.Body), err)
	}
	_, err = client.Do(t.Context(), Request{URL: at, Limit: 9_999})
	if err == nil || IsTemporary(err) || !strings.Contains(err.Error(), "larger than 9999 bytes") {
		t.Errorf("error %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestJSON_postsAndReads(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || string(body) != `{"a":1}` || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Api-Key") != "KEY" {
			t.Errorf("%s %s %v", r.Method, body, r.Header)
		}
		if r.UserAgent() != "raglab/1.0 (me@example.org)" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("header %v", r.Header)
		}
		if n == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, `{"b":2}`)
	})
	client, _ := patient(t, func(c *Config) { c.UserAgent = Agent("1.0", "me@example.org") })
	header := http.Header{"X-Api-Key": {"KEY"}}
	var out struct{ B int }
	if err := client.JSON(t.Context(), PostJSON(at, header, map[string]int{"a": 1}), &out); err != nil || out.B != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if len(header) != 1 {
		t.Errorf("the caller's header was changed: %v", header)
	}
}

func TestDo_errorsHideWhatTheHeaderHolds(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		http.Error(w, "the key "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+" of https://u:p@host/x?sig=1 is wrong", http.StatusUnauthorized)
	})
	client, _ := patient(t)
	_, err := client.Do(t.Context(), Request{URL: at, Header: http.Header{"Authorization": {"Bearer SECRET-TOKEN"}}})
	if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "u:p") || strings.Contains(err.Error(), "sig=") {
		t.Errorf("error %v", err)
	}
}

func TestRedirect_keepsSecretsHome(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s went to another host", name)
			}
		}
		fmt.Fprint(w, r.Header.Get("Accept"))
	})
	at := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.Header.Get("Authorization") != "Bearer SECRET" {
			t.Errorf("the host itself got %q", r.Header.Get("Authorization"))
		}
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "/second", http.StatusFound)
			return
		}
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	client, _ := patient(t)
	header := http.Header{"Authorization": {"Bearer SECRET"}, "Cookie": {"SECRET"}, "X-Api-Key": {"SECRET"}, "Accept": {"text/plain"}}
	answer, err := client.Do(t.Context(), Request{URL: at + "/first", Header: header})
	if err != nil || string(answer.Body) != "text/plain" {
		t.Errorf("%q, %v", answer.Body, err)
	}
}

func TestRedirect_refusals(t *testing.T) {
	t.Parallel()
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { t.Error("a step to http was made") })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain, http.StatusFound) }))
	t.Cleanup(secure.Close)
	round := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, "/again", http.StatusFound) })
	file := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	post := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, "/other", http.StatusFound) })
	for name, test := range map[string]struct {
		request Request
		want    string
	}{
		"away from https": {Request{URL: secure.URL}, "redirects away from https"},
		"round and round": {Request{URL: round}, "redirects more than 10 times"},
		"to a file":       {Request{URL: file}, "something else than a web page"},
		"of a POST":       {Request{URL: post, Method: http.MethodPost}, "redirects a POST with status 302"},
	} {
		client, _ := patient(t, func(c *Config) { c.HTTP = secure.Client() })
		if _, err := client.Do(t.Context(), test.request); err == nil || !strings.Contains(err.Error(), test.want) || IsTemporary(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSecure(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://example.org/x": true, "http://127.0.0.1:80": true, "http://[::1]/": true, "http://localhost:8080/x": true,
		"http://example.org": false, "ftp://127.0.0.1": false, "": false, "example.org": false, "https://": false, "http://127.0.0.1.example.org": false, ":": false,
	} {
		if err := Secure(address); (err == nil) != ok {
			t.Errorf("Secure(%q) = %v", address, err)
		}
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][2]string{
		"raglab": {}, "raglab/1.2": {"1.2"}, "raglab/1.2 (me@x.org)": {"1.2", "me@x.org"}, "raglab/1-2 (a b)": {"1 2", "(a\r\nb)"},
	} {
		if got := Agent(of[0], of[1]); got != want {
			t.Errorf("Agent(%q) = %q, expected %q", of, got, want)
		}
	}
}

func FuzzRedactText(f *testing.F) {
	f.Add("see https://user:SECRETS@host/path?token=SECRETS now")
	f.Add("Bearer SECRETS")
	f.Add("postgres://u:SECRETS@h/d")
	f.Fuzz(func(t *testing.T, text string) {
		got := RedactText(text, "SECRETS")
		if strings.Contains(got, "SECRETS") {
			t.Errorf("%q", got)
		}
		if again := RedactText(got, "SECRETS"); len(again) > len(got)+3*strings.Count(got, "://") {
			t.Errorf("redacting %q again gives %q", got, again)
		}
	})
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
