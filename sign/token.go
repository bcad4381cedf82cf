package sign

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// audience is who the identity tokens that Fulcio takes are for.
const audience = "sigstore"

// A TokenError reports an identity token that Fulcio would refuse. It was not
// sent anywhere.
type TokenError struct{ Err error }

func (e *TokenError) Error() string { return "identity token: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// audiences are one or several, as JSON Web Tokens have both (RFC 7519 section
// 4.1.3).
type audiences []string

func (a *audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// checkToken looks for what is wrong with a token at that time: its issuer, its
// audience, its validity. The signature is Fulcio's to verify. No error has
// anything of the token but these claims.
func checkToken(token string, now time.Time) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("the identity token is not a JWT")
	}
	var claims struct {
		Issuer    string    `json:"iss"`
		Audience  audiences `json:"aud"`
		Expires   float64   `json:"exp"`
		NotBefore float64   `json:"nbf"`
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return errors.New("the identity token is not a JWT: its claims can't be read")
	}
	expires, from := time.Unix(int64(claims.Expires), 0), time.Unix(int64(claims.NotBefore), 0)
	issuer, err := url.Parse(claims.Issuer)
	switch {
	case claims.Issuer == "" || err != nil || checkURL(claims.Issuer, false) != nil:
		return &TokenError{fmt.Errorf("its issuer is %.200q, want an https URL", claims.Issuer)}
	case issuer.RawQuery != "" || issuer.Fragment != "":
		return &TokenError{fmt.Errorf("its issuer is %.200q, want a URL without query and fragment", claims.Issuer)}
	case !slices.Contains(claims.Audience, audience):
		return &TokenError{fmt.Errorf("it is for %.200q, want the audience %q", strings.Join(claims.Audience, ", "), audience)}
	case claims.Expires == 0:
		return &TokenError{errors.New("it does not say when it expires")}
	case !now.Before(expires):
		return &TokenError{fmt.Errorf("it expired at %s", expires.UTC().Format(time.RFC3339))}
	case claims.NotBefore != 0 && now.Add(5*time.Minute).Before(from):
		return &TokenError{fmt.Errorf("it is valid from %s on", from.UTC().Format(time.RFC3339))}
	}
	return nil
}
