package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// A follower whose objective is convex but not strongly so, a linear one above all,
// may have many best answers. A model that says which of them is meant,
//
//	solve { ties = optimistic }    // the best for the leader
//	solve { ties = least_norm }    // the one of least norm
//
// is solved with the strongly convex g + a f + b/2 |y|^2 in the place of g, with
// a = tau and b = tau^2 (optimistic), or a = 0 and b = tau (least norm), in units in
// which the gradients of f and g and the distance of the rows from 0 are 1; tau
// goes down to its last value with warm starts (Solla and Royset 2026, arXiv
// 2602.05417). For a linear g and a tau that is small enough, but not 0, the answer
// is exactly a best one of the follower (Mangasarian and Meyer 1979).

// defaultTau is the last tau: the answer, and F at it, are off by about that much
// of the leader's stake.
const defaultTau = 1e-5

// ties is how a problem's follower breaks them.
type ties struct {
	rule         string
	tau          float64
	plain        *ir.Problem       // with the objective as the user wrote it
	g            *compile.Function // that objective
	cost, profit float64           // sizes of the gradients of g and f in y
	reach        float64           // of y: the distance of the rows from 0
	// building guards the graph of plain while it grows: regularizations are made
	// during a run.
	building *sync.Mutex
}

// tiesOf reads the rule of a model; "" where it has none.
func tiesOf(p *ir.Problem) (rule string, tau float64, err error) {
	tau = defaultTau
	var given *ir.Setting
	for i := range p.Settings {
		switch s := &p.Settings[i]; s.Name {
		case "ties":
			if !s.IsWord || s.Word != document.Optimistic && s.Word != document.Pessimistic && s.Word != document.LeastNorm {
				return "", 0, located(s.Span, fmt.Errorf("ties takes the word %s, %s or %s%s", document.Optimistic, document.Pessimistic, document.LeastNorm,
					diag.DidYouMean(s.Word, []string{document.Optimistic, document.Pessimistic, document.LeastNorm})))
			}
			rule = s.Word
		case "tau":
			if s.IsWord || !(s.Value > 0 && s.Value <= tolerance.MuShrink) {
				return "", 0, located(s.Span, fmt.Errorf("tau is a number above 0 and at most %v", tolerance.MuShrink))
			}
			tau, given = s.Value, s
		}
	}
	if (rule == "" || rule == document.Pessimistic) && given != nil {
		return "", 0, located(given.Span, errors.New("tau belongs to `ties = optimistic` or `ties = least_norm`"))
	}
	return rule, tau, nil
}

// weights are a and b at a tau: neither hides the other (tolerance.Hiding).
func (t *ties) weights(tau float64) (a, b float64) {
	if t.rule != document.Optimistic {
		return 0, tau * t.cost / t.reach
	}
	return tau * t.cost / t.profit, tau * math.Max(tau, 1/tolerance.Hiding) * t.cost / t.reach
}

// at is the bound problem with a tau.
func (t *ties) at(tau float64) *ir.Problem {
	a, b := t.weights(tau)
	return t.plain.Regularized(a, b)
}

// measure finds the units: the gradients of f and g at a few points of X and in a
// ball of the reach of the rows.
func (t *ties) measure() (err error) {
	defer must.Catch(&err)
	p := t.plain
	f := must.Get(compile.Objective(p, p.Upper.Objective, nil))
	t.g = must.Get(compile.Scalar(p, p.Lower.Objective, p.Lower.Dim, nil))
	t.cost, t.profit, t.reach = 0, 0, 0
	x, y := make([]float64, p.Upper.Dim), make([]float64, p.Lower.Dim+len(p.Duals)+len(p.Coupled))
	for j := range x {
		x[j] = math.Min(math.Max(0, p.X.Lo[j]), p.X.Hi[j])
	}
	if p.Start != nil {
		copy(x, p.Start)
	}
	for i := range p.Rows {
		if size := linalg.RowNorm(p.B, i); size > 0 {
			t.reach = math.Max(t.reach, math.Abs(p.A.RowDot(i, x)-p.Rhs[i])/size)
		}
	}
	if !(t.reach > 0) || math.IsInf(t.reach, 0) {
		t.reach = 1
	}
	slope, fy := make([]float64, p.Lower.Dim), make([]float64, len(y))
	sign := 1.0
	first, felt := slices.Clone(x), 0.0
	for range 4 {
		if v := t.g.ValueGradY(slope, x, y[:p.Lower.Dim]); !math.IsNaN(v) {
			t.cost = math.Max(t.cost, finiteNorm(slope))
		}
		if v := f.ValueGradY(fy, x, y); !math.IsNaN(v) {
			t.profit = math.Max(t.profit, finiteNorm(fy[:p.Lower.Dim]))
		}
		// Further points: a part of the way to the far side of X, y off 0. Where X has no
		// far side the way is as long as the follower feels it.
		if felt == 0 {
			felt = t.felt(first, slope)
		}
		sign = -0.6 * sign
		for j := range x {
			lo, hi := p.X.Lo[j], p.X.Hi[j]
			switch width := hi - lo; {
			case !math.IsInf(width, 0):
				x[j] = lo + width*(0.5+0.4*sign)
			case !math.IsInf(lo, 0):
				x[j] = first[j] + felt*math.Abs(sign)
			case !math.IsInf(hi, 0):
				x[j] = first[j] - felt*math.Abs(sign)
			default:
				x[j] = first[j] + felt*sign
			}
		}
		for j := range p.Lower.Dim {
			y[j] = t.reach * math.Abs(sign) / math.Sqrt(float64(p.Lower.Dim))
		}
	}
	t.g.Trace() // points outside of a domain were only tried
	t.cost, t.profit = cmp.Or(t.cost, 1), cmp.Or(t.profit, 1)
	return nil
}

// felt is how far the entries of x that X leaves free have to go from x for the forces
// on the follower to change by their own size, or the rows by the follower's reach; 1
// where it feels none of them. A leader whose prices have no bound in X meets it there:
// at prices of the size of the follower's costs.
func (t *ties) felt(x, force []float64) float64 {
	p := t.plain
	away, step := slices.Clone(x), cmp.Or(1e-3*linalg.NormInf(x), 1e-3)
	for j := range away {
		switch {
		case !math.IsInf(p.X.Hi[j]-p.X.Lo[j], 0):
		case math.IsInf(p.X.Hi[j], 0):
			away[j] += step
		default:
			away[j] -= step
		}
	}
	moved, way := make([]float64, len(force)), math.Inf(1)
	if v := t.g.ValueGradY(moved, away, make([]float64, p.Lower.Dim)); !math.IsNaN(v) {
		if change := finiteNorm(linalg.Minus(moved, force)) / step; change > 0 {
			way = t.cost / change
		}
	}
	for i := range p.Rows {
		if change := math.Abs(p.A.RowDot(i, away)-p.A.RowDot(i, x)) / step; change > 0 {
			way = math.Min(way, t.reach*linalg.RowNorm(p.B, i)/change)
		}
	}
	if !(way > 0) || math.IsInf(way, 0) {
		return 1
	}
	return way
}

func finiteNorm(v []float64) float64 {
	if n := linalg.Norm(v); !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n
	}
	return 0
}

// withTau is the problem with another tau.
func (p *Problem) withTau(tau float64) *Problem {
	p.ties.building.Lock()
	defer p.ties.building.Unlock()
	q := must.Get(begin(BindOptions{}, bindProofs).finish(p.ties.at(tau)))
	t := *p.ties
	t.tau = tau
	q.ties, q.shared.digest = &t, p.Digest()
	return q
}
