package lock

import "github.com/mcpsign/mcpsign/internal/canonical"

// Info is what a server says of itself. It decides nothing: nobody vouches for
// it. Absent and empty are one.
type Info struct {
	Name, Version   string // of serverInfo
	ProtocolVersion string // that was agreed on
}

// Contradicts reports whether a server that gave the name in i gives another one
// now: it may be another server. A name that is absent contradicts nothing.
func (i Info) Contradicts(now Info) bool { return i.Name != "" && now.Name != "" && i.Name != now.Name }

// Updated returns now, but keeps what i has if now says nothing, and i's name if
// now has none: a server that leaves its name out once can't have it forgotten.
func (i Info) Updated(now Info) Info {
	if now == (Info{}) {
		return i
	}
	if now.Name == "" {
		now.Name = i.Name
	}
	return now
}

// Info returns what the server said of itself in the listing.
func (l *Listing) Info() Info { return Info{l.ServerName, l.ServerVersion, l.ProtocolVersion} }

// fields lists the members of i in the order in which they are written.
func (i *Info) fields() []infoField {
	return []infoField{{"name", &i.Name}, {"version", &i.Version}, {"protocolVersion", &i.ProtocolVersion}}
}

type infoField struct {
	name  string
	value *string
}

func (i *Info) format(w *writer) {
	w.open('{')
	for _, f := range i.fields() {
		w.optional(f.name, *f.value)
	}
	w.close('}')
}

func readInfo(r *canonical.Reader) (Info, error) {
	var i Info
	err := r.Object(func(name string) (err error) {
		for _, f := range i.fields() {
			if f.name == name {
				*f.value, err = r.String()
				return err
			}
		}
		return r.Unknown(name)
	})
	return i, err
}

// CompareInfo lists what a server says of itself otherwise than before, by the
// member's name as a pointer. Another name where there was one is of severity
// High: it may be another server.
func CompareInfo(old, new Info) []Field {
	var fields []Field
	for i, f := range new.fields() {
		before, after := *old.fields()[i].value, *f.value
		if before == after {
			continue
		}
		change := Field{Pointer: canonical.Child("", f.name), Old: optionalJSON(before), New: optionalJSON(after)}
		if f.name == "name" && old.Contradicts(new) {
			change.Severity = High
		}
		fields = append(fields, change)
	}
	return fields
}

func optionalJSON(s string) []byte {
	if s == "" {
		return nil
	}
	return canonical.AppendString(nil, s)
}
