package certify

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"bilevelc/runtime/problem"
)

// treeInterior is an affine map y(x) = at + sum of by_c x_c that a proof states for the part of the lower level with y_Answer; other entries of y have no part in it. Where it is inside of the part's
// constraints for all x in their box (Slater's condition), with slacks of at least t_i, each point of the system has
//
//	lambda's(y(x)) = -d'(y - y(x)) - (y - y(x))'H(y - y(x)) <= theta,   d = H y(x) + G x + q,
//
// by stationarity, complementarity and the equations, so that lambda_i <= theta/t_i. theta is from the boxes of y, or from Curvature, m_j > 0 for all entries of the part such that H - diag(m) is positive semidefinite
// there: theta = r^2/4, r^2 = sum of d_j^2/m_j, and then |y_j - y_j(x)| <= r/sqrt(m_j) as well.
type treeInterior struct {
	Answer    int           `json:"answer"`
	At        *sparseVector `json:"at"`
	By        []treeSlope   `json:"by"`
	Curvature *sparseVector `json:"curvature"`
}

// treeSlope is the derivative of the map in x_Entry.
type treeSlope struct {
	Entry int           `json:"entry"`
	Of    *sparseVector `json:"of"`
}

// addInterior tightens boxes of y and multipliers by what a proof states. Maps that satisfy equations up to rounding alone, and those that are on the edge of a constraint, say less or nothing.
func (t *treeModel) addInterior(all []treeInterior) error {
	for k := range all {
		if err := t.inside(&all[k]); err != nil {
			return fmt.Errorf("interior %d: %w", k, err)
		}
	}
	return nil
}

func (t *treeModel) inside(in *treeInterior) error {
	if in.Answer < 0 || in.Answer >= t.ny {
		return fmt.Errorf("no such entry of y")
	}
	y, rows := t.part(t.h, in.Answer)
	read := func(v *sparseVector) ([]float64, error) {
		out := make([]float64, t.ny)
		if v == nil {
			return out, nil
		}
		if len(v.At) != len(v.Val) || !isFinite(v.Val) {
			return nil, fmt.Errorf("%d places for %d numbers, or one that is not finite", len(v.At), len(v.Val))
		}
		for e, j := range v.At {
			if _, is := slices.BinarySearch(y, j); !is {
				return nil, fmt.Errorf("entry %d of y is not in the part", j)
			}
			out[j] = v.Val[e]
		}
		return out, nil
	}
	at, err := read(in.At)
	if err != nil {
		return err
	}
	least, err := read(in.Curvature)
	if err != nil {
		return err
	}
	curved := true
	for _, j := range y {
		curved = curved && least[j] > 0
	}
	by := make([][]float64, t.nx) // nil: 0
	for _, s := range in.By {
		if s.Entry < 0 || s.Entry >= t.nx || by[s.Entry] != nil {
			return fmt.Errorf("entry %d of x is none, or twice", s.Entry)
		}
		if by[s.Entry], err = read(s.Of); err != nil {
			return err
		}
	}
	box := func(c int) interval { return interval{t.lo[c], t.hi[c]} }
	slack := make(map[int]float64, len(rows))
	for _, i := range rows {
		constant, slopes := t.along(i, at, by)
		if t.p.Rows.Kind[i] == problem.Equal {
			if constant.Sign() != 0 {
				return nil
			}
			for _, s := range slopes {
				if s.Sign() != 0 {
					return nil
				}
			}
			continue
		}
		s := enclosure(constant)
		for c, v := range slopes {
			s = s.add(enclosure(v).mul(box(c)))
		}
		if !(s.lo >= 0) {
			return nil
		}
		slack[i] = s.lo
	}
	// The map, and the gradient along it.
	square, theta := interval{}, interval{}
	values := make(map[int]interval, len(y))
	for _, j := range y {
		value := point(at[j])
		d := point(t.linearG[j])
		for _, k := range y {
			d = d.add(point(t.h[k][j]).mul(point(at[k])))
		}
		for c := range t.nx {
			slope := point(t.g[c][j])
			if by[c] != nil {
				value = value.add(point(by[c][j]).mul(box(c)))
				for _, k := range y {
					slope = slope.add(point(t.h[k][j]).mul(point(by[c][k])))
				}
			}
			d = d.add(slope.mul(box(c)))
		}
		values[j] = value
		if size := point(d.size()); curved {
			square = square.add(size.mul(size).over(least[j]))
		}
		theta = theta.sub(d.mul(interval{t.lo[t.nx+j], t.hi[t.nx+j]}.sub(value)))
	}
	largest := math.Inf(1)
	if t.convexBy(y, nil) {
		largest = theta.hi
	}
	if curved && t.convexBy(y, least) {
		largest = math.Min(largest, square.over(4).hi)
		for _, j := range y {
			reach := up(math.Sqrt(square.over(least[j]).hi))
			within := values[j].add(interval{-reach, reach})
			t.lo[t.nx+j], t.hi[t.nx+j] = math.Max(t.lo[t.nx+j], within.lo), math.Min(t.hi[t.nx+j], within.hi)
		}
	}
	if math.IsNaN(largest) {
		return nil
	}
	for i, s := range slack {
		if end := &t.hi[t.nx+t.ny+i]; s > 0 {
			*end = math.Min(*end, up(math.Max(0, largest)/s))
		}
	}
	return nil
}

// along is the activity b + B y(x) - A x of row i: its constant, and its slope in each entry of x where that is not 0.
func (t *treeModel) along(i int, at []float64, by [][]float64) (constant *big.Rat, slopes map[int]*big.Rat) {
	product := new(big.Rat)
	cols, vals := t.p.Rows.B.Row(i)
	sum := func(of []float64) *big.Rat {
		out := new(big.Rat)
		for e, j := range cols {
			if vals[e] != 0 && of[j] != 0 {
				out.Add(out, product.Mul(rat(vals[e]), rat(of[j])))
			}
		}
		return out
	}
	constant = sum(at)
	constant.Add(constant, rat(t.p.Rows.Rhs[i]))
	slopes = map[int]*big.Rat{}
	for c := range t.nx {
		if by[c] != nil {
			slopes[c] = sum(by[c])
		}
	}
	acols, avals := t.p.Rows.A.Row(i)
	for e, c := range acols {
		if slopes[c] == nil {
			slopes[c] = new(big.Rat)
		}
		slopes[c].Sub(slopes[c], rat(avals[e]))
	}
	return constant, slopes
}

// convexBy shows that v'Hv >= sum of least_j v_j^2 (nil: 0) for v over these entries of y.
func (t *treeModel) convexBy(y []int, least []float64) bool {
	n := len(y)
	mid, radius, trace := make([]float64, n*n), 0.0, 0.0
	exact, some := true, false
	for a, i := range y {
		row := 0.0
		for b, j := range y {
			v := point(t.h[i][j]).add(point(t.h[j][i])).mul(point(0.5)) // of the symmetric part
			if i == j && least != nil {
				v = v.sub(point(least[j]))
			}
			m := v.mid()
			mid[a*n+b], exact, some = m, exact && v.exact(), some || !v.zero()
			row = up(row + up(math.Max(v.hi-m, m-v.lo)))
		}
		radius, trace = math.Max(radius, row), up(trace+math.Abs(mid[a*n+a]))
	}
	return !some || definite(mid, n, trace, radius, 0) || exact && n <= most && semidefiniteExactly(mid, n)
}
