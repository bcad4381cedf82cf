package cli

import (
	"testing"
	"time"
)

// TestLimit has how long a server may take: never no time, never more than a day.
func TestLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "24h": 24 * time.Hour, "1ms": time.Millisecond,
		"": 0, "0": 0, "0s": 0, "-1s": 0, "90": 0, "25h": 0, "2562048h": 0, "9999999999999h": 0, "1d": 0,
	} {
		var l limit
		err := l.Set(text)
		if got := time.Duration(l); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
