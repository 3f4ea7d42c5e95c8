package pg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// EnvDSN is the variable that names a server for specs that name none.
const EnvDSN = "RAGLAB_DSN"

// DSN is the address of a Postgres server as its own programs take it: a URL
// (postgres://user:password@host:port/database) or a list (host=… dbname=…). It
// prints as a placeholder however it is printed, for it may hold a password.
type DSN string

const dsnPlaceholder = "(address of a Postgres server)"

// Format prints the placeholder, whatever the verb.
func (d DSN) Format(f fmt.State, _ rune) { io.WriteString(f, dsnPlaceholder) }

// MarshalJSON writes the placeholder.
func (d DSN) MarshalJSON() ([]byte, error) { return json.Marshal(dsnPlaceholder) }

// Origin says where the choice of a server comes from.
type Origin string

// The origins in the order in which they are asked.
const (
	FromSpec    Origin = "the dsn of the store block"
	FromEnv     Origin = EnvDSN
	FromPrivate Origin = "raglab's own private server"
)

// isURL tells the two forms of a DSN apart, as libpq does.
func (d DSN) isURL() bool {
	return strings.HasPrefix(string(d), "postgres://") || strings.HasPrefix(string(d), "postgresql://")
}

// parse reads a DSN. What was wrong is told without any part of the DSN: in one
// that does not parse nobody knows which part is the password.
func (d DSN) parse(from Origin) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(string(d))
	if err != nil {
		hint := ""
		if d.isURL() {
			hint = "; in a URL the characters / ? # @ : % of a password are written as %2F %3F %23 %40 %3A %25"
		}
		return nil, fmt.Errorf("%s is no address of a Postgres server: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE "+
			"or host=HOST port=PORT user=USER password=PASSWORD dbname=DATABASE%s", from, hint)
	}
	return config, nil
}

// Check returns what keeps the DSN from being one, without any part of it. It
// connects to nothing.
func (d DSN) Check() error {
	_, err := d.parse("it")
	return err
}

// Secrets returns the texts that nobody may see where the DSN is used: the DSN and
// its passwords. A password that is also the name of the user, the database or the
// host is none.
func (d DSN) Secrets() []string {
	if d == "" {
		return nil
	}
	config, err := d.parse("it")
	if err != nil {
		return []string{string(d)}
	}
	known := []string{config.User, config.Database, config.Host, "raglab", "postgres"}
	return slices.DeleteFunc(d.secrets(config), func(s string) bool { return slices.Contains(known, s) })
}

// Redact takes out of a text what has the look of a DSN's password.
func Redact(text string) string { return redactor{}.text(text) }

// secretKeys are the parameters whose values must not be seen.
var secretKeys = []string{"password", "sslpassword", "oauth_client_secret"}

// secrets returns what must not be seen of a DSN, in all the spellings that an
// error may have it in.
func (d DSN) secrets(config *pgx.ConnConfig) []string {
	found := []string{string(d), config.Password, os.Getenv("PGPASSWORD")}
	if d.isURL() {
		if u, err := url.Parse(string(d)); err == nil {
			if p, ok := u.User.Password(); ok {
				found = append(found, p, strings.TrimPrefix(url.UserPassword("", p).String(), ":"))
			}
			for _, key := range secretKeys {
				found = append(found, query(u)[key]...)
			}
		}
	} else if pairs, err := d.pairs(); err == nil {
		for _, p := range pairs {
			if slices.Contains(secretKeys, p.key) {
				found = append(found, p.value)
			}
		}
	}
	for _, s := range slices.Clone(found) {
		found = append(found, url.QueryEscape(s), url.PathEscape(s))
	}
	// Long ones first, so that none is broken by a shorter one within it. What is
	// shorter than this is part of too many words to be taken out of them.
	const shortest = 3
	found = slices.DeleteFunc(found, func(s string) bool { return len(s) < shortest })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(found)
}

// query reads the parameters of a URL as libpq does, to which a plus sign is no blank.
func query(u *url.URL) url.Values {
	values, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B"))
	if err != nil {
		return url.Values{}
	}
	return values
}

// pair is one parameter of a DSN that is a list.
type pair struct{ key, value string }

var errNoPairs = errors.New("not a list of key = value")

// pairs reads a DSN in its list form: blanks around keys, equal signs and values;
// values in single quotes or without blanks; a backslash takes the next character
// as it is.
func (d DSN) pairs() ([]pair, error) {
	var pairs []pair
	rest := strings.TrimLeft(string(d), " \t\r\n")
	for rest != "" {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, errNoPairs
		}
		value, left, err := listValue(strings.TrimLeft(after, " \t\r\n"))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{strings.TrimSpace(key), value})
		rest = strings.TrimLeft(left, " \t\r\n")
	}
	return pairs, nil
}

// listValue splits a value from what comes after it.
func listValue(s string) (value, rest string, err error) {
	end := func(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
		end = func(c byte) bool { return c == '\'' }
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case end(s[i]):
			return b.String(), s[i+1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	if quoted {
		return "", "", errNoPairs
	}
	return b.String(), "", nil
}

// withoutSecrets returns a DSN that programs can be given where others see it.
func (d DSN) withoutSecrets() (string, error) {
	if d.isURL() {
		u, err := url.Parse(string(d))
		if err != nil {
			return "", errNoPairs
		}
		if u.User != nil {
			u.User = url.User(u.User.Username())
		}
		q := query(u)
		for _, key := range secretKeys {
			q.Del(key)
		}
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		return u.String(), nil
	}
	pairs, err := d.pairs()
	if err != nil {
		return "", err
	}
	var parts []string
	for _, p := range pairs {
		if !slices.Contains(secretKeys, p.key) {
			escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p.value)
			parts = append(parts, p.key+"='"+escaped+"'")
		}
	}
	return strings.Join(parts, " "), nil
}
