package pg

import (
	"regexp"
	"strings"
)

// redactor takes secrets out of texts that others wrote.
type redactor struct{ secrets []string }

var (
	urlUserinfo = regexp.MustCompile(`(postgres(?:ql)?://)\S*@`)
	listSecret  = regexp.MustCompile(`(?i)\b(password|sslpassword|oauth_client_secret)(\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)`)
)

// text returns a text without the secrets, and without anything that has the look
// of one.
func (r redactor) text(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = urlUserinfo.ReplaceAllString(s, "$1***@")
	return listSecret.ReplaceAllString(s, "$1$2***")
}
