package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
)

// class of random programs: name, size, how many.
type class struct {
	kind  string
	n, k  int
	count int
}

var classes = []class{
	{"ll", 5, 0, 8}, {"ll", 10, 0, 8}, {"ll", 20, 0, 8},
	{"ql", 6, 0, 8}, {"ql", 12, 0, 8}, {"ql", 20, 0, 8},
	{"qq", 10, 0, 6}, {"qq", 20, 0, 6},
	{"tl", 6, 2, 8}, {"tl", 8, 3, 6}, {"tq", 6, 2, 8},
	{"pr", 6, 0, 6}, {"pr", 15, 0, 6},
}

// large are programs that other solvers take minutes for.
var large = []class{{"ll", 40, 0, 3}, {"ql", 28, 0, 4}, {"ql", 40, 0, 4}, {"qq", 40, 0, 2}, {"pr", 80, 0, 2}, {"tl", 20, 4, 2}, {"tq", 20, 4, 2}, {"ll", 80, 0, 2}, {"ql", 60, 0, 2}, {"ql", 80, 0, 3}}

// discrete are programs whose leader decides on whole numbers.
var discrete = []class{{"ki", 10, 3, 4}, {"ki", 20, 5, 4}, {"ni", 6, 2, 4}, {"ni", 10, 3, 4}, {"fl", 5, 4, 4}, {"fl", 8, 8, 4}, {"ce", 4, 4, 4}, {"ce", 6, 8, 4}, {"mi", 5, 5, 4}, {"mi", 10, 10, 4}}

// generate writes random programs: linear leader and follower (ll), quadratic follower with a linear (ql) or a quadratic leader (qq), tolls on
// networks without (tl) and with congestion (tq), prices of goods with quadratic demand (pr), those of discrete and blocks.
func generate(dir string, seed uint64, classes []class) {
	must.Do(os.MkdirAll(dir, 0o755))
	for c, class := range classes {
		for k := range class.count {
			rng := rand.New(rand.NewPCG(seed, uint64(1000*c+k)))
			in := one(rng, class.kind, class.n, class.k)
			in.name = fmt.Sprintf("%s%d_%d", class.kind, class.n, k)
			if class.k > 0 {
				in.name = fmt.Sprintf("%s%d_%d_%d", class.kind, class.n, class.k, k)
			}
			in.write(dir)
		}
	}
}

// instance is one program:
//
//	minimize c'x + d'y + x'Ty + 1/2 x'Rx + 1/2 y'Sy over x in [lo, hi], Ux <= u (and x whole),
//	y minimizing 1/2 y'Qy + x'Py + q'y over Ax + By <= b, Ey = e (and y >= 0)
type instance struct {
	name          string
	nonneg, whole bool

	C, D, LQ      []float64 // c, d, q
	T, R, S, Q, P [][]float64
	Lo, Hi        []float64
	A, B          [][]float64
	RB            []float64 // b
	E             [][]float64
	RE            []float64 // e
	U             [][]float64
	RU            []float64 // u
}

func matrix(m, n int, entry func(i, j int) float64) [][]float64 {
	return each.Below(m, func(i int) []float64 {
		return each.Below(n, func(j int) float64 { return entry(i, j) })
	})
}

func vector(n int, entry func(i int) float64) []float64 {
	return each.Below(n, entry)
}

// to rounds to d decimals.
func to(v float64, d int) float64 {
	p := math.Pow(10, float64(d))
	return math.Round(v*p) / p
}

// gram is M'M/n + I, of an n x n matrix of normal entries.
func gram(rng *rand.Rand, n int) [][]float64 {
	m := matrix(n, n, func(int, int) float64 { return rng.NormFloat64() })
	q := matrix(n, n, func(int, int) float64 { return 0 })
	for i := range q {
		for j := range i + 1 {
			s := 0.0
			for k := range m {
				s += m[k][i] * m[k][j]
			}
			if s /= 2 * float64(n); i == j {
				s += 0.5
			}
			q[i][j] = to(s, 3)
			q[j][i] = q[i][j]
		}
	}
	return q
}

func one(rng *rand.Rand, kind string, n, k int) *instance {
	whole := func(a, b int) float64 { return float64(a + rng.IntN(b-a+1)) }
	in := &instance{}
	switch kind {
	case "ll":
		in.nonneg = true
		in.C = vector(n, func(int) float64 { return whole(-5, 5) })
		in.D = vector(n, func(int) float64 { return whole(-8, 8) })
		in.LQ = vector(n, func(int) float64 { return whole(-9, 9) })
		in.Lo, in.Hi = make([]float64, n), vector(n, func(int) float64 { return 10 })
		in.B = matrix(n, n, func(i, j int) float64 {
			if i == 0 {
				return whole(1, 3) // y is bounded
			}
			if rng.Float64() < 0.4 {
				return 0
			}
			return whole(-2, 5)
		})
		in.A = matrix(n, n, func(i, j int) float64 {
			if i == 0 || rng.Float64() < 0.5 {
				return 0
			}
			return whole(-3, 3)
		})
		x, y := vector(n, func(int) float64 { return 10 * rng.Float64() }), vector(n, func(int) float64 { return 3 * rng.Float64() })
		in.RB = vector(n, func(i int) float64 {
			s := 2 + 5*rng.Float64()
			for j := range n {
				s += in.A[i][j]*x[j] + in.B[i][j]*y[j]
			}
			return to(s, 2)
		})
	case "ql":
		nx, m := n/2, n/2
		in.nonneg = true
		normal := func(int) float64 { return to(rng.NormFloat64(), 2) }
		in.C, in.D = vector(nx, normal), vector(n, func(int) float64 { return to(1.5*rng.NormFloat64(), 2) })
		in.Q = gram(rng, n)
		in.P = matrix(nx, n, func(int, int) float64 { return normal(0) })
		in.LQ = vector(n, func(int) float64 { return to(1.5*rng.NormFloat64()-0.5, 2) })
		in.Lo, in.Hi = vector(nx, func(int) float64 { return -2 }), vector(nx, func(int) float64 { return 2 })
		in.B = matrix(m, n, func(int, int) float64 { return to(1.3*rng.Float64()-0.3, 2) })
		in.A = matrix(m, nx, func(int, int) float64 { return to(rng.Float64()-0.5, 2) })
		in.RB = vector(m, func(int) float64 { return to(1.5+3.5*rng.Float64(), 2) })
	case "qq":
		m := n / 5
		diagonal := func(i, j int) float64 {
			if i == j {
				return 0.02
			}
			return 0
		}
		in.R, in.S = matrix(n, n, diagonal), matrix(n, n, diagonal)
		in.D = vector(n, func(int) float64 { return math.Abs(rng.NormFloat64()) })
		half := matrix(n, n, func(int, int) float64 { return rng.Float64() })
		in.Q = matrix(n, n, func(i, j int) float64 {
			s := 0.0
			for k := range n {
				s += half[i][k] * half[j][k]
			}
			if i == j {
				s++
			}
			return s
		})
		in.P = matrix(n, n, func(int, int) float64 { return rng.NormFloat64() })
		in.LQ = make([]float64, n)
		in.Lo, in.Hi = vector(n, func(int) float64 { return -10 }), vector(n, func(int) float64 { return 10 })
		in.B = matrix(m, n, func(int, int) float64 { return rng.Float64() })
		in.RB = vector(m, func(int) float64 { return rng.Float64() })
	case "pr":
		m := max(1, n/5)
		in.nonneg = true
		unit := func(v float64) [][]float64 {
			return matrix(n, n, func(i, j int) float64 {
				if i == j {
					return v
				}
				return 0
			})
		}
		in.T, in.P = unit(-1), unit(1)
		in.D = vector(n, func(int) float64 { return to(0.5+2.5*rng.Float64(), 2) })
		in.Q = matrix(n, n, func(int, int) float64 { return 0 })
		for i := range n {
			in.Q[i][i] = to(1+rng.Float64(), 3)
			for j := range i {
				in.Q[i][j] = to(rng.Float64()/float64(n), 3)
				in.Q[j][i] = in.Q[i][j]
			}
		}
		in.LQ = vector(n, func(int) float64 { return -to(3+5*rng.Float64(), 2) })
		in.Lo, in.Hi = make([]float64, n), vector(n, func(int) float64 { return 8 })
		in.B = matrix(m, n, func(int, int) float64 { return whole(0, 1) })
		in.RB = vector(m, func(int) float64 { return to(2+4*rng.Float64(), 2) })
	case "ki", "ni", "fl", "ce", "mi":
		in.discrete(rng, kind, n, k)
	case "bl", "bu":
		in.blocked(rng, n, kind == "bu")
	default:
		in.network(rng, kind == "tq", n, k, whole)
	}
	return in
}

// network is a graph of n nodes with k commodities: a cycle and n more arcs, tolls on four of them, and an arc without toll a
// commodity, at more than any path without tolls costs.
func (in *instance) network(rng *rand.Rand, congested bool, n, k int, whole func(a, b int) float64) {
	type arc struct{ from, to int }
	var arcs []arc
	for i := range n {
		arcs = append(arcs, arc{i, (i + 1) % n})
	}
	for len(arcs) < 2*n {
		if a := (arc{rng.IntN(n), rng.IntN(n)}); a.from != a.to {
			arcs = append(arcs, a)
		}
	}
	one := len(arcs) + 1 // columns a commodity
	ny, tolls := k*one, 4
	in.nonneg = true
	in.Lo, in.Hi = make([]float64, tolls), vector(tolls, func(int) float64 { return 25 })
	in.P = matrix(tolls, ny, func(int, int) float64 { return 0 })
	in.T = matrix(tolls, ny, func(int, int) float64 { return 0 })
	in.LQ = make([]float64, ny)
	cost := vector(len(arcs), func(int) float64 { return whole(2, 19) })
	tolled := rng.Perm(len(arcs))[:tolls]
	in.E = matrix(k*n, ny, func(int, int) float64 { return 0 })
	in.RE = make([]float64, k*n)
	for c := range k {
		for j, a := range arcs {
			col := c*one + j
			in.E[c*n+a.from][col], in.E[c*n+a.to][col] = 1, -1
			in.LQ[col] = cost[j]
			for t, at := range tolled {
				if at == j {
					in.P[t][col], in.T[t][col] = 1, -1
				}
			}
		}
		from := rng.IntN(n)
		to := (from + 1 + rng.IntN(n-1)) % n
		demand := whole(2, 5)
		in.RE[c*n+from], in.RE[c*n+to] = demand, -demand
		in.E[c*n+from][c*one+one-1], in.E[c*n+to][c*one+one-1] = 1, -1
		in.LQ[c*one+one-1] = 20 + 15*rng.Float64()
	}
	// The balance at the last node of a commodity follows from the others.
	var rows [][]float64
	var sides []float64
	for i, row := range in.E {
		if i%n != n-1 {
			rows, sides = append(rows, row), append(sides, in.RE[i])
		}
	}
	in.E, in.RE = rows, sides
	if congested {
		in.Q = matrix(ny, ny, func(i, j int) float64 {
			if i == j {
				return 0.5
			}
			return 0
		})
	}
}

// write writes the data and the model.
func (in *instance) write(dir string) {
	data := map[string]any{"q": in.LQ, "lo": in.Lo, "hi": in.Hi}
	var decl, f, g []string
	term := func(name string, there bool, v any, kind, text string, to *[]string) {
		if there {
			data[name] = v
			decl = append(decl, fmt.Sprintf("data %s: %s", name, kind))
			*to = append(*to, text)
		}
	}
	domain, upper := "box(lo, hi)", ""
	if in.whole {
		domain = "integer in " + domain
	} else {
		domain = "in " + domain
	}
	if in.U != nil {
		decl = append(decl, fmt.Sprintf("param h: int = %d\ndata U: matrix[h, nx]\ndata u: vector[h]", len(in.RU)))
		data["U"], data["u"] = in.U, in.RU
		upper = "  subject to\n    budget: U * x <= u\n"
	}
	term("c", in.C != nil, in.C, "vector[nx]", "c' * x", &f)
	term("d", in.D != nil, in.D, "vector[ny]", "d' * y", &f)
	term("T", in.T != nil, in.T, "matrix[nx, ny]", "x' * T * y", &f)
	term("R", in.R != nil, in.R, "matrix[nx, nx]", "0.5 * quad(R, x)", &f)
	term("S", in.S != nil, in.S, "matrix[ny, ny]", "0.5 * quad(S, y)", &f)
	term("Q", in.Q != nil, in.Q, "matrix[ny, ny]", "0.5 * quad(Q, y)", &g)
	term("P", in.P != nil, in.P, "matrix[nx, ny]", "x' * P * y", &g)
	term("q", true, in.LQ, "vector[ny]", "q' * y", &g)
	rows := ""
	if in.B != nil {
		decl = append(decl, fmt.Sprintf("param m: int = %d\ndata B: matrix[m, ny]\ndata b: vector[m]", len(in.RB)))
		data["B"], data["b"] = in.B, in.RB
		rows += "    rows: "
		if in.A != nil {
			decl = append(decl, "data A: matrix[m, nx]")
			data["A"] = in.A
			rows += "A * x + "
		}
		rows += "B * y <= b\n"
	}
	if in.E != nil {
		decl = append(decl, fmt.Sprintf("param k: int = %d\ndata E: matrix[k, ny]\ndata e: vector[k]", len(in.RE)))
		data["E"], data["e"] = in.E, in.RE
		rows += "    eqs: "
		rows += "E * y == e\n"
	}
	sign := ""
	if in.nonneg {
		sign = " in nonneg"
	}
	ties := ""
	if in.Q == nil {
		ties = "solve { ties = optimistic }\n"
	}
	model := fmt.Sprintf("model %s\nparam nx: int = %d\nparam ny: int = %d\n%s\ndata lo: vector[nx]\ndata hi: vector[nx]\nupper {\n  var x: vector[nx] %s\n  minimize %s\n%s}\n"+
		"lower {\n  var y: vector[ny]%s\n  minimize %s\n  subject to\n%s}\n%s",
		in.name, len(in.Lo), len(in.LQ), strings.Join(decl, "\n"), domain, strings.Join(f, " + "), upper, sign, strings.Join(g, " + "), rows, ties)
	must.Do(os.WriteFile(filepath.Join(dir, in.name+".json"), must.Get(json.Marshal(data)), 0o644))
	must.Do(os.WriteFile(filepath.Join(dir, in.name+".blv"), []byte(model), 0o644))
}
