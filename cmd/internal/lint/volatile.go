package lint

import (
	"bytes"
	"strings"
)

// volatileText reports the first thing in s that looks as if it were of this
// start of the server only. What documentation uses as an example is let pass,
// and so are constants that are known to stand in texts: round times, well-known
// ports, the home folders of nobody in particular.
func (c *checker) volatileText(s string, p place) {
	for i := 0; i < len(s); i++ {
		what := ""
		switch s[i] {
		case ':':
			switch {
			case startTime(s, i, p):
				what = "a time"
			case p != example && localPort(s, i):
				what = "a port that is given out at random"
			}
		case '-':
			if p == preset && uuid(s, i) {
				what = "a UUID"
			}
		case '/', '\\':
			if p != example && localPath(s, i) {
				what = "a path of this machine"
			}
		case 'i', 'I':
			if p != example && processID(s, i) {
				what = "a process ID"
			}
		}
		if what != "" && (p == preset || !documents(s[:i])) {
			c.add(VolatileValue, "%s in %s", what, shown(around(s, i)))
			return
		}
	}
	if p == preset {
		c.volatileNumber(s)
	}
}

// volatileNumber reports a number that is a time of these years, in seconds or
// milliseconds since 1970. Ones that are round were chosen by someone.
func (c *checker) volatileNumber(n string) {
	if like(n, "9999999999999") && n[:2] >= "15" && n[:2] <= "20" && !strings.HasSuffix(n, "00000") ||
		like(n, "9999999999") && n[:2] >= "15" && n[:2] <= "20" && !strings.HasSuffix(n, "000") {
		c.add(VolatileValue, "a time in %s", shown(n))
	}
}

// documents reports whether what follows is an example.
func documents(before string) bool {
	var near [48]byte
	n := copy(near[:], before[max(0, len(before)-len(near)):])
	for i, b := range near[:n] {
		if 'A' <= b && b <= 'Z' {
			near[i] = b | 0x20
		}
	}
	for _, word := range [...]string{"e.g", "example", "such as", "like ", "for instance", "format"} {
		if bytes.Contains(near[:n], []byte(word)) {
			return true
		}
	}
	return false
}

// like reports whether s has the form of pattern from start to end: 9 is a
// digit, f a hexadecimal digit, and any other byte itself.
func like(s, pattern string) bool {
	return len(s) == len(pattern) && hasForm(s, pattern)
}

// hasForm is like for the start of s.
func hasForm(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		switch b := s[i]; pattern[i] {
		case '9':
			if !digit(b) {
				return false
			}
		case 'f':
			if !digit(b) && (b|0x20 < 'a' || b|0x20 > 'f') {
				return false
			}
		default:
			if b != pattern[i] {
				return false
			}
		}
	}
	return true
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// startTime reports whether the colon at i is the first of a date and time
// that nobody wrote by hand. By hand one writes midnight, or full minutes.
func startTime(s string, i int, p place) bool {
	const date, clock = "9999-99-99", "99:99:99"
	start := i - len(date) - len("T99")
	if start < 0 || !hasForm(s[start:], date) || s[start+10] != 'T' && s[start+10] != ' ' || !hasForm(s[i-2:], clock) {
		return false
	}
	if rest := s[i+len(":99:99"):]; hasForm(rest, ".999") && rest[:4] != ".000" {
		return true
	}
	switch clock := s[i-2 : i+6]; {
	case clock == "00:00:00" || clock == "23:59:59":
		return false
	case p == preset:
		return true
	default:
		return clock[6:] != "00" && clock[6:] != "59"
	}
}

// uuid reports whether the hyphen at i is the first of a UUID that is not all
// one digit.
func uuid(s string, i int) bool {
	const form = "ffffffff-ffff-ffff-ffff-ffffffffffff"
	if i < 8 || !hasForm(s[i-8:], form) {
		return false
	}
	return strings.Trim(s[i-8:i-8+len(form)], s[i-8:i-7]+"-") != ""
}

// localPort reports whether the colon at i stands between the machine's own
// address and a port of the ranges from which systems give them out.
func localPort(s string, i int) bool {
	before := s[:i]
	if !strings.HasSuffix(before, "localhost") && !strings.HasSuffix(before, "127.0.0.1") && !strings.HasSuffix(before, "[::1]") {
		return false
	}
	port, n := 0, i+1
	for n < len(s) && n < i+7 && digit(s[n]) {
		port, n = port*10+int(s[n]-'0'), n+1
	}
	return port >= 32768 && port <= 65535
}

// processID reports whether the I at i is that of "PID 4711".
func processID(s string, i int) bool {
	if i < 1 || i+1 >= len(s) || s[i-1]|0x20 != 'p' || s[i+1]|0x20 != 'd' || i > 1 && (letter(s[i-2]) || digit(s[i-2]) || s[i-2] == '_') {
		return false
	}
	rest := strings.TrimLeft(s[i+2:min(len(s), i+8)], " :=#")
	return rest != s[i+2:min(len(s), i+8)] && hasForm(rest, "99")
}

// localPath reports whether at i starts an absolute path of someone's home, of
// a server's working directory, or of a temporary file.
func localPath(s string, i int) bool {
	if i > 0 && (letter(s[i-1]) || digit(s[i-1]) || strings.IndexByte(`./\}>)]*~-_%$:`, s[i-1]) >= 0) {
		return i >= 2 && s[i] == '\\' && s[i-1] == ':' && homeIn(s[i:], `\Users\`)
	}
	return homeIn(s[i:], "/home/") || homeIn(s[i:], "/Users/") || homeIn(s[i:], "/root/") || homeIn(s[i:], "/srv/") ||
		homeIn(s[i:], "/var/folders/") || strings.HasPrefix(s[i:], "/tmp/") && random(segment(s[i+5:]))
}

// homeIn reports whether s starts with dir and a name that is not one that
// stands for any user.
func homeIn(s, dir string) bool {
	rest, ok := strings.CutPrefix(s, dir)
	if !ok {
		return false
	}
	switch strings.ToLower(segment(rest)) {
	case "", "user", "username", "you", "me", "yourname", "your-name", "your_username", "name", "alice", "bob", "john", "jane", "path":
		return false
	}
	return true
}

// segment returns the start of s up to where a path segment ends.
func segment(s string) string {
	for i := 0; i < len(s); i++ {
		if b := s[i]; !letter(b) && !digit(b) && b != '-' && b != '_' && b != '.' && b < 0x80 {
			return s[:i]
		}
	}
	return s
}

// random reports whether a name has at least four digits in it, as those of
// temporary files that are made at every start.
func random(name string) bool {
	n := 0
	for i := 0; i < len(name); i++ {
		if digit(name[i]) {
			n++
		}
	}
	return n >= 4
}
