package runtime_test

import (
	"math"
	"testing"

	"bilevelc/runtime"
)

// Points on a ball are found by programs whose linear part is that of the last tangent of the concave part, with the ball's own curvature, and from the point before: by tangents of the ball alone each took hundreds of rounds from anew, and the budget was spent at the second node.
// The optimum, of labels moved within a ball against a ridge regression, is that of the secular equation of a trust region.
func TestConcaveOverABall(t *testing.T) {
	t.Parallel()
	p := bindText(t, `model ballpoison
param n: int = 5
param m: int = 15
param p: int = 2
data X: matrix[n, p] = [[-0.47, -0.349], [-1.405, 0.038], [1.298, 0.605], [0.674, 0.733], [0.659, -1.316]]
data t: vector[n] = [0.352, -0.341, 0.024, -0.808, 0.733]
data Xv: matrix[m, p] = [[-1.695, 1.295], [-0.329, 0.156], [-1.109, -0.092], [0.457, -0.187], [0.946, -1.448], [1.372, -0.409], [-2.638, -0.733], [0.092, -0.092], [-0.342, 1.157], [-0.448, 0.746], [-0.857, 1.204], [-0.932, 0.12], [1.66, -1.238], [0.446, -0.294], [-0.97, -1.371]]
data tv: vector[m] = [-0.746, -0.149, -0.526, 0.208, 0.387, 0.629, -1.271, 0.04, -0.115, -0.181, -0.355, -0.434, 0.732, 0.198, -0.511]
upper {
  var d: vector[n] in ball(1.0)
  maximize sumsq(Xv * w - tv) / m
}
lower {
  var w: vector[p]
  minimize sumsq(X * w - t - d) + 0.5 * sumsq(w)
}
`)
	r, err := p.Solve(t.Context(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const best = 0.80805732240
	if f := float64(r.Upper.Objective); r.Status != runtime.Solved || math.Abs(f-best) > 1e-6*best || !(float64(r.Global.Bound) >= best) || r.Global.Nodes < 6 {
		t.Errorf("%v: F %.10g, bound %v after %d nodes", r.Status, f, r.Global.Bound, r.Global.Nodes)
	}
}
