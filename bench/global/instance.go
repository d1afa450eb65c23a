// Command global measures branch and bound on bilevel programs with linear rows: programs of a folder, or random ones of the classes that users
// bring. It prints one line a program: the value, the bound, nodes and processor time, and, where optima are given, whether it is the optimum.
//
//	go run ./bench/global ../shared/global           programs NAME.json (with NAME.blv), optima in optima.json
//	go run ./bench/global -make 1 DIR                writes 94 random programs to DIR
//	go run ./bench/global -make 1 -discrete DIR      40 whose leader decides on whole numbers
//	go run ./bench/global -make 1 -blocks DIR        24 of independent blocks, some with a budget for all
//	go run ./bench/global -scip DIR                  their optima by SCIP on the system with SOS1 pairs (bench/global/scip.py)
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// instance is one program:
//
//	minimize c'x + d'y + x'Ty + 1/2 x'Rx + 1/2 y'Sy over x in [lo, hi], Ux <= u (and x whole),
//	y minimizing 1/2 y'Qy + x'Py + q'y over Ax + By <= b, Dx + Ey = e (and y >= 0)
type instance struct {
	name   string
	nonneg bool

	C  []float64   `json:"c,omitempty"`
	D  []float64   `json:"d,omitempty"`
	T  [][]float64 `json:"T,omitempty"`
	R  [][]float64 `json:"R,omitempty"`
	S  [][]float64 `json:"S,omitempty"`
	Q  [][]float64 `json:"Q,omitempty"`
	P  [][]float64 `json:"P,omitempty"`
	LQ []float64   `json:"q"`
	Lo []float64   `json:"lo"`
	Hi []float64   `json:"hi"`
	B  [][]float64 `json:"B,omitempty"`
	RB []float64   `json:"b,omitempty"`
	A  [][]float64 `json:"A,omitempty"`
	E  [][]float64 `json:"E,omitempty"`
	RE []float64   `json:"e,omitempty"`
	DX [][]float64 `json:"Dx,omitempty"`
	U  [][]float64 `json:"U,omitempty"`
	RU []float64   `json:"u,omitempty"`

	whole bool
}

// read loads DIR/NAME.json, and whether y is nonnegative from the model beside it.
func read(stem string) (*instance, error) {
	text, err := os.ReadFile(stem + ".json")
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage // encoding/json ignores case where it finds no exact name: q and Q
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	in := &instance{name: stem[strings.LastIndex(stem, "/")+1:]}
	for name, into := range map[string]any{"c": &in.C, "d": &in.D, "T": &in.T, "R": &in.R, "S": &in.S, "Q": &in.Q, "P": &in.P, "q": &in.LQ, "lo": &in.Lo, "hi": &in.Hi,
		"B": &in.B, "b": &in.RB, "A": &in.A, "E": &in.E, "e": &in.RE, "D": &in.DX, "U": &in.U, "u": &in.RU} {
		if v, ok := raw[name]; ok {
			if err := json.Unmarshal(v, into); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", stem, name, err)
			}
		}
	}
	model, err := os.ReadFile(stem + ".blv")
	if err != nil {
		return nil, err
	}
	in.nonneg = strings.Contains(string(model), "in nonneg")
	in.whole = strings.Contains(string(model), "integer in box")
	return in, nil
}

// quadratic is 1/2 v'Mv + l'v over v = (x, y).
type quadratic struct {
	nx, n int
	m     []float64
	l     []float64
}

func (q *quadratic) grad(dst []float64, x, y []float64, from int) {
	for i := range dst {
		row := q.m[(from+i)*q.n : (from+i+1)*q.n]
		v := q.l[from+i]
		for j, t := range x {
			v += row[j] * t
		}
		for j, t := range y {
			v += row[q.nx+j] * t
		}
		dst[i] = v
	}
}

func (q *quadratic) Value(x, y []float64) float64 {
	g := make([]float64, q.n)
	q.grad(g, x, y, 0)
	v := 0.0
	for i, t := range append(append([]float64(nil), x...), y...) {
		v += 0.5 * t * (g[i] + q.l[i])
	}
	return v
}

func (q *quadratic) GradX(dst, x, y []float64) { q.grad(dst, x, y, 0) }
func (q *quadratic) GradY(dst, x, y []float64) { q.grad(dst, x, y, q.nx) }
func (q *quadratic) ValueGradY(dst, x, y []float64) float64 {
	q.GradY(dst, x, y)
	return q.Value(x, y)
}
func (q *quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	q.GradX(dx, x, y)
	q.GradY(dy, x, y)
	return q.Value(x, y)
}
func (q *quadratic) Clone() problem.Function { return q }

// joint makes a quadratic of blocks: xx, xy, yy and the linear parts; any may be nil.
func joint(nx, ny int, xx, xy, yy [][]float64, lx, ly []float64) *quadratic {
	n := nx + ny
	q := &quadratic{nx: nx, n: n, m: make([]float64, n*n), l: make([]float64, n)}
	for i, row := range xx {
		copy(q.m[i*n:], row)
	}
	for i, row := range xy {
		for j, v := range row {
			q.m[i*n+nx+j], q.m[(nx+j)*n+i] = v, v
		}
	}
	for i, row := range yy {
		copy(q.m[(nx+i)*n+nx:], row)
	}
	copy(q.l, lx)
	copy(q.l[nx:], ly)
	return q
}

// problem is the numeric problem.
func (in *instance) problem() *problem.Problem {
	nx, ny := len(in.Lo), len(in.LQ)
	rows := &problem.Rows{}
	a, b := sparse.Empty(nx), sparse.Empty(ny)
	add := func(kind problem.Kind, ca, cb []float64, rhs float64) {
		for j, v := range ca {
			if v != 0 {
				a.Append(j, v)
			}
		}
		for j, v := range cb {
			if v != 0 {
				b.Append(j, -v)
			}
		}
		a.EndRow()
		b.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
	}
	of := func(m [][]float64, i int) []float64 {
		if m == nil {
			return nil
		}
		return m[i]
	}
	for j := range ny {
		if in.nonneg {
			e := make([]float64, ny)
			e[j] = -1
			add(problem.AtMost, nil, e, 0)
		}
	}
	for i, v := range in.RB {
		add(problem.AtMost, of(in.A, i), of(in.B, i), v)
	}
	for i, v := range in.RE {
		add(problem.Equal, of(in.DX, i), of(in.E, i), v)
	}
	rows.A, rows.B = a, b
	f := joint(nx, ny, in.R, in.T, in.S, in.C, in.D)
	g := joint(nx, ny, nil, in.P, in.Q, nil, in.LQ)
	degree := 1
	if in.T != nil || in.R != nil || in.S != nil {
		degree = 2
	}
	p := &problem.Problem{Name: in.name, Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: in.Lo, Hi: in.Hi},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: degree}}
	if in.U != nil {
		p.X.E = sparse.FromDense(len(in.U), nx, slices.Concat(in.U...))
		p.X.Kind, p.X.Rhs = make([]problem.Kind, len(in.U)), in.RU
		for i := range p.X.Kind {
			p.X.Kind[i] = problem.AtMost
		}
	}
	if in.whole {
		p.Integer = slices.Repeat([]bool{true}, nx)
	}
	return p
}
