package cli

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// varying are the forms of values that are another at every start of a server,
// in the order in which they are tried.
var varying = []struct {
	what string
	form func() *regexp.Regexp
}{
	{"an identifier made anew", lazily(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)},
	{"a time", lazily(`^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$|\d{1,2}:\d{2}(:\d{2})?|^1[6-9]\d{8}(\d{3})?(\.\d+)?$|^\d{4}[/.-]\d{1,2}[/.-]\d{1,2}$|^\d{1,2}[/.-]\d{1,2}[/.-]\d{4}$`)},
	{"an address", lazily(`^([a-z]+://)?(localhost|127\.0\.0\.1|\[::1\]):\d+`)},
	{"a path", lazily(`^(file://)?(/|~/|[A-Za-z]:\\|\\\\).+`)},
}

// variesBy says what a member that differs between two starts of a server
// holds there: a time, a path ... It is empty if it looks like neither.
func variesBy(f lock.Field) string {
	old, now := plain(f.Old), plain(f.New)
	if old == "" || now == "" || old == now || f.Pointer == "/version" { // a release's, which may be written as a day
		return ""
	}
	old, now = differing(old, now)
	for _, v := range varying {
		if v.form().MatchString(old) && v.form().MatchString(now) {
			return v.what
		}
	}
	return ""
}

// plain returns the text of a JSON string or number.
func plain(form []byte) string {
	var s string
	if len(form) > 0 && form[0] == '"' && json.Unmarshal(form, &s) == nil {
		return s
	}
	if len(form) > 0 && (form[0] == '-' || form[0] >= '0' && form[0] <= '9') {
		return string(form)
	}
	return ""
}

// differing returns the words in which two texts differ, without those that
// they begin and end with.
func differing(a, b string) (string, string) {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	// Both have the same text there, so that a word begins and ends in both.
	const between = " \t\r\n\"'`(),;<>"
	start = strings.LastIndexAny(a[:start], between) + 1
	if i := strings.IndexAny(a[len(a)-end:], between); i >= 0 {
		end -= i
	} else {
		end = 0
	}
	return strings.TrimRight(a[start:len(a)-end], "."), strings.TrimRight(b[start:len(b)-end], ".")
}
