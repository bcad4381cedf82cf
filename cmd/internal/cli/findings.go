package cli

import (
	"fmt"
	"io"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// The JSON of a finding of the lint.
type findingDoc struct {
	Code    string    `json:"code"`
	Kind    lock.Kind `json:"kind"`
	Name    string    `json:"name"`
	Pointer string    `json:"pointer"`
	Detail  string    `json:"detail"`
}

func findingDocs(findings []lint.Finding) []findingDoc {
	var docs []findingDoc
	for _, f := range findings {
		docs = append(docs, findingDoc{string(f.Code), f.Kind, f.Name, f.Pointer, f.Detail})
	}
	return docs
}

// maxFindings is how many findings are shown in passing.
const maxFindings = 50

// noteFindings prints the first findings to standard error.
func (a *app) noteFindings(findings []lint.Finding) {
	shown := findings[:min(len(findings), maxFindings)]
	findingText(a.Stderr, shown)
	if more := len(findings) - len(shown); more > 0 {
		a.note(fmt.Sprintf("the lint has %d findings more: mcpsign check --lint shows them all", more))
	}
}

// findingText prints findings, one a line.
func findingText(w io.Writer, findings []lint.Finding) {
	for _, f := range findings {
		at := ""
		if f.Pointer != "" {
			at = " at " + lock.Visible(f.Pointer)
		}
		fmt.Fprintf(w, "lint     %s  %s%s: %s\n", show(f.Kind, f.Name), f.Code, at, f.Detail)
	}
}
