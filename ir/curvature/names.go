package curvature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// entryName is the name of entry c of x and y.
func (pr *prover) entryName(c int) string {
	if c < pr.Upper.Dim {
		return pr.Upper.EntryName(c)
	}
	return pr.Lower.EntryName(c - pr.Upper.Dim)
}

// directionText words a direction by its largest entries.
func (pr *prover) directionText(e extreme) string {
	if e.vector == nil {
		return ""
	}
	order := expr.Sequence(0, len(e.vector))
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := math.Abs(e.vector[a]), math.Abs(e.vector[b]); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	const shown = 4
	// Entries below a thousandth of the largest are left to the full vector.
	const visible = 1e-3
	largest := e.vector[order[0]]
	var out strings.Builder
	for n, i := range order {
		c := e.vector[i] / largest
		if math.Abs(c) < visible {
			break
		}
		if n == shown {
			out.WriteString(" + ...")
			break
		}
		addTerm(&out, c, visible, "%.3g ", pr.Lower.EntryName(e.cols[i]))
	}
	return "along " + out.String()
}

// addTerm adds c times a name to the text of a sum; a c within near of 1 or -1 is that.
func addTerm(sum *strings.Builder, c, near float64, format, name string) {
	switch first := sum.Len() == 0; {
	case first && c < 0:
		sum.WriteString("-")
	case c < 0:
		sum.WriteString(" - ")
	case !first:
		sum.WriteString(" + ")
	}
	if c = math.Abs(c); math.Abs(c-1) > near {
		fmt.Fprintf(sum, format, c)
	}
	sum.WriteString(name)
}

// pointText words the point of a witness, as far as the second derivative
// depends on it.
func (pr *prover) pointText(x, y []float64, fixed Quadratic) string {
	if fixed.FixedHessian {
		return ""
	}
	const shown = 6
	var parts []string
	list := func(level ir.Level, z []float64) {
		for c, v := range z {
			parts = append(parts, fmt.Sprintf("%s = %.4g", level.EntryName(c), v))
		}
	}
	list(pr.Upper, x)
	if !fixed.InY {
		list(pr.Lower, y)
	}
	if len(parts) > shown {
		parts = append(parts[:shown], "...")
	}
	return strings.Join(parts, ", ")
}
