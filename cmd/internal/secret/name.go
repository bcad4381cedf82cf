// Package secret knows what a credential looks like: by the name of what holds
// it (a header, a flag, a query parameter, a variable), and by its form.
//
// It decides what must not be written into a lockfile, shown, or accepted from a
// server that repeats it. It works on names and forms alone, so it misses a
// password that stands where nothing says what it is, and it takes some harmless
// values for secrets. How often it does either is measured by a test over
// testdata/entries.txt.
package secret

import (
	"slices"
	"strings"
	"unicode"
)

// A strength is how much a name says about its value.
type strength int

const (
	none   strength = iota
	weak            // holds a secret if the value looks like a token: "key", "session"
	strong          // holds a secret: "password", "apiToken"
)

// Name reports whether a header, query parameter or variable of this name holds
// a secret. Words are told apart by capitals and by everything that is not
// a letter or digit.
func Name(name string) bool { return rate(name) != none }

// rate returns what a name says about its value.
func rate(name string) strength {
	words := Words(name)
	if len(words) == 0 || slices.Contains(switches, words[0]) && len(words) > 1 {
		return none
	}
	for len(words) > 1 && slices.Contains(encodings, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	last := len(words) - 1
	switch {
	case words[last] == "id" && last > 0 && slices.Contains([]string{"session", "secret", "key"}, words[last-1]):
		return weak
	case words[last] == "header" && last > 0 && slices.Contains([]string{"auth", "authorization"}, words[last-1]):
		return strong
	case last > 0 && slices.Contains(qualities, words[last]):
		return none
	case words[last] == "key" || words[last] == "keys":
		return rateKey(words[:last])
	}
	found := none
	for i, w := range words {
		s := rateWord(w)
		if w == "key" && i > 0 {
			s = rateKey(words[:i])
		}
		if i < last {
			s = min(s, weak) // "token foo" may be something about a token
		}
		found = max(found, s)
	}
	return found
}

// rateWord returns what one word of a name says.
func rateWord(w string) strength {
	switch {
	case slices.Contains(strongWords, w), slices.ContainsFunc(strongEnds, func(end string) bool { return strings.HasSuffix(w, end) }):
		return strong
	case slices.Contains(weakWords, w):
		return weak
	}
	return none
}

// rateKey returns what a name says that ends in "key", by the words before it.
func rateKey(before []string) strength {
	if len(before) == 0 {
		return weak
	}
	switch w := before[len(before)-1]; {
	case slices.Contains(secretKeys, w), rateWord(w) == strong:
		return strong
	case slices.Contains(plainKeys, w):
		return none
	}
	return weak
}

var (
	strongWords = []string{
		"accesskey", "apikey", "auth", "authentication", "authorization", "authtoken", "bearer", "cookie", "cookies", "cred", "creds",
		"credential", "credentials", "jwt", "mnemonic", "pass", "passcode", "passphrase", "passwd", "passwort", "password", "passwords",
		"pat", "privatekey", "pw", "pwd", "secret", "secretkey", "secrets", "tok", "token", "tokens",
	}
	strongEnds = []string{
		"accesskey", "apikey", "apitoken", "authkey", "authtoken", "accesstoken", "bottoken", "dbpass", "passphrase", "passwd", "password",
		"pgpass", "privatekey", "pwd", "clientsecret", "secret", "secretkey", "smtppass", "token", "userpass",
	}
	weakWords = []string{"assertion", "code", "otp", "pin", "sas", "seed", "session", "sessionid", "sid", "sig", "sign", "signature", "totp"}

	// secretKeys and plainKeys say of what kind a key is.
	secretKeys = []string{
		"access", "account", "admin", "api", "app", "application", "auth", "bot", "client", "consumer", "deploy", "encryption", "function",
		"functions", "integration", "license", "master", "private", "root", "secret", "service", "shared", "signing", "storage", "subscription",
		"webhook",
	}
	plainKeys = []string{
		"arrow", "cache", "column", "dedup", "context", "field", "foreign", "hash", "hot", "idempotency", "index", "issue", "label", "lookup",
		"map", "object", "partition", "primary", "project", "public", "publishable", "range", "row", "sort", "space", "sub", "translation",
	}

	// qualities are last words of names that tell something about a secret.
	qualities = []string{
		"algorithm", "attempts", "audience", "backend", "bucket", "budget", "cache", "class", "cmd", "command", "count", "db", "dir", "directory",
		"disabled", "domain", "email", "enabled", "endpoint", "endpoints", "env", "envvar", "expiry", "field", "file", "filename", "flow",
		"folder", "format", "handler", "header", "helper", "host", "hostname", "id", "ids", "interval", "issuer", "kind", "length", "level", "limit",
		"location", "manager", "method", "minute", "mode", "name", "names", "optional", "path", "paths", "plugin", "policy", "port", "prefix", "prompt",
		"provider", "providers", "realm", "region", "required", "retries", "rotation", "scheme", "scope", "scopes", "server", "service", "source", "store", "strategy", "suffix",
		"tenant", "through", "timeout", "ttl", "type", "types", "uri", "url", "usage", "user", "username", "var", "variable", "version", "window",
	}

	// switches are first words of names that turn something on or off, or count it.
	switches = []string{
		"allow", "count", "disable", "enable", "has", "hide", "ignore", "is", "list", "max", "maximum", "min", "minimum", "no", "num", "number",
		"omit", "require", "show", "skip", "use", "validate", "verify", "with", "without",
	}

	// encodings are last words of names that say nothing but how a value is written.
	encodings = []string{"b64", "base64", "encoded", "hex", "json", "pem", "plain", "raw", "string", "text", "value"}
)

// Words returns the words of a name in lower case, without digits at their ends:
// those of apiToken2 are api and token. Only the first 100 bytes count.
func Words(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if w := strings.TrimRight(strings.ToLower(string(word)), "0123456789"); w != "" {
			words = append(words, w)
		}
		word = word[:0]
	}
	runes := []rune(name[:min(len(name), 100)])
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			after := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) || after { // apiToken, APIToken
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}
