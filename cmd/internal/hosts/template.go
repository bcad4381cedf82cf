package hosts

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
)

// hidden stands for a text that may be a secret.
const hidden = "..."

// A Header is a header that an entry sets, without what may be secret of its value.
type Header struct {
	Name string // as written

	// Template is the value with its placeholders as written. A scheme before the first, "Bearer " say (RFC 9110 section
	// 11.4), is kept; three dots stand for every other text, and for the default of a placeholder.
	Template string
}

// templates returns the headers as Entry.Headers has them.
func (x *expander) templates() []Header {
	w := &x.values.written
	var list []Header
	for _, name := range slices.Sorted(maps.Keys(w.headers)) {
		list = append(list, Header{name, x.template(w.headers[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(w.variables)) {
		list = append(list, Header{name, "${" + w.variables[name] + "}"})
	}
	if w.bearer != "" {
		list = append(list, Header{"Authorization", "Bearer ${" + w.bearer + "}"})
	}
	slices.SortStableFunc(list, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// template returns the value of a header as Header.Template has it.
func (x *expander) template(value string) string {
	masked, placeholders := x.mask(value)
	for i, p := range placeholders {
		if name, _, ok := strings.Cut(p, ":-"); ok && (x.values.syntax == shell || x.values.syntax == gemini) {
			placeholders[i] = name + ":-" + hidden + "}"
		}
	}
	scheme, rest := secret.Scheme(masked)
	if !strings.HasPrefix(rest, mark) {
		return unmask(blank(masked), placeholders)
	}
	return unmask(scheme+blank(rest), placeholders)
}

// urlTemplate returns a URL as Entry.Endpoint has it (RFC 3986 section 3). Defaults of placeholders stay: one may be
// the host that is dialled.
func (x *expander) urlTemplate(text string) string {
	masked, placeholders := x.mask(text)
	rest, fragment, hasFragment := strings.Cut(masked, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if scheme, tail, ok := strings.Cut(rest, "//"); ok {
		authority, path, hasPath := strings.Cut(tail, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = blank(authority[:at]) + authority[at:]
		}
		if rest = scheme + "//" + authority; hasPath {
			rest += "/" + path
		}
	}
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, value, ok := strings.Cut(pair, "="); ok {
				pairs[i] = name + "=" + blank(value)
			} else {
				pairs[i] = blank(pair)
			}
		}
		rest += "?" + strings.Join(pairs, "&")
	}
	if hasFragment {
		rest += "#" + blank(fragment)
	}
	return unmask(rest, placeholders)
}

// mark stands for a placeholder: a byte that is in no UTF-8.
const mark = "\xff"

// mask returns text with a mark for each placeholder that is replaced when the entry is resolved, and the placeholders.
func (x *expander) mask(text string) (masked string, placeholders []string) {
	var b strings.Builder
	text = strings.ToValidUTF8(text, "\uFFFD")
	for text != "" {
		i := strings.IndexByte(text, '$')
		if i < 0 || x.values.syntax == plain {
			i = len(text)
		}
		b.WriteString(text[:i])
		if text = text[i:]; text == "" {
			break
		}
		piece, rest := x.placeholder("", text)
		written := text[:len(text)-len(rest)]
		if piece == written {
			b.WriteString(written)
		} else {
			b.WriteString(mark)
			placeholders = append(placeholders, written)
		}
		text = rest
	}
	return b.String(), placeholders
}

// blank replaces every text between marks.
func blank(masked string) string {
	parts := strings.Split(masked, mark)
	for i, p := range parts {
		if p != "" {
			parts[i] = hidden
		}
	}
	return strings.Join(parts, mark)
}

// unmask puts placeholders in the place of the marks, of which there are as many.
func unmask(masked string, placeholders []string) string {
	var b strings.Builder
	for i, part := range strings.Split(masked, mark) {
		if i > 0 {
			b.WriteString(placeholders[i-1])
		}
		b.WriteString(part)
	}
	return b.String()
}
