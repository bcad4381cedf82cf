package secret

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lazily returns a regular expression that is compiled when it is first used:
// most runs use none.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// issued is the beginning of a token by which its issuer marks it.
var issued = lazily(`^(gh[pousr]_|github_pat_|gl(pat|dt|rt|cbt|ptt|ft|soat|agent)-|xox[abeprs]-|xapp-|sk-|[sr]k_(live|test)_|whsec_|AKIA|ASIA|AIza|ya29\.|GOCSPX-|npm_|pypi-|hf_|` +
	`lin_api_|ntn_|secret_|dop_v1_|SG\.|shp(at|ca|pa|ss)_|dckr_(pat|oat)_|figd_|sbp_|tvly-|fc-|gsk_|xai-|pplx-|r8_|apify_api_|AT[AC]TT3x|phx_|sntry[su]_|` +
	`nfp_|ops_|hv[sbr]\.|glsa_|glc_|PMAK-|NRAK-|lsv2_(pt|sk)_|sq0(atp|csp)-|EAAA|EAAC|xkeysib-|re_|tskey-|dapi|pscale_(tkn|pw)_|CFPAT-|ctx7sk-|jina_|aio_|bb_live_|e2b_|` +
	`dp\.(pt|st|ct)\.|pat[A-Za-z0-9]{14}\.|key-|pul-|rnd_|atlasv1|patkey_|AGE-SECRET-KEY-)([A-Za-z0-9_.=-]{8,})$`)

// signed is the beginning of a JSON Web Token.
var signed = lazily(`^eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)

// hexadecimal is a text of 128 bits and more in hexadecimal digits.
var hexadecimal = lazily(`^[0-9a-fA-F]{32,}$`)

var uuid = lazily(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Token reports whether a text has the form of a credential by itself: a token
// that its issuer marks, a JSON Web Token, a PEM private key, a long number in
// hexadecimal digits, or 24 and more characters that look random. Paths, digests
// and placeholders do not.
func Token(text string) bool {
	text = text[:min(len(text), maxScan)]
	if Marked(text) {
		return true
	}
	if strings.ContainsAny(text, `/\`) || strings.Contains(text, "sha256:") || strings.Contains(text, "sha512-") {
		return false
	}
	// Names have words between separators, random texts seldom do.
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-_.:,@ ${}=", r) }) {
		if random(piece) {
			return true
		}
	}
	return false
}

// Marked reports whether a text is a credential by its beginning, whatever
// follows: a token that its issuer marks, a JSON Web Token or a PEM private key.
func Marked(text string) bool {
	if signed().MatchString(text) || strings.Contains(text, "PRIVATE KEY-----") {
		return true
	}
	m := issued().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	rest := m[len(m)-1]
	return strings.ContainsAny(rest, "0123456789") && (len(m[1]) > 3 || len(rest) >= 16 || !strings.Contains(rest, "-")) || len(rest) >= 32 && !strings.ContainsAny(rest, "-_.")
}

// random reports whether a text without separators looks random.
func random(piece string) bool {
	digits := 0
	for _, r := range piece {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	if digits == 0 || !strings.ContainsAny(piece, "abcdefABCDEF") {
		return false
	}
	return hexadecimal().MatchString(piece) || len(piece) >= 24 && digits >= 3 && entropy(piece) > 4
}

// tokenLike reports whether a text could be a token, where a name says so
// weakly: it has at least 8 letters and digits in a row, both of them.
func tokenLike(text string) bool {
	if Token(text) || uuid().MatchString(text) {
		return true
	}
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-_.:,@/+=%~ ", r) }) {
		if len(piece) >= 8 && strings.ContainsAny(piece, "0123456789") && strings.Trim(piece, "0123456789") != "" {
			return true
		}
	}
	return false
}

// entropy returns the bits a character of text, by how often each occurs.
func entropy(text string) float64 {
	counts := map[rune]float64{}
	n := 0.0
	for _, r := range text {
		counts[r]++
		n++
	}
	bits := 0.0
	for _, c := range counts {
		bits -= c / n * math.Log2(c/n)
	}
	return bits
}

// placeholder is a reference to a variable or a secret that a shell or a host
// fills in, or that a person is to replace.
var placeholder = lazily(`\$\{[^{}]*\}|\$\([^()]*\)|\$\{\{[^{}]*\}\}|\{\{[^{}]*\}\}|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]*%|<[A-Za-z][^<>]*>`)

// reference is a value that says where a secret is kept.
var reference = lazily(`^(@|env:|file:|keyring:|keychain:|vault:|sops:|arn:|[a-z][a-z0-9+.-]*://[^/?#@\s]*(/[^?#@\s]*)?$)`)

// masked is a text that stands for a secret.
var masked = lazily(`^([*.]+|[xX]{3,}|\.\.\.)$`)

// harmless are values that select something.
var harmless = regexpOf("true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default", "env", "prompt", "stdin", "-", "0", "1")

// modes are values of flags such as --auth that select how a client logs in.
var modes = regexpOf("basic", "bearer", "digest", "token", "apikey", "api[-_]key", "api[-_]token", "oauth2?", "oidc", "jwt", "iam", "sso", "saml", "mtls",
	"kerberos", "ntlm", "negotiate", "ldap", "pat", "password", "anonymous", "interactive", "browser", "device([-_]code)?", "managed[-_]identity",
	"service[-_]account", "client[-_]credentials", "cli", "az-?cli", "gcloud", "aws", "keyring", "keychain", "access[-_]token", "session", "cookie", "private[-_]key", "optional", "required")

func regexpOf(words ...string) func() *regexp.Regexp {
	return lazily(`(?i)^(` + strings.Join(words, "|") + `)$`)
}

// holds reports whether a value that stands behind a name is a secret.
func holds(name, value string) bool {
	s := rate(name)
	if s == none || value == "" || harmless().MatchString(value) || masked().MatchString(value) || reference().MatchString(value) || isPath(value) {
		return false
	}
	if bare := placeholder().ReplaceAllString(value, ""); bare != value {
		return Token(strings.Trim(bare, " ")) || s == strong && tokenLike(bare)
	}
	words := Words(name)
	last := words[len(words)-1]
	switch {
	case strings.HasPrefix(last, "auth") && modes().MatchString(value):
		return false
	case strings.HasSuffix(last, "s") && strings.Trim(value, "0123456789") == "": // how many tokens
		return false
	case value == strings.ToUpper(value) && strings.Contains(value, "_") && Name(value): // a variable, or YOUR_API_KEY
		return false
	}
	if slices.Contains([]string{"pin", "otp", "totp"}, last) && len(value) >= 4 && strings.Trim(value, "0123456789") == "" {
		return true
	}
	return s == strong || tokenLike(value)
}

// Misplaced reports whether a text that is given as the name of a file is rather
// a credential, or a line of a key in base64.
func Misplaced(name string) bool {
	switch {
	case Marked(name):
		return true
	case strings.HasPrefix(name, "sha256-") || strings.ContainsAny(name, ". :"):
		return false
	case strings.ContainsAny(name, `/\`):
		return len(name) >= 40 && !isPath(name)
	}
	return Token(name)
}

// isPath reports whether a value names a file that holds something. Base64 has
// slashes too: in it, capitals, small letters and digits are mixed.
func isPath(value string) bool {
	if !strings.ContainsAny(value, `/\`) {
		return fileName().MatchString(value) && !Token(value)
	}
	if rooted().MatchString(value) || fileName().MatchString(value) {
		first := strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' })
		return len(first) == 0 || !mixed(first[0])
	}
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '/' || r == '\\' }) {
		if mixed(part) || humps(part) > 1 || strings.ContainsAny(part, "+=") {
			return false
		}
	}
	return true
}

// humps counts the small letters that a capital follows.
func humps(text string) int {
	n := 0
	for i := 1; i < len(text); i++ {
		if text[i-1] >= 'a' && text[i-1] <= 'z' && text[i] >= 'A' && text[i] <= 'Z' {
			n++
		}
	}
	return n
}

// rooted is the beginning of a path, fileName its end.
var (
	rooted   = lazily(`^(~|\.{1,2})?[/\\]|^[A-Za-z]:[/\\]|^\$`)
	fileName = lazily(`(?i)\.(json|jsonl|ya?ml|toml|ini|env|txt|pem|key|pub|crt|cer|p12|pfx|jks|conf|cfg|db|sqlite3?|jar|[cm]?[jt]s|py|sh|rb|go|csv|xml|log|sock|token|netrc|jwks?)$`)
)

// mixed reports whether a text has 6 and more characters, with capitals, small
// letters and digits among them, and more than two changes between letters and
// digits.
func mixed(text string) bool {
	const upper, lower, digit = 1, 2, 3
	var seen [4]bool
	changes, before := 0, 0
	for _, r := range text {
		kind := 0
		switch {
		case r >= 'A' && r <= 'Z':
			kind = upper
		case r >= 'a' && r <= 'z':
			kind = lower
		case r >= '0' && r <= '9':
			kind = digit
		}
		if seen[kind] = true; (kind == digit) != (before == digit) && before != 0 {
			changes++
		}
		before = kind
	}
	return len(text) >= 6 && seen[upper] && seen[lower] && seen[digit] && changes > 2
}
