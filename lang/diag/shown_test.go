package diag

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// A JSON text as it is shown holds the same values, and nothing that acts on what shows it.
func TestShownJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 11))
	parts := []string{"\x1b[2J", "\u009b31m", "\x7f", "\u202e", "\u2066", "\u2028", "\ufeff", "\U000e0041", "é", "東", "\U0001f600", "\ufffd", "\\", "\"", "plain", "\\u202e", "\x00"}
	for range 2000 {
		want := map[string]string{}
		for range 1 + rng.IntN(3) {
			var b [2]strings.Builder
			for k := range b {
				for range rng.IntN(5) {
					b[k].WriteString(parts[rng.IntN(len(parts))])
				}
			}
			want[b[0].String()] = b[1].String()
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		out := ShownJSON(text)
		if s := string(out); ShownLines(s) != s {
			t.Fatalf("%q", out)
		}
		got := map[string]string{}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %q", err, out)
		}
		if len(got) != len(want) {
			t.Fatalf("%q, not %q", got, want)
		}
		for name, v := range want {
			if got[name] != v {
				t.Fatalf("%q, not %q", got[name], v)
			}
		}
	}
}
