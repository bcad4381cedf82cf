package cli

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

func TestCheckSecrets(t *testing.T) {
	for _, test := range []struct {
		source lock.Source
		ok     bool
	}{
		{lock.Source{}, true},
		{lock.Source{URL: "https://weather.acme.example/mcp"}, true},
		{lock.Source{URL: "https://weather.acme.example/api/v1/servers/weather/mcp"}, true},
		{lock.Source{URL: "https://hooks.acme.example/api/mcp/s/Zx8Qw3Lm7Tn2Vb6Ky1Rp5Gd9Hs4Jf0/mcp"}, false},
		{lock.Source{Command: []string{"weather", "--token", "x"}}, false},
	} {
		err := (&app{}).checkSecrets(test.source)
		if (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.source, err)
		}
		if err != nil && (codeOf(err) != ExitUsage || strings.Contains(err.Error(), "Zx8Q")) {
			t.Errorf("%+v: %v", test.source, err)
		}
	}
}
