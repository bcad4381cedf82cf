package attest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// VSAType is the predicate type of a SLSA verification summary attestation.
const VSAType = "https://slsa.dev/verification_summary/v1"

// A VSA is a SLSA verification summary attestation, version 1: what a verifier
// found out about definitions
// (https://slsa.dev/spec/v1.1/verification_summary). dependencyLevels is not
// written: definitions have no dependencies.
type VSA struct {
	Verifier     string    // verifier.id: URI of who verified
	TimeVerified time.Time // whole seconds
	ResourceURI  string    // what the definitions belong to: one server in one deployment
	Policy       Resource  // by which it was verified, with URI and digest
	Inputs       []Resource
	Passed       bool     // verificationResult PASSED, else FAILED
	Levels       []string // verifiedLevels, of what passed alone; may be empty
	SLSAVersion  string   // MAJOR.MINOR; "" for any of 1.x
}

// Summarize makes the verification summary about ds, a statement of a foreign
// predicate type. Inputs, if there are any, are all attestations that were
// used, each with a digest, at most 1,024. Levels, at most 64 of 255 bytes, are
// of the form SLSA_TRACK_LEVEL_N, one a track, or the verifier's own. It is an
// error if there are no definitions, or two of one name: a summary is about one
// server, and one variant of its listing.
func Summarize(ds []lock.Definition, v VSA) (*Statement, error) {
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("verification summary: %w", err)
	}
	var e encoder
	e.object(func() { v.write(&e) })
	return Foreign(ds, VSAType, e.out)
}

func (v *VSA) check() error {
	if err := checkURI("verifier", v.Verifier); err != nil {
		return err
	}
	if err := checkURI("resource", v.ResourceURI); err != nil {
		return err
	}
	if !wholeSecond(v.TimeVerified) {
		return errors.New("the time is missing or not a whole second of the years 1970 to 9999")
	}
	if err := checkURI("policy", v.Policy.URI); err != nil {
		return err
	}
	if len(v.Policy.Digest) == 0 {
		return errors.New("the policy has no digest")
	}
	if err := v.Policy.check("the policy"); err != nil {
		return err
	}
	if len(v.Inputs) > MaxSubjects {
		return fmt.Errorf("there are more than %d input attestations", MaxSubjects)
	}
	for _, in := range v.Inputs {
		if len(in.Digest) == 0 {
			return errors.New("an input attestation has no digest")
		}
		if err := in.check("an input attestation"); err != nil {
			return err
		}
	}
	if major, minor, ok := strings.Cut(v.SLSAVersion, "."); v.SLSAVersion != "" && !(ok && digits(major) && digits(minor)) {
		return fmt.Errorf("SLSA version %.200q is not of the form MAJOR.MINOR", v.SLSAVersion)
	}
	return v.checkLevels()
}

func digits(s string) bool { return s != "" && len(s) < 4 && strings.Trim(s, "0123456789") == "" }

// checkLevels checks the SlsaResult strings.
func (v *VSA) checkLevels() error {
	if len(v.Levels) > 0 && !v.Passed {
		return errors.New("what has not passed has no levels")
	}
	if len(v.Levels) > 64 {
		return errors.New("there are more than 64 levels")
	}
	seen := make(map[string]bool)
	for _, level := range v.Levels {
		if level == "" || len(level) > 255 || level == "FAILED" || strings.ContainsFunc(level, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("level %.200q is empty, FAILED, too long or not of visible ASCII characters", level)
		}
		track := level
		if strings.HasPrefix(level, "SLSA_") {
			name, n, ok := strings.Cut(level, "_LEVEL_")
			if !ok || name == "SLSA" || len(n) != 1 || !digits(n) {
				return fmt.Errorf("level %s is not of the form SLSA_TRACK_LEVEL_N", level)
			}
			track = name
		}
		if seen[track] {
			return fmt.Errorf("level %s: its track is there twice", level)
		}
		seen[track] = true
	}
	return nil
}

func (v *VSA) write(e *encoder) {
	result, levels := "FAILED", []string{"FAILED"}
	if v.Passed {
		result, levels = "PASSED", v.Levels
	}
	e.name("verifier")
	e.object(func() { e.string("id", v.Verifier) })
	e.time("timeVerified", v.TimeVerified)
	e.string("resourceUri", v.ResourceURI)
	e.name("policy")
	e.resource(v.Policy)
	e.resources("inputAttestations", v.Inputs)
	e.string("verificationResult", result)
	e.name("verifiedLevels")
	e.textArray(levels)
	e.optional("slsaVersion", v.SLSAVersion)
}
