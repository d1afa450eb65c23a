package curvature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// lowerName is the name of entry c of y.
func (pr *prover) lowerName(c int) string { return nameIn(pr.Lower, c) }

// entryName is the name of entry c of the variables a study differentiates in.
func (pr *prover) entryName(s *study, c int) string {
	if s.wrt&expr.DependsX == 0 {
		return nameIn(pr.Lower, c)
	}
	if c < pr.Upper.Dim {
		return nameIn(pr.Upper, c)
	}
	return nameIn(pr.Lower, c-pr.Upper.Dim)
}

func nameIn(level ir.Level, c int) string {
	for _, v := range level.Vars {
		k := c - v.Offset
		if k < 0 || k >= v.Shape.Len() {
			continue
		}
		if v.Axes != nil {
			return v.Name + "[" + ir.Place(v.Axes, k) + "]"
		}
		switch v.Shape.Rank {
		case 0:
			return v.Name
		case 1:
			return fmt.Sprintf("%s[%d]", v.Name, k+1)
		}
		return fmt.Sprintf("%s[%d, %d]", v.Name, k/v.Shape.Cols+1, k%v.Shape.Cols+1)
	}
	return fmt.Sprintf("entry %d", c+1)
}

// directionText words a direction by its largest entries.
func (pr *prover) directionText(e extreme) string {
	if e.vector == nil {
		return ""
	}
	order := indices(len(e.vector))
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
	out.WriteString("along ")
	for n, i := range order {
		c := e.vector[i] / largest
		if math.Abs(c) < visible {
			break
		}
		if n == shown {
			out.WriteString(" + ...")
			break
		}
		switch {
		case n > 0 && c < 0:
			out.WriteString(" - ")
		case n > 0:
			out.WriteString(" + ")
		}
		if c = math.Abs(c); math.Abs(c-1) > visible {
			fmt.Fprintf(&out, "%.3g ", c)
		}
		out.WriteString(pr.lowerName(e.cols[i]))
	}
	return out.String()
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
			parts = append(parts, fmt.Sprintf("%s = %.4g", nameIn(level, c), v))
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
