package assist

import (
	"fmt"
	"strings"
	"testing"
)

// longModel is a model of about 2,000 lines: parameters, data, sums and rows, as one written by hand has them.
func longModel() string {
	var b strings.Builder
	b.WriteString("model long\n")
	const parts = 220
	for k := range parts {
		fmt.Fprintf(&b, "param n%d: int = 4\nset I%d = 1 .. n%d\ndata a%d: vector[n%d]\ndata B%d: matrix[n%d, n%d]\n", k, k, k, k, k, k, k, k)
	}
	b.WriteString("upper {\n")
	for k := range parts {
		fmt.Fprintf(&b, "  var x%d: vector[n%d] in box(0, 1)\n", k, k)
	}
	b.WriteString("  minimize\n")
	for k := range parts {
		fmt.Fprintf(&b, "    a%d' * y%d + sumsq(x%d - 0.5)%s\n", k, k, k, more(k, parts))
	}
	b.WriteString("}\nlower {\n")
	for k := range parts {
		fmt.Fprintf(&b, "  var y%d: vector[n%d] in box(0, 2)\n", k, k)
	}
	b.WriteString("  minimize\n")
	for k := range parts {
		fmt.Fprintf(&b, "    0.5 * sumsq(B%d * y%d) + sumsq(y%d) - x%d' * y%d%s\n", k, k, k, k, k, more(k, parts))
	}
	b.WriteString("  subject to\n")
	for k := range parts {
		fmt.Fprintf(&b, "    cap%d: sum(i in I%d: a%d[i] * y%d[i]) <= 1 + x%d[1]\n", k, k, k, k, k)
	}
	b.WriteString("}\n")
	return b.String()
}

// more is the sign that goes on with a sum.
func more(k, parts int) string {
	if k == parts-1 {
		return ""
	}
	return " +"
}

// BenchmarkKeyStroke reads a model of 2,000 lines as the language server does after each key stroke:
//
//	go test ./cmd/internal/assist -run '^$' -bench KeyStroke
func BenchmarkKeyStroke(b *testing.B) {
	text := longModel()
	b.Logf("%d lines", strings.Count(text, "\n"))
	if d := Read("long.blv", text); d.Diagnostics.HasErrors() {
		b.Fatal(d.Diagnostics[0])
	}
	for b.Loop() {
		Read("long.blv", text)
	}
}
