// Package web is the one HTTP client of raglab: everything that a source, an
// embedder, a reranker or an asset asks of a server goes through it.
//
// There are two uses. Small answers are read into memory:
//
//	client := web.New(web.Config{UserAgent: web.Agent(version, contact)})
//	var answer struct{ Query struct{ … } }
//	err := client.JSON(ctx, web.Request{URL: address, Header: header}, &answer)
//
// with Method and Body for a POST ([PostJSON] makes one), [Client.Do] where the
// header or the bytes of the answer matter, and Request.Check where a server says
// in the body of a good answer that something is wrong. Files go to a path, and go
// on where an earlier download, of this process or one that died, stopped:
//
//	got, err := client.Download(ctx, web.File{URL: address, Path: path, SHA256: sum})
//
// # What it does about the network
//
// Broken connections, bodies that are cut, stalls and the statuses 408, 429 and
// 5xx are tried again, Config.Tries times in a row, after a wait that doubles from
// Config.FirstWait. A Retry-After, in seconds or as a date, is obeyed; one beyond
// Config.LongestWait ends the request with an error that says so, since asking
// earlier would be rude and waiting longer is the user's to decide. An error that
// is still there after the last try, and no other, satisfies [IsTemporary]: the
// same request may succeed later.
//
// An exchange fails when less than a kilobyte comes in Config.StallAfter, so that a
// server which drips a byte now and then cannot hold a run forever. Answers may be
// gzipped; limits count the unpacked bytes. A body shorter than the server or the
// caller said is an error, and so is one that is longer.
//
// # What it does about secrets
//
// Redirects are followed by hand. On another host or scheme only headers that are
// known to be harmless are sent again: Authorization, cookies and API keys stay
// where they were meant for. A step from https to http is refused, but on the
// loopback. Errors name addresses without user, password, query and fragment, and
// what a server says is shown without the values of the request's own secret
// headers ([RedactURL], [RedactText]). Whoever prints an address does the same.
//
// # Tests
//
// Config.Sleep takes the place of waiting and Config.Now that of the clock, so that
// no test sleeps; Config.StallAfter can be some milliseconds. Servers are
// httptest's, on the loopback, where plain http is allowed.
package web
