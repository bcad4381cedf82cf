package baseline

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A spelling is how a program writes JSON: everywhere without white space and with names in the order of code points.
// Each function gets a value as it stands in the text; strings have their RFC 8785 form.
type spelling struct {
	number func(token []byte) ([]byte, error)
	text   func(token []byte) []byte
}

// python spells as json.dumps(v, ensure_ascii=False, separators=(",", ":"), sort_keys=True), whose strings are those
// of RFC 8785.
func python() spelling {
	return spelling{pythonNumber, func(token []byte) []byte { return token }}
}

// golang spells as encoding/json does. Its numbers below 2^53 are those of RFC 8785, which its input has.
func golang() spelling {
	return spelling{func(token []byte) ([]byte, error) { return token, nil }, golangText}
}

// respell appends the one JSON value in src to dst in another spelling. Names are strings and spelled like those.
func respell(dst, src []byte, s spelling) ([]byte, error) {
	r := canonical.NewReader(src)
	dst, err := s.value(dst, r)
	if err == nil {
		err = r.End()
	}
	return dst, err
}

func (s spelling) value(dst []byte, r *canonical.Reader) ([]byte, error) {
	switch c := r.Peek(); {
	case c == '{':
		return s.object(dst, r)
	case c == '[':
		dst = append(dst, '[')
		err := r.Array(func(i int) (err error) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, err = s.value(dst, r)
			return err
		})
		return append(dst, ']'), err
	case c == '"':
		token, err := r.Value()
		return append(dst, s.text(token)...), err
	case c == '-' || '0' <= c && c <= '9':
		token, err := r.Raw()
		if err == nil {
			token, err = s.number(token)
		}
		return append(dst, token...), err
	default:
		token, err := r.Value()
		return append(dst, token...), err
	}
}

// object writes an object, whose members come in the order of their names' UTF-8, which is that of code points.
func (s spelling) object(dst []byte, r *canonical.Reader) ([]byte, error) {
	type member struct {
		name  string
		value []byte
	}
	var ms []member
	err := r.Object(func(name string) error {
		v, err := s.value(nil, r)
		ms = append(ms, member{name, v})
		return err
	})
	if err != nil {
		return dst, err
	}
	slices.SortFunc(ms, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range ms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, s.text(canonical.AppendString(nil, m.name))...)
		dst = append(append(dst, ':'), m.value...)
	}
	return append(dst, '}'), nil
}

// pythonNumber spells a number as Python does after reading it: an integer of any size stays one, and anything else is
// a double in repr form, with ".0" if it would look like an integer and an exponent from 1e16 on and below 1e-4.
func pythonNumber(token []byte) ([]byte, error) {
	if !bytes.ContainsAny(token, ".eE") {
		if string(token) == "-0" {
			return []byte("0"), nil
		}
		return token, nil
	}
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %.40q is no double", token)
	}
	short := strconv.AppendFloat(nil, f, 'e', -1, 64)
	e := bytes.IndexByte(short, 'e')
	exponent, err := strconv.Atoi(string(short[e+1:]))
	if err != nil {
		return nil, err
	}
	if f != 0 && (exponent < -4 || exponent >= 16) {
		return short, nil
	}
	short = strconv.AppendFloat(nil, f, 'f', -1, 64)
	if !bytes.ContainsRune(short, '.') {
		short = append(short, ".0"...)
	}
	return short, nil
}

// golangText escapes what encoding/json escapes for the sake of HTML and JavaScript.
func golangText(token []byte) []byte {
	if !bytes.ContainsAny(token, "<>&\u2028\u2029") {
		return token
	}
	r := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u2028", `\u2028`, "\u2029", `\u2029`)
	return []byte(r.Replace(string(token)))
}
