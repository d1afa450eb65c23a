package outer

import (
	"bilevelc/internal/ablation"
	"context"
	"fmt"
	"math"
)

// jumpWidth is how near to each other, relative to the size of x, the two points are
// brought: a hundred roundings, so that they are still two points.
const jumpWidth = 1e-14

// unexplained is how many times what the gradients met explain a change of F has to be
// for a jump: continuous pieces are found by their gradients, and a bend so sharp that
// it has none in between is as good as a jump to any descent.
const unexplained = 1e6

// jump says that F changes at once next to the center, where a search ends there without
// descent; "" where that is not so, and where F reads no multipliers: y* is continuous on
// the x that have one (Hager 1979), and what looks like a jump is an error of y. A Lipschitz F changes by no more than its gradients
// say: the pair of the center and a sample that differs most from that is halved, keeping
// the half with the larger change, until the change has gone to nothing or its ends
// are next to each other.
func (m *goldstein) jump(ctx context.Context, run *Run) string {
	if ablation.Off("jump") {
		return ""
	}
	if len(run.h.Problem().Duals) == 0 {
		return ""
	}
	s := &m.state
	c := &s.Center
	slope := norm(c.G)
	for i := range s.Bundle {
		slope = math.Max(slope, norm(s.Bundle[i].G))
	}
	a, most := c, 0.0
	var b *Sample
	for i := range s.Bundle {
		k := &s.Bundle[i]
		if over := math.Abs(k.F-c.F) - slope*distance(k.X, c.X) - 10*run.noise(c); over > most {
			most, b = over, k
		}
	}
	if b == nil {
		return ""
	}
	for distance(a.X, b.X) > jumpWidth*run.size(c.X) {
		mid, err := run.Value(ctx, plus(a.X, 0.5, minus(b.X, a.X)))
		if err != nil || distance(mid.X, a.X) == 0 || distance(mid.X, b.X) == 0 {
			break
		}
		if math.Abs(mid.F-a.F) > math.Abs(b.F-mid.F) {
			b = mid
		} else {
			a = mid
		}
	}
	change := math.Abs(b.F - a.F)
	if !(change > unexplained*slope*distance(a.X, b.X)+10*run.noise(c)) {
		return ""
	}
	return fmt.Sprintf(": F jumps by %.3g within %.2g of this x, where the multipliers that it reads are not unique",
		change, math.Max(distance(a.X, c.X), distance(b.X, c.X)))
}
