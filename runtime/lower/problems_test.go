package lower

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// quadratic is 1/2 y'Qy + x'Py + q'y, with Q symmetric n x n and P dx x n,
// both row-major.
type quadratic struct {
	dx, n   int
	q, p, c []float64
	grad    []float64
}

func newQuadratic(dx, n int, q, p, c []float64) *quadratic {
	return &quadratic{dx: dx, n: n, q: q, p: p, c: c, grad: make([]float64, n)}
}

func (g *quadratic) Clone() problem.Function { return newQuadratic(g.dx, g.n, g.q, g.p, g.c) }

func (g *quadratic) Value(x, y []float64) float64 { return g.ValueGradY(g.grad, x, y) }

func (g *quadratic) GradX(dst, x, y []float64) {
	for i := range dst {
		dst[i] = 0
		if g.p != nil {
			dst[i] = linalg.Dot(g.p[i*g.n:(i+1)*g.n], y)
		}
	}
}

func (g *quadratic) GradY(dst, x, y []float64) { g.ValueGradY(dst, x, y) }

func (g *quadratic) ValueGradY(dst, x, y []float64) float64 {
	value := 0.0
	for i := range dst {
		dst[i] = linalg.Dot(g.q[i*g.n:(i+1)*g.n], y)
		value += dst[i] * y[i] / 2
	}
	for j := range dst {
		linear := 0.0
		if g.c != nil {
			linear = g.c[j]
		}
		for i := 0; g.p != nil && i < g.dx; i++ {
			linear += x[i] * g.p[i*g.n+j]
		}
		dst[j] += linear
		value += linear * y[j]
	}
	return value
}

func (g *quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	g.GradX(dx, x, y)
	return g.ValueGradY(dy, x, y)
}

// zero is the function 0, an f for problems whose upper level does not matter.
type zero struct{}

func (zero) Clone() problem.Function              { return zero{} }
func (zero) Value(x, y []float64) float64         { return 0 }
func (zero) GradX(dst, x, y []float64)            { clear(dst) }
func (zero) GradY(dst, x, y []float64)            { clear(dst) }
func (zero) ValueGradY(d, x, y []float64) float64 { clear(d); return 0 }
func (zero) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	clear(dy)
	return 0
}

// unbounded is X = R^dx.
func unbounded(dx int) *problem.Set {
	s := &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx)}
	for j := range s.Lo {
		s.Lo[j], s.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	return s
}

// rowsOf builds rows of y alone, B y >= r or = r, for dx entries of x.
func rowsOf(dx, n int, b [][]float64, r []float64, equal map[int]bool) *problem.Rows {
	flat := make([]float64, 0, len(b)*n)
	rows := &problem.Rows{A: sparse.FromDense(len(b), dx, make([]float64, len(b)*dx))}
	for i, row := range b {
		flat = append(flat, row...)
		kind := problem.AtMost
		if equal[i] {
			kind = problem.Equal
		}
		rows.Kind = append(rows.Kind, kind)
		rows.Rhs = append(rows.Rhs, -r[i])
		rows.Name = append(rows.Name, "")
	}
	rows.B = sparse.FromDense(len(b), n, flat)
	return rows
}

// reference is a lower solution known exactly.
type reference struct {
	X           []float64 `json:"x"`
	Y           []float64 `json:"y"`
	Multipliers []float64 `json:"multipliers"`
}

// active are the rows with a positive multiplier.
func (r *reference) active() []int {
	var out []int
	for i, l := range r.Multipliers {
		if l > 0 {
			out = append(out, i)
		}
	}
	return out
}

// toy loads an instance of the paper's experiment: g = 1/2 y'(L'L + I)y + x'Py
// subject to A y <= b, and its reference.
func toy(t testing.TB, name string) (*problem.Problem, *reference) {
	t.Helper()
	var d struct {
		Dx, Dy, Dh int
		C, B       []float64
		P, L, A    [][]float64
	}
	read(t, name+".json", &d)
	ref := new(reference)
	read(t, name+".ref.json", ref)
	n := d.Dy
	q := make([]float64, n*n)
	for _, row := range d.L {
		for i, u := range row {
			for j, v := range row {
				q[i*n+j] += u * v
			}
		}
	}
	for i := 0; i < n; i++ {
		q[i*n+i]++
	}
	var p []float64
	for _, row := range d.P {
		p = append(p, row...)
	}
	// A y <= b is h = 0 x - (-A) y - b: B = -A, and r = -b.
	b := make([][]float64, d.Dh)
	r := make([]float64, d.Dh)
	for i, row := range d.A {
		b[i] = make([]float64, n)
		for j, v := range row {
			b[i][j] = -v
		}
		r[i] = -d.B[i]
	}
	return &problem.Problem{Name: name, Dx: d.Dx, Dy: n, F: zero{}, G: newQuadratic(d.Dx, n, q, p, nil),
		Rows: rowsOf(d.Dx, n, b, r, nil), X: unbounded(d.Dx),
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}, ref
}

func read(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// distance is the largest |a_j - b_j|.
func distance(a, b []float64) float64 {
	s := 0.0
	for j := range a {
		s = math.Max(s, math.Abs(a[j]-b[j]))
	}
	return s
}
