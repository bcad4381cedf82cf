package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/list"
	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "inspect FILE",
		Short:   "Show what a bundle or a lockfile says; nothing is verified",
		Example: "  mcpsign inspect r.sigstore.json\n  mcpsign inspect mcpsign.lock.json -o json",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, names []string) error {
			data, err := a.readInput(names[0])
			if err != nil {
				return fail(ExitInternal, err, "")
			}
			if looksLikeLock(data) {
				f, err := lock.Parse(data)
				if err != nil {
					return fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(names[0]), err), "")
				}
				return a.inspectLock(f)
			}
			bundles := splitBundles(data, maxInspected)
			if len(bundles) > maxInspected {
				return fail(ExitInvalid, fmt.Errorf("%s has more than %d lines: inspect shows one bundle a line", lock.Visible(names[0]), maxInspected), "split the file")
			}
			return a.inspectBundles(names[0], bundles)
		},
	}
}

const notVerified = "not verified"

// maxInspected is how many bundles of a file are shown.
const maxInspected = 10000

func (a *app) inspectLock(f *lock.File) error {
	t := list.NewWriter()
	t.SetStyle(list.StyleConnectedLight)
	for _, s := range f.Servers {
		t.AppendItem("server " + s.Name)
		t.Indent()
		if !s.Source.IsZero() {
			t.AppendItem("launched as " + launchText(s.Source))
		}
		for _, x := range s.Source.Artifacts {
			t.AppendItem("which was " + x.String())
		}
		for _, e := range s.Evidence {
			t.AppendItem(fmt.Sprintf("signed by %s", e.Signer))
			t.Indent()
			t.AppendItem(fmt.Sprintf("sequence %d, variant %q", e.Sequence, e.Variant))
			t.AppendItem("bundle " + e.Bundle.String())
			t.UnIndent()
		}
		for _, p := range s.Pins {
			how := ""
			if p.Unsigned {
				how = "  (unsigned)"
			}
			t.AppendItem(fmt.Sprintf("%s  %s%s", p.Definition.Digest(), show(p.Definition.Kind(), p.Definition.Name()), how))
		}
		t.UnIndent()
	}
	return a.emitTree(lockDocument(f), t)
}

func (a *app) emitTree(document any, t list.Writer) error {
	return a.emit(form{document: func() any { return document }, text: func(w io.Writer) { fmt.Fprintf(w, "%s\n%s\n", notVerified, t.Render()) }})
}

type (
	lockDoc struct {
		Status  string      `json:"status"`
		Servers []serverDoc `json:"servers"`
	}
	serverDoc struct {
		Name   string      `json:"name"`
		Source *sourceDoc  `json:"source,omitempty"`
		Info   *infoDoc    `json:"info,omitempty"`
		Signed []signedDoc `json:"signed"`
		Pins   []pinDoc    `json:"pins"`
	}
	sourceDoc struct {
		Client  string            `json:"client,omitempty"`
		Command []string          `json:"command,omitempty"`
		Dir     string            `json:"cwd,omitempty"`
		URL     string            `json:"url,omitempty"`
		Env     []string          `json:"env,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`

		Artifacts []artifactDoc `json:"artifacts,omitempty"`
	}
	artifactDoc struct {
		PURL   string            `json:"purl,omitempty"`
		File   string            `json:"file,omitempty"`
		Digest map[string]string `json:"digest"`
	}
	signedDoc struct {
		Variant  string      `json:"variant"`
		Sequence uint64      `json:"sequence"`
		Signer   lock.Signer `json:"signer"`
		Bundle   string      `json:"bundle"`
	}
	pinDoc struct {
		Kind     lock.Kind `json:"kind"`
		Name     string    `json:"name"`
		Digest   string    `json:"digest"`
		Unsigned bool      `json:"unsigned"`
		Variant  string    `json:"variant"`
	}
)

func lockDocument(f *lock.File) lockDoc {
	doc := lockDoc{Status: notVerified, Servers: []serverDoc{}}
	for i := range f.Servers {
		doc.Servers = append(doc.Servers, serverDocument(&f.Servers[i]))
	}
	return doc
}

func serverDocument(s *lock.Server) serverDoc {
	d := serverDoc{Name: s.Name, Info: infoDocument(s.Info), Signed: []signedDoc{}}
	if from := s.Source; !from.IsZero() {
		d.Source = &sourceDoc{from.Client, from.Command, from.Dir, from.URL, from.Env, nil, artifactDocs(from.Artifacts)}
		for _, h := range from.Headers {
			if d.Source.Headers == nil {
				d.Source.Headers = map[string]string{}
			}
			d.Source.Headers[h.Name] = h.Value
		}
	}
	for _, e := range s.Evidence {
		d.Signed = append(d.Signed, signedDoc{e.Variant, e.Sequence, e.Signer, e.Bundle.String()})
	}
	for _, p := range s.Pins {
		d.Pins = append(d.Pins, pinDoc{p.Definition.Kind(), p.Definition.Name(), p.Definition.Digest().String(), p.Unsigned, p.Variant})
	}
	return d
}

func artifactDocs(list []lock.Artifact) []artifactDoc {
	var docs []artifactDoc
	for _, a := range list {
		docs = append(docs, artifactDoc(a))
	}
	return docs
}

func (a *app) inspectBundles(name string, bundles [][]byte) error {
	t := list.NewWriter()
	t.SetStyle(list.StyleConnectedLight)
	docs := []bundleDoc{}
	var bad error // the first that can't be shown; the others are
	for i, b := range bundles {
		u, err := verify.Inspect(b)
		if err == nil {
			docs = append(docs, bundleDocument(u))
			bundleTree(t, u)
			continue
		}
		if len(bundles) > 1 {
			err = fmt.Errorf("bundle %d of %d: %w", i+1, len(bundles), err)
		}
		if bad == nil {
			code, hint := ExitInvalid, "a bundle is what sign writes, a file *.sigstore.json"
			if codeOf(err) == ExitTrust {
				code, hint = ExitTrust, formatHint(err, name)
			}
			bad = fail(code, fmt.Errorf("%s: %w", lock.Visible(name), err), hint)
		}
	}
	if len(docs) == 0 {
		return bad
	}
	if err := a.emitTree(map[string]any{"status": notVerified, "bundles": docs}, t); err != nil {
		return err
	}
	return bad
}

type (
	bundleDoc struct {
		MediaType    string           `json:"mediaType"`
		Key          string           `json:"key,omitempty"`
		Certificates []certificateDoc `json:"certificates,omitempty"`
		Timestamps   []time.Time      `json:"timestamps,omitempty"`
		LogEntries   []logEntryDoc    `json:"logEntries,omitempty"`
		PayloadType  string           `json:"payloadType"`
		Payload      string           `json:"payload"`
		Problem      string           `json:"problem,omitempty"`
	}
	certificateDoc struct {
		Subject    string    `json:"subject"`
		Issuer     string    `json:"issuer"`
		Names      []string  `json:"names"`
		OIDCIssuer string    `json:"oidcIssuer,omitempty"`
		NotBefore  time.Time `json:"notBefore"`
		NotAfter   time.Time `json:"notAfter"`
	}
	logEntryDoc struct {
		Log   string    `json:"log"`
		Index int64     `json:"index"`
		Time  time.Time `json:"time,omitzero"`
	}
)

func bundleDocument(u *verify.Unverified) bundleDoc {
	d := bundleDoc{MediaType: u.MediaType, Key: u.Key, Timestamps: u.Timestamps, PayloadType: u.PayloadType, Payload: string(u.Payload)}
	for _, c := range u.Certificates {
		d.Certificates = append(d.Certificates, certificateDoc{c.Subject, c.Issuer, append([]string{}, c.Names...), c.OIDCIssuer, c.NotBefore, c.NotAfter})
	}
	for _, e := range u.LogEntries {
		d.LogEntries = append(d.LogEntries, logEntryDoc{e.Log, e.Index, e.Time})
	}
	if u.Problem != nil {
		d.Problem = u.Problem.Error()
	}
	return d
}

func bundleTree(t list.Writer, u *verify.Unverified) {
	item := func(format string, args ...any) { t.AppendItem(lock.Visible(fmt.Sprintf(format, args...))) }
	item("bundle %s", u.MediaType)
	t.Indent()
	if u.Key != "" {
		item("signed with key:%s", u.Key)
	}
	for _, c := range u.Certificates {
		item("certificate %s, issued by %s", c.Subject, c.Issuer)
		t.Indent()
		for _, n := range c.Names {
			item("name %s", n)
		}
		if c.OIDCIssuer != "" {
			item("identity vouched for by %s", c.OIDCIssuer)
		}
		item("valid %s to %s", c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
		t.UnIndent()
	}
	for _, ts := range u.Timestamps {
		item("timestamp %s", ts.UTC().Format(time.RFC3339))
	}
	for _, e := range u.LogEntries {
		item("log entry %d of log %s", e.Index, e.Log)
	}
	statementTree(t, u)
	t.UnIndent()
}

func statementTree(t list.Writer, u *verify.Unverified) {
	if u.Statement == nil {
		t.AppendItem(lock.Visible(fmt.Sprintf("payload of type %s: %v", u.PayloadType, u.Problem)))
		return
	}
	if u.Statement.PredicateType() != attest.PredicateType {
		var b strings.Builder
		statementText(&b, u.Statement)
		t.AppendItem("statement of another kind")
		t.Indent()
		for line := range strings.Lines(b.String()) {
			t.AppendItem(strings.TrimSuffix(strings.TrimPrefix(line, margin), "\n"))
		}
		t.UnIndent()
		return
	}
	r := u.Statement.Release()
	t.AppendItem(lock.Visible(fmt.Sprintf("statement for server %s %s", r.Server, r.Version)))
	t.Indent()
	t.AppendItem(lock.Visible(fmt.Sprintf("sequence %d, variant %q, issued %s", r.Sequence, r.Variant, r.IssuedAt.UTC().Format(time.RFC3339))))
	if !r.ExpiresAt.IsZero() {
		t.AppendItem("expires " + r.ExpiresAt.UTC().Format(time.RFC3339))
	}
	for _, p := range slices.Concat(r.PURLs, r.Origins) {
		t.AppendItem("served as " + lock.Visible(p))
	}
	for _, x := range r.Artifacts {
		t.AppendItem(lock.Visible("artifact " + x.URI))
		t.Indent()
		for _, algorithm := range slices.Sorted(maps.Keys(x.Digest)) {
			t.AppendItem(lock.Visible(algorithm + ":" + x.Digest[algorithm]))
		}
		t.UnIndent()
	}
	for _, s := range u.Statement.Subjects() {
		t.AppendItem(fmt.Sprintf("%s  %s", s.Digest, show(s.Kind, s.Name)))
	}
	t.UnIndent()
}
