package cache

import (
	"fmt"
	"net/url"
	"strings"
)

// maxNameBytes is how long an escaped name may get: file systems stop at 255 bytes, and an
// extension must fit.
const maxNameBytes = 200

// escapeName makes a file name out of any text, so that two texts never share one: not on file
// systems that fold case or compose letters either. What is no lower-case ASCII letter, digit,
// '-', '_' or inner '.' becomes %XX per byte.
func escapeName(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("a name is empty")
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 && i < len(name)-1 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	escaped := b.String()
	if isDeviceName(escaped) {
		escaped = fmt.Sprintf("%%%02X", escaped[0]) + escaped[1:]
	}
	if len(escaped) > maxNameBytes {
		return "", fmt.Errorf("name %.40q… takes %d bytes as a file name; at most %d fit", name, len(escaped), maxNameBytes)
	}
	return escaped, nil
}

// unescapeName is what escapeName made a file name of; false when it made none like this.
func unescapeName(escaped string) (string, bool) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", false
	}
	again, err := escapeName(name)
	return name, err == nil && again == escaped
}

// isDeviceName reports the names that Windows takes for devices, with or without an extension.
func isDeviceName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	rest, ok := strings.CutPrefix(stem, "com")
	if !ok {
		rest, ok = strings.CutPrefix(stem, "lpt")
	}
	return ok && len(rest) == 1 && rest[0] >= '0' && rest[0] <= '9'
}
