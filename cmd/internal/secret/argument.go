package secret

import (
	"regexp"
	"slices"
	"strings"
)

// The bounds of what is looked at, for each byte may start a name or a value.
const (
	maxScan  = 32 << 10 // bytes of a text; the rest of a longer one counts as a secret
	maxValue = 512      // bytes of what stands behind a name
)

// A Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// Mask returns a text with asterisks for its parts, which are in order and apart.
func Mask(text string, parts []Span) string {
	for _, s := range slices.Backward(parts) {
		text = text[:s.Start] + "****" + text[s.End:]
	}
	return text
}

// Argument returns the parts of an argument of a command that look like
// secrets, in order: by their form, by a name in the argument itself (a flag with
// =, a header, a member of a connection string, a query or a JSON object), or by
// the flag before. The program, argument 0, has none.
func Argument(argv []string, i int) []Span {
	if i == 0 {
		return nil
	}
	text := argv[i]
	if flag, ok := flagName(argv[i-1]); ok && i > 1 && !strings.HasPrefix(text, "-") {
		if headerFlags().MatchString(flag) {
			if s, ok := headerSpan(text); ok {
				return []Span{s}
			}
		}
		if holds(flag, text) && len(userInfo(text)) == 0 {
			return []Span{{0, len(text)}}
		}
		if user, password, ok := strings.Cut(text, ":"); ok && loginFlags().MatchString(flag) && isPassword(password) {
			return []Span{{len(user) + 1, len(text)}}
		}
	}
	return Spans(text)
}

// First returns the index of the first argument that looks like a secret or
// holds one, -1 if none does.
func First(argv []string) int {
	for i := range argv {
		if len(Argument(argv, i)) > 0 {
			return i
		}
	}
	return -1
}

// flagName returns the name of a flag whose value is the next argument.
func flagName(arg string) (string, bool) {
	name := strings.TrimLeft(arg, "-")
	return name, len(name) < len(arg) && len(name) > 0 && !strings.ContainsAny(arg, "=: \t")
}

var headerFlags = regexpOf("H", "header", "headers", "http-header", "extra-header", "custom-header", "add-header", "remote-header")

// loginFlags have USER:PASSWORD as their value. For others that is a group.
var loginFlags = regexpOf("u", "user", "login", "basic", "basic-auth", "proxy-user", "http-user", "userpass")

// isPassword reports whether what stands behind USER: is a password, as it has
// letters and digits, and not a group or a port.
func isPassword(text string) bool {
	return !placeholder().MatchString(text) && !strings.HasPrefix(text, "//") &&
		strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789:.") != ""
}

// Spans returns the parts of a text that look like secrets, in order and apart.
func Spans(text string) []Span {
	if len(text) > maxScan {
		return apart(append(Spans(text[:maxScan]), Span{maxScan, len(text)}))
	}
	if strings.Contains(text, "PRIVATE KEY-----") {
		return []Span{{0, len(text)}}
	}
	all := slices.Concat(assigned(text), members(text), userInfo(text), flagged(text))
	if s, ok := headerSpan(text); ok && (strings.Contains(text, ": ") || tokenLike(text[s.Start:s.End])) {
		all = append(all, s)
	}
	if m := option().FindStringSubmatchIndex(text); m != nil && holds(text[m[2]:m[3]], text[m[4]:m[5]]) {
		all = append(all, Span{m[4], m[5]})
	}
	if len(all) == 0 {
		all = pathSpans(text)
	}
	name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
	if len(all) == 0 && !digestNames().MatchString(name) && Token(placeholder().ReplaceAllString(text, "")) {
		all = words(text)
	}
	return apart(all)
}

// option is a flag with a colon before its value, as programs of Windows have it.
var option = lazily(`^(?:--?|/)([A-Za-z][A-Za-z0-9-]*):(.+)$`)

// words returns the words of a text that look like tokens, all of it if only
// together they do.
func words(text string) []Span {
	var all []Span
	for at := 0; at < len(text); {
		end := at + until(text[at:], " \t\n;'\"")
		if Token(text[at:end]) {
			all = append(all, Span{at, end})
		}
		at = end + 1
	}
	if len(all) == 0 {
		all = []Span{{0, len(text)}}
	}
	return all
}

// until returns the length of a text before the first of the characters.
func until(text, chars string) int {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return i
	}
	return len(text)
}

// apart sorts spans and joins those that overlap.
func apart(all []Span) []Span {
	slices.SortFunc(all, func(a, b Span) int { return a.Start - b.Start })
	var list []Span
	for _, s := range all {
		if n := len(list); n > 0 && s.Start < list[n-1].End {
			list[n-1].End = max(list[n-1].End, s.End)
			continue
		}
		list = append(list, s)
	}
	return list
}

// assigned returns the values behind NAME= that are secrets: of flags, variables,
// connection strings (Password=...;) and queries (?api_key=...&).
func assigned(text string) []Span {
	var all []Span
	for i := range len(text) {
		if text[i] != '=' {
			continue
		}
		start := i
		for start > 0 && i-start < 100 && isName(text[start-1]) {
			start--
		}
		name := strings.TrimLeft(text[start:i], "-.")
		value := valueAt(text, i+1, start == 0 && strings.HasPrefix(text, "-"))
		if name == "" || len(value) == 0 {
			continue
		}
		if holds(name, value) || Marked(value) || !digestNames().MatchString(name) && !strings.Contains(value, "=") && Token(placeholder().ReplaceAllString(value, "")) {
			at := i + 1 + strings.Index(text[i+1:], value)
			all = append(all, Span{at, at + len(value)})
		}
	}
	return all
}

// digestNames are names of values that look random and are not secret.
var digestNames = regexpOf(".*(sha|sha1|sha256|sha512|digest|checksum|hash|integrity|commit|rev|revision|ref|version)")

// valueAt returns the value at a position of a text: what is in quotes, else what
// ends before a delimiter, or with whole before the end.
func valueAt(text string, at int, whole bool) string {
	rest := text[at:min(len(text), at+maxValue)]
	if rest == "" {
		return ""
	}
	if q := rest[0]; q == '"' || q == '\'' {
		if value, _, ok := strings.Cut(rest[1:], string(q)); ok {
			return value
		}
		return rest[1:]
	}
	// What is substituted may have delimiters inside.
	if strings.ContainsAny(rest[:1], "$%{<") {
		if loc := placeholder().FindStringIndex(rest); loc != nil && loc[0] == 0 {
			return rest[:loc[1]]
		}
	}
	if whole && !strings.ContainsAny(rest, "?&;=,") {
		return rest
	}
	if i := strings.IndexAny(rest, "&;#, \t\r\n\"'|)}"); i >= 0 {
		return rest[:i]
	}
	return rest
}

func isName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// member is a member of a JSON object that holds a text, with quotes as
// written or escaped.
var member = lazily(`\\?["']([A-Za-z][A-Za-z0-9_.-]{0,99})\\?["']\s*:\s*\\?["']([^"'\\]{1,512})`)

// members returns the values of members of JSON objects that are secrets.
func members(text string) []Span {
	var all []Span
	for _, m := range member().FindAllStringSubmatchIndex(text, -1) {
		name, value := text[m[2]:m[3]], text[m[4]:m[5]]
		if holds(name, value) || Header(name, value) && strings.Contains(name, "-") {
			_, rest := Scheme(value)
			all = append(all, Span{m[5] - len(rest), m[5]})
		}
	}
	return all
}

// flagged returns the values of flags within a text, a shell's command for
// example.
func flagged(text string) []Span {
	var all []Span
	if !strings.Contains(text, " ") || !strings.Contains(text, "-") {
		return nil
	}
	at, before := 0, ""
	for at < len(text) {
		end := at + until(text[at:], " \t\r\n")
		word := text[at:end]
		if flag, ok := flagName(before); ok && word != "" && !strings.HasPrefix(word, "-") {
			start, value := at, valueAt(text, at, false)
			if strings.HasPrefix(word, `"`) || strings.HasPrefix(word, "'") {
				start++
			}
			if holds(flag, value) {
				all = append(all, Span{start, start + len(value)})
			}
		}
		before, at = word, end+1
	}
	return all
}

// logins are user and password before a host: of a URL, of the DSN of a Go
// database driver, of an Oracle descriptor, and without a scheme.
var (
	urlLogin    = lazily(`([A-Za-z][A-Za-z0-9+.-]*)://([^/?#@\s'"]+)@`)
	driverLogin = lazily(`^([^:@/\s]+:[^@\s]+)@(?:tcp|unix|udp)\d?\(`)
	oracleLogin = lazily(`(?:^|oracle:thin:)([A-Za-z][A-Za-z0-9_$#]*/[^@/\s]+)@`)
	hostLogin   = lazily(`^([A-Za-z0-9._+-]+:[^@/\s:]+)@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::\d+|\.[A-Za-z]{2,})`)
	otherScheme = lazily(`^(npm|file|workspace|link|portal|github|docker|oci|jdbc)\b`)
)

// userInfo returns the users and passwords before the hosts in a text.
func userInfo(text string) []Span {
	var all []Span
	for _, m := range urlLogin().FindAllStringSubmatchIndex(text, -1) {
		user, password, ok := strings.Cut(text[m[4]:m[5]], ":")
		bare := placeholder().ReplaceAllString(password, "")
		if ok && bare != "" && !masked().MatchString(bare) || !ok && Token(user) {
			all = append(all, Span{m[4], m[5]})
		}
	}
	if otherScheme().MatchString(text) && !strings.HasPrefix(text, "jdbc:") {
		return all
	}
	for _, form := range []func() *regexp.Regexp{driverLogin, oracleLogin, hostLogin} {
		if m := form().FindStringSubmatchIndex(text); m != nil && !placeholder().MatchString(text[m[2]:m[3]]) {
			all = append(all, Span{m[2], m[3]})
		}
	}
	return all
}

// pathSpans returns the segments of the path of an http or https URL that look
// like tokens, by themselves or behind a segment that says so. Where the path names a state of a repository or a download, its
// digests are none.
func pathSpans(text string) []Span {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !strings.HasSuffix(scheme, "http") && !strings.HasSuffix(scheme, "https") || strings.HasSuffix(scheme, "+https") || strings.HasSuffix(scheme, "+http") {
		return nil
	}
	at := len(scheme) + len("://")
	path, _, _ := strings.Cut(rest, "?")
	path, _, _ = strings.Cut(path, "#")
	published := downloads().MatchString(path)
	var all []Span
	before := ""
	for i, part := range strings.Split(path, "/") {
		named := i > 1 && rate(before) == strong && holds(before, part) && tokenLike(part)
		before = part
		if i > 0 && part != "" && !strings.Contains(part, "${") && (named || Token(part)) && !(published && strings.Trim(part, "0123456789abcdef.tgzip") == "") {
			all = append(all, Span{at, at + len(part)})
		}
		at += len(part) + 1
	}
	return all
}

var downloads = lazily(`/(archive|commit|commits|tarball|zipball|tar\.gz|blob|raw|tree|releases|download|zip)/`)

// URL returns the parts of a URL that look like secrets, in order: user and
// password, members of the query, segments of the path.
func URL(text string) []Span {
	if len(text) > maxScan {
		return []Span{{0, len(text)}}
	}
	return apart(slices.Concat(assigned(text), userInfo(text), pathSpans(text)))
}

// Header reports whether the value of a header looks like a secret. A value with
// placeholders, ${TOKEN} for example, does not, unless the rest of it does.
func Header(name, value string) bool {
	if strings.HasPrefix(value, "@") || harmless().MatchString(value) || masked().MatchString(value) {
		return false
	}
	if bare := placeholder().ReplaceAllString(value, ""); bare != value {
		_, rest := Scheme(bare)
		return Token(strings.TrimSpace(rest)) || rate(name) == strong && tokenLike(rest)
	}
	return Name(name) || Marked(value) || Token(value)
}

// headerName is the start of a header in an argument: NAME: or a flag with it.
var headerName = lazily(`^(?:-{1,2}[A-Za-z-]*=|-H)?["']?([A-Za-z][A-Za-z0-9-]*)\s*:\s*`)

// headerSpan returns the value in a text of the form NAME: VALUE, without its
// scheme, if it looks like a secret.
func headerSpan(text string) (Span, bool) {
	m := headerName().FindStringSubmatchIndex(text)
	if m == nil {
		return Span{}, false
	}
	name, value := text[m[2]:m[3]], strings.TrimRight(text[m[1]:], `"' `)
	if value == "" || strings.HasPrefix(value, "//") || !Header(name, value) {
		return Span{}, false
	}
	_, rest := Scheme(value)
	end := m[1] + len(value)
	return Span{end - len(rest), end}, true
}

// Scheme splits the value of an Authorization header, or one like it, after the
// scheme and the space behind it (RFC 9110 section 11.4): "Bearer " and the
// token. The scheme is empty if there is none.
func Scheme(value string) (scheme, rest string) {
	word, rest, ok := strings.Cut(value, " ")
	if !ok || rest == "" || word == "" || len(word) > 16 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", value
	}
	return word + " ", rest
}
