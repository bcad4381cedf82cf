package lock

import "github.com/mcpsign/mcpsign/internal/canonical"

// Info is what a server says of itself. It decides nothing: nobody vouches for
// it. Absent and empty are one.
type Info struct {
	Name, Version   string // of serverInfo
	ProtocolVersion string // that was agreed on
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
// member's name as a pointer. Another name behind the same pins is of severity
// High: it may be another server.
func CompareInfo(old, new Info) []Field {
	var fields []Field
	for i, f := range new.fields() {
		before, after := *old.fields()[i].value, *f.value
		if before == after {
			continue
		}
		change := Field{Pointer: canonical.Child("", f.name), Old: optionalJSON(before), New: optionalJSON(after)}
		if f.name == "name" {
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
