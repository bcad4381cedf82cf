package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is signed in a URL is for its origin alone, and in no error.
func TestObtain(t *testing.T) {
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = w.Write([]byte("release"))
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer first.Close()
	const secret = "X-Amz-Signature=TOPSECRET"
	data, err := new(app).obtain(t.Context(), first.URL+"/release.json?"+secret)
	if err != nil || string(data) != "release" {
		t.Fatalf("%q, %v", data, err)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, ""), "SECRET") || name == "Referer" {
			t.Errorf("the other origin was sent %s: %s", name, values)
		}
	}
	first.Close()
	_, err = new(app).obtain(t.Context(), strings.Replace(first.URL, "http://", "http://me:TOPSECRET@", 1)+"/release.json?"+secret)
	if err == nil || codeOf(err) != ExitService || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
}
