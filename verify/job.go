package verify

import (
	"cmp"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/mcpsign/mcpsign/lock"
)

// The issuers of the identities of CI jobs, as Fulcio knows them.
const (
	githubIssuer = "https://token.actions.githubusercontent.com"
	gitlabIssuer = "https://gitlab.com"
)

// A jobRule is what an identity asks of the run of a job.
type jobRule struct {
	ref         pattern  // that was built; zero: any
	triggers    []string // one of them started it
	environment string   // empty: any
	runner      string   // empty: any
	caller      bool     // the identity names who calls the workflow
}

// The events that start a job for nobody but those who can write to the
// repository, and with the workflow of the ref that is built.
var (
	githubTriggers = []string{"push", "release", "schedule", "workflow_dispatch"}
	gitlabTriggers = []string{"push", "schedule", "web", "api"}
)

// isUsual reports whether a job counts that the event started, where nothing
// says which events do. None is of both systems with two meanings.
func isUsual(trigger string) bool {
	return slices.Contains(githubTriggers, trigger) || slices.Contains(gitlabTriggers, trigger)
}

func (r *jobRule) matches(s lock.Signer) bool {
	return (r.ref.expr == nil || r.ref.matches(s.Ref)) && slices.Contains(r.triggers, s.Trigger) &&
		(r.environment == "" || r.environment == s.Environment) && (r.runner == "" || r.runner == s.Runner)
}

// A ciSystem is what the identities of one CI system have in common.
type ciSystem struct {
	form       string // of an identity
	issuer     string // unless the identity names another
	example    string
	separator  string // between repository and file
	triggers   []string
	runners    []string
	repository func(name string) bool
}

var (
	githubSystem = ciSystem{
		form: "github:OWNER/REPO/WORKFLOW@REF", example: "github:acme/weather/.github/workflows/release.yml@refs/tags/v*",
		issuer: githubIssuer, separator: "/", triggers: githubTriggers, runners: []string{"github-hosted", "self-hosted"},
		repository: func(name string) bool {
			owner, repo, ok := strings.Cut(name, "/")
			return ok && owner != "" && repo != "" && !strings.Contains(repo, "/")
		},
	}
	gitlabSystem = ciSystem{
		form: "gitlab:GROUP/PROJECT//FILE@REF", example: "gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*",
		issuer: gitlabIssuer, separator: "//", triggers: gitlabTriggers, runners: []string{"gitlab-hosted", "self-hosted"},
		repository: func(name string) bool {
			return strings.Contains(name, "/") && !slices.Contains(strings.Split(name, "/"), "")
		},
	}
)

// split splits the path of a workflow into its repository and its file.
func (c ciSystem) split(path string) (repository, file string) {
	if c.separator == "//" {
		repository, file, _ = strings.Cut(path, "//")
		return repository, file
	}
	if parts := strings.SplitN(path, "/", 3); len(parts) == 3 {
		return parts[0] + "/" + parts[1], parts[2]
	}
	return "", ""
}

// parse parses the identity of a job, but for the form at its start.
func (c ciSystem) parse(rest string) (Identity, error) {
	path, rest, _ := strings.Cut(rest, "@")
	ref, query, queried := strings.Cut(rest, "?")
	repository, file := c.split(path)
	switch {
	case rest == "" || file == "" || !c.repository(repository):
		return Identity{}, fmt.Errorf("want %s, as in %s", c.form, c.example)
	case strings.ContainsAny(path, wild):
		return Identity{}, fmt.Errorf("only the ref may have wildcards")
	case !isCommit(ref):
		if err := checkRef(ref); err != nil {
			return Identity{}, fmt.Errorf("%w, or be the hash of a commit", err)
		}
	}
	id := Identity{want: lock.Signer{Issuer: c.issuer}, job: &jobRule{triggers: c.triggers}}
	if !isCommit(ref) {
		id.job.ref = newPattern(ref)
	}
	if queried {
		var err error
		if repository, err = c.members(&id, repository, query); err != nil {
			return Identity{}, err
		}
	}
	base := hostOf(id.want.Issuer)
	id.want.Repository = base + repository
	id.subject = newPattern(base + path + "@" + ref)
	return id, nil
}

// wild are characters that stand for others in patterns, of whatever kind.
const wild = "*?[]{} \\"

func checkRef(ref string) error {
	if !strings.HasPrefix(ref, "refs/") || ref == "refs/" {
		return fmt.Errorf("the ref must start with refs/, as in refs/tags/v*")
	}
	return nil
}

// isCommit reports whether ref is the SHA-1 or SHA-256 of a Git commit.
func isCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}

// members reads the members of an identity. It returns the repository that is
// built.
func (c ciSystem) members(id *Identity, repository, query string) (string, error) {
	seen := make(map[string]bool)
	for member := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(member, "=")
		var err error
		switch {
		case seen[name]:
			err = fmt.Errorf("it is there twice")
		case name == "id":
			if id.want.RepositoryID = value; value == "" || len(value) > 20 || strings.Trim(value, "0123456789") != "" {
				err = fmt.Errorf("want the number of the repository after id=")
			}
		case name == "issuer":
			id.want.Issuer, err = value, checkIssuer(value)
		case name == "caller":
			repository, err = c.caller(id.job, value)
		case name == "trigger":
			id.job.triggers, err = parseTriggers(value)
		case name == "environment":
			id.job.environment, err = url.PathUnescape(value)
			if err == nil && value == "" {
				err = fmt.Errorf("want the name of a deployment environment")
			}
		case name == "runner":
			if id.job.runner = value; !slices.Contains(c.runners, value) {
				err = fmt.Errorf("want %s", strings.Join(c.runners, " or "))
			}
		default:
			err = unknownMember(name)
		}
		if err != nil {
			return "", fmt.Errorf("member %s: %w", shown(name), err)
		}
		seen[name] = true
	}
	return repository, nil
}

func unknownMember(name string) error {
	known := []string{"id", "issuer", "caller", "trigger", "environment", "runner"}
	if lower := strings.ToLower(name); slices.Contains(known, lower) {
		return fmt.Errorf("write it in lower case, %s", lower)
	}
	return fmt.Errorf("it is unknown: want %s", strings.Join(known, ", "))
}

func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(issuer, "?#%"):
		return fmt.Errorf("%s is not an https URL of an issuer", shown(issuer))
	case u.Host != strings.ToLower(u.Host):
		return fmt.Errorf("write the host in lower case, %s", shown(strings.ToLower(u.Host)))
	}
	return nil
}

// caller reads the repository that calls a workflow, and its ref.
func (c ciSystem) caller(r *jobRule, value string) (string, error) {
	repository, ref, _ := strings.Cut(value, "@")
	if !c.repository(repository) || strings.ContainsAny(repository, wild) {
		return "", fmt.Errorf("want OWNER/REPO@REF, as in acme/weather@refs/tags/v*")
	}
	if ref == "" {
		return "", fmt.Errorf("name the ref that may be built, as in %s@refs/tags/v*: without it anyone who can push a branch can sign", shown(repository))
	}
	if err := checkRef(ref); err != nil {
		return "", err
	}
	if strings.Contains(ref, "?") {
		return "", fmt.Errorf("a ref has no question mark: write & between members")
	}
	r.ref, r.caller = newPattern(ref), true
	return repository, nil
}

func parseTriggers(value string) ([]string, error) {
	all := strings.Split(value, ",")
	for i, t := range all {
		switch {
		case t == "" || strings.Trim(strings.ToLower(t), "abcdefghijklmnopqrstuvwxyz_") != "":
			return nil, fmt.Errorf("want the name of an event, as in push or workflow_dispatch")
		case t != strings.ToLower(t):
			return nil, fmt.Errorf("events are in lower case: write %s", strings.ToLower(t))
		case slices.Contains(all[:i], t):
			return nil, fmt.Errorf("%s is there twice", t)
		}
	}
	return all, nil
}

// Extensions of Fulcio that are read here: the deployment environment, and what
// older certificates of GitHub have instead of the trigger and the ref.
var (
	oidEnvironment = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 23}
	oidOldTrigger  = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 2}
	oidOldRef      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 6}
)

// openIDSigner returns who a certificate of Fulcio is for.
func openIDSigner(leaf *x509.Certificate, x certificate.Extensions, subject string) (lock.Signer, error) {
	if x.Issuer == "" {
		return lock.Signer{}, errors.New("the certificate names no issuer")
	}
	s := lock.Signer{
		Issuer: x.Issuer, Subject: subject, Repository: x.SourceRepositoryURI, RepositoryID: x.SourceRepositoryIdentifier,
		Ref: x.SourceRepositoryRef, Trigger: x.BuildTrigger, Runner: x.RunnerEnvironment,
	}
	for _, e := range leaf.Extensions {
		switch {
		case e.Id.Equal(oidEnvironment):
			if err := certificate.ParseDERString(e.Value, &s.Environment); err != nil {
				return lock.Signer{}, clean("deployment environment in the certificate", err)
			}
		case e.Id.Equal(oidOldTrigger):
			s.Trigger = cmp.Or(s.Trigger, string(e.Value))
		case e.Id.Equal(oidOldRef):
			s.Ref = cmp.Or(s.Ref, string(e.Value))
		}
	}
	return s, nil
}

// hostOf returns the start of the URIs of the repositories on the server that an
// issuer stands for, with a slash at the end.
func hostOf(issuer string) string {
	if issuer == githubIssuer || strings.HasPrefix(issuer, githubIssuer+"/") {
		return "https://github.com/"
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(issuer, "https://"), "/")
	if tenant, ok := strings.CutPrefix(host, "token.actions."); ok && strings.HasSuffix(tenant, ".ghe.com") {
		host = tenant // GitHub Enterprise Cloud with data residency
	}
	return "https://" + host + "/"
}

// splitRef splits the subject of a job at its ref or commit. Other subjects
// have none.
func splitRef(subject string) (file, ref string) {
	at := strings.Index(subject, "@refs/")
	if at < 0 {
		at = strings.LastIndex(subject, "@")
		if at < 0 || !isCommit(subject[at+1:]) {
			return subject, ""
		}
	}
	return subject[:at], subject[at+1:]
}

// IdentityOf returns the identity that matches s and no other party: for a job,
// with its refs as they are, its environment, and what started it if that has
// to be said. A signer that no identity matches has the zero Identity.
func IdentityOf(s lock.Signer) Identity {
	kind := "uri:"
	if checkSubject("email", s.Subject) == nil {
		kind = "email:"
	}
	var forms []string
	switch {
	case s.Key != "":
		forms = []string{"key:" + s.Key}
	case s.Root != "":
		forms = []string{"x509:" + kind + s.Subject}
	default:
		forms = append(jobForms(s), kind+s.Subject+"@"+s.Issuer)
	}
	for _, f := range forms {
		id, err := ParseSigner(f)
		recordedBefore := s.Trigger == "" && s.Ref == "" // by a version that did not record them
		if err == nil && (id.Matches(s) || recordedBefore && id.names(s)) {
			return id
		}
	}
	return Identity{}
}

// jobForms returns how the identity of a job may be written, one for each CI
// system.
func jobForms(s lock.Signer) []string {
	if s.Repository == "" || strings.ContainsAny(s.Subject+s.Ref, "*?&") {
		return nil
	}
	base := hostOf(s.Issuer)
	path, below := strings.CutPrefix(s.Subject, base)
	repository, also := strings.CutPrefix(s.Repository, base)
	if !below || !also {
		return nil
	}
	var forms []string
	for form, c := range map[string]ciSystem{"github:": githubSystem, "gitlab:": gitlabSystem} {
		var members []string
		if s.Issuer != c.issuer {
			members = append(members, "issuer="+s.Issuer)
		}
		if _, ref := splitRef(s.Subject); s.Called() || s.Ref != "" && s.Ref != ref {
			members = append(members, "caller="+repository+"@"+s.Ref)
		}
		if s.Trigger != "" && !slices.Contains(c.triggers, s.Trigger) {
			members = append(members, "trigger="+s.Trigger)
		}
		if s.Environment != "" {
			members = append(members, "environment="+strings.ReplaceAll(url.QueryEscape(s.Environment), "+", "%20"))
		}
		query := ""
		if len(members) > 0 {
			query = "?" + strings.Join(members, "&")
		}
		forms = append(forms, form+path+query)
	}
	slices.Sort(forms)
	// The path of a GitLab pipeline would do for a file on GitHub as well.
	if file, _ := splitRef(path); s.Issuer == gitlabIssuer || s.Issuer != githubIssuer && strings.Contains(file, "//") {
		slices.Reverse(forms)
	}
	return forms
}

// broad returns what an identity admits that one would not expect of it, empty
// if there is nothing.
func (id Identity) broad() string {
	if id.job == nil {
		return ""
	}
	for _, t := range id.job.triggers {
		switch t {
		case "pull_request", "pull_request_target", "merge_request_event", "external_pull_request_event":
			return "proposed changes: anyone who can propose one can sign"
		case "issue_comment", "issues", "workflow_run", "discussion", "discussion_comment":
			return "runs that " + t + " starts: people who can't write to the repository may start one"
		}
	}
	if id.job.ref.expr == nil {
		return "any ref of the repository: anyone who can push a branch can call the workflow and sign, unless ?caller= names the ref"
	}
	for _, ref := range []string{id.job.ref.text, id.subject.text[strings.Index(id.subject.text, "@")+1:]} {
		if why := broadRef(ref); why != "" {
			return why
		}
	}
	return ""
}

func broadRef(ref string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
	switch {
	case strings.Contains(first, "*"):
		return "any ref: anyone who can push a branch can sign"
	case first == "heads" && strings.HasPrefix(rest, "*"):
		return "any branch: anyone who can push one can sign"
	case first == "pull" || first == "merge-requests":
		return "proposed changes: anyone who can propose one can sign"
	}
	return ""
}
