package lock_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// The classes of changes.json.
const (
	metaOnly     = "metaOnly"
	descriptions = "descriptionOnly"
	titles       = "annotationsTitleOnly" // annotations, title, icons
	schemaText   = "schemaTextOnly"       // in schemas only texts and $schema; anything outside of them
	structural   = "schemaStructural"
	dollarSchema = "dollarSchemaOnly"
	otherwise    = "other"
)

// classOf returns the class of a change by what its fields say.
func classOf(c lock.Change) string {
	if c.Op == lock.MetaChanged {
		return metaOnly
	}
	inSchema, dialects := 0, 0
	var members []string
	for _, f := range c.Fields {
		member, _, _ := strings.Cut(f.Pointer[1:], "/")
		if member != "inputSchema" && member != "outputSchema" {
			members = append(members, member)
			continue
		}
		inSchema++
		switch {
		case strings.HasSuffix(f.Pointer, "/$schema"):
			dialects++
		case !isTextField(f):
			return structural
		}
	}
	outside := func(list ...string) bool {
		return !slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(list, m) })
	}
	switch {
	case inSchema > 0 && dialects == len(c.Fields):
		return dollarSchema
	case inSchema > 0:
		return schemaText
	case outside("description"):
		return descriptions
	case outside("annotations", "title", "icons"):
		return titles
	}
	return otherwise
}

// isTextField reports whether a field is a text and nothing else.
func isTextField(f lock.Field) bool {
	for _, e := range f.Effects {
		if e.Code != lock.TextChanged && e.Code != lock.TextAdded && e.Code != lock.TextRemoved {
			return false
		}
	}
	return len(f.Effects) > 0
}

// What Diff says of real versions of real servers is the class on record.
func TestCorpusClasses(t *testing.T) {
	dir := corpus(t, "drift")
	records := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*", "changes.json")))
	count := make(map[string]int)
	severities := make(map[lock.Severity]int)
	for _, record := range records {
		var known []changes
		readJSON(t, record, &known)
		for _, c := range known {
			version := func(name string) *lock.Listing {
				return must[*lock.Listing](t)(lock.ParseListing(listingFiles(t, filepath.Join(filepath.Dir(record), name))...))
			}
			got := make(map[string][]string)
			old, new := version(c.From), version(c.To)
			for _, change := range lock.Diff(old, new) {
				if change.Kind != lock.Tool || change.Op == lock.Added || change.Op == lock.Removed {
					if change.Renamed != "" {
						t.Errorf("%s: %s %s is %s renamed, which is not on record", record, change.Op, change.Name, change.Renamed)
					}
					continue
				}
				got[classOf(change)] = append(got[classOf(change)], change.Name)
				severities[change.Severity]++
				checkClass(t, change)
			}
			want := map[string][]string{metaOnly: c.MetaOnly, descriptions: c.DescriptionOnly, titles: c.AnnotationsTitleOnly,
				schemaText: c.SchemaTextOnly, structural: c.SchemaStructural, dollarSchema: c.DollarSchemaOnly, otherwise: c.Other}
			for _, class := range slices.Sorted(maps.Keys(want)) {
				var names []string
				for _, entry := range want[class] {
					name, _, _ := strings.Cut(entry, "[")
					names = append(names, name)
				}
				count[class] += len(names)
				if !sameNames(got[class], names) {
					t.Errorf("%s %s to %s: %s\ngot  %q\nwant %q", record, c.From, c.To, class, got[class], names)
				}
			}
			for _, a := range old.Definitions {
				for _, b := range new.Definitions {
					if a.ID() == b.ID() {
						checkFields(t, a, b)
					}
				}
			}
		}
	}
	t.Logf("all as on record: %v; severities %v", count, severities)
	if count[structural] == 0 || count[metaOnly] == 0 || severities[lock.Low] == 0 {
		t.Errorf("%v, %v: want some of each", count, severities)
	}
}

// checkClass checks that severities are those of a change's class.
func checkClass(t *testing.T, c lock.Change) {
	t.Helper()
	class := classOf(c)
	spelling := class == metaOnly || class == dollarSchema
	if spelling && c.Severity != lock.Low || class == dollarSchema && !c.Spelling {
		t.Errorf("%s %s: %s\n%s", class, c.Name, c.Severity, describeEffects(c.Fields))
	}
	if class == descriptions && c.Severity != lock.High {
		t.Errorf("%s %s: %s\n%s", class, c.Name, c.Severity, describeEffects(c.Fields))
	}
	if c.Spelling && c.Severity != lock.Low {
		t.Errorf("%s is spelling only and %s", c.Name, c.Severity)
	}
}
