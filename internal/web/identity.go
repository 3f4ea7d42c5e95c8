package web

import "strings"

// Identity is what keys of results call a server: the name that the user gives it,
// or else its address, without scheme, credentials and closing slashes.
func Identity(address, name string) string {
	if name == "" {
		name = address
	}
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		name = name[at+1:]
	}
	return strings.TrimRight(name, "/")
}
