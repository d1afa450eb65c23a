package oracletest

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Case is a problem with what is known of it.
type Case struct {
	*problem.Problem
	Optimum float64 // the least known F
	// Starts is how many random starts find the optimum: 1 where every local
	// minimum is global.
	Starts int
	// Tolerance is the accuracy of Optimum, relative to 1 + |Optimum|.
	Tolerance float64
}

// formulas of a problem with quadratic f and g.
type formulas struct {
	name   string
	dx, dy int
	f, g   func(x, y []float64) float64
	rows   []string
	h      func(x, y []float64) []float64
	x      *problem.Set
	start  []float64
}

func (m formulas) problem() *problem.Problem {
	if m.x == nil {
		m.x = Free(m.dx)
	}
	if m.start == nil {
		m.start = make([]float64, m.dx)
	}
	p := &problem.Problem{Name: m.name, Dx: m.dx, Dy: m.dy, F: FromFormula(m.dx, m.dy, m.f), G: FromFormula(m.dx, m.dy, m.g),
		Rows: RowsFromFormula(m.dx, m.dy, m.rows, m.h), X: m.x, Start: m.start}
	p.Facts.QuadraticInY, p.Facts.FixedHessian = true, true
	p.Facts.EqualityOnly = !p.HasInequalities()
	return p
}

func sq(v float64) float64 { return v * v }

// Quota is testdata/models/quota.blv: equality rows, F is smooth.
func Quota() Case {
	weight, goal := []float64{1, 2, 3, 4}, []float64{4, 1, 3, 5}
	p := formulas{name: "quota", dx: 4, dy: 4,
		f: func(x, y []float64) float64 {
			s := 0.0
			for i := range x {
				s += sq(y[i]-goal[i]) + 0.1*sq(x[i])
			}
			return s
		},
		g: func(x, y []float64) float64 {
			s := 0.0
			for i := range x {
				s += weight[i] * sq(y[i]-x[i])
			}
			return s
		},
		rows: []string{"=budget"},
		h:    func(_, y []float64) []float64 { return []float64{y[0] + y[1] + y[2] + y[3] - 10} },
		x:    Box(4, 0, 10),
	}.problem()
	p.Facts.StrongConvexity, p.Facts.Smoothness = 2, 8
	return Case{p, 4.416452007145, 1, 1e-9}
}

// Bard1988 is testdata/models/bard1988.blv: optimum on the edge of D.
func Bard1988() Case {
	x := Free(1)
	x.Lo[0] = 0
	p := formulas{name: "bard1988", dx: 1, dy: 1,
		f:    func(x, y []float64) float64 { return sq(x[0]-5) + sq(2*y[0]+1) },
		g:    func(x, y []float64) float64 { return sq(y[0]-1) - 1.5*x[0]*y[0] },
		rows: []string{"a", "b", "c", "d"},
		h: func(x, y []float64) []float64 {
			return []float64{3 - 3*x[0] + y[0], x[0] - 0.5*y[0] - 4, x[0] + y[0] - 7, -y[0]}
		},
		x: x, start: []float64{3},
	}.problem()
	p.Facts.StrongConvexity, p.Facts.Smoothness = 2, 2
	return Case{p, 17, 4, 1e-12}
}

// Toll is testdata/models/toll.blv, its revenue negated.
func Toll() Case {
	uses := [][]float64{{1, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0}, {1, 0, 0, 1, 1, 0}, {0, 0, 0, 0, 0, 1}}
	freeTime, slope := []float64{2, 1, 1, 2.5, 0.5, 5}, []float64{0.8, 0.6, 0.6, 0.8, 0.2, 1.2}
	owned := []float64{1, 0, 0, 1, 0, 0}
	flow := func(y []float64) []float64 {
		out := make([]float64, 6)
		for r, row := range uses {
			for a, u := range row {
				out[a] += u * y[r]
			}
		}
		return out
	}
	p := formulas{name: "toll", dx: 6, dy: 4,
		f: func(x, y []float64) float64 {
			s := 0.0
			for a, v := range flow(y) {
				s += 0.05*sq(x[a]) - owned[a]*x[a]*v
			}
			return s
		},
		g: func(x, y []float64) float64 {
			s := 0.0
			for a, v := range flow(y) {
				s += (freeTime[a]+owned[a]*x[a])*v + 0.5*slope[a]*sq(v)
			}
			for _, v := range y {
				s += 0.01 * sq(v)
			}
			return s
		},
		rows: []string{"=travel", "cap1", "cap2", "cap3", "cap4", "lo1", "lo2", "lo3", "lo4"},
		h: func(_, y []float64) []float64 {
			return []float64{y[0] + y[1] + y[2] + y[3] - 6, y[0] - 4.5, y[1] - 4.5, y[2] - 4.5, y[3] - 4.5, -y[0], -y[1], -y[2], -y[3]}
		},
		x: Box(6, 0, 10),
	}.problem()
	return Case{p, -8.952715040395, 1, 1e-9}
}

// Bolib are the public test problems of testdata/models/bolib.
func Bolib() []Case {
	return []Case{
		bard1988Ex2(), calamaiVicente1994b(), deSilva1978(), falkLiu1995(), hatzEtal2013(),
		hendersonQuandt1958(), muuQuy2003Ex1(), outrata1990Ex1a(), sinhaMaloDeb2014TP6(), yezza1996Ex41(),
	}
}

func bard1988Ex2() Case {
	x := Box(4, 0, 0)
	x.Hi = []float64{10, 5, 15, 20}
	x.Kind, x.E, x.Rhs, x.Name = []problem.Kind{problem.AtMost}, sparse.FromDense(1, 4, []float64{1, 1, 1, 1}), []float64{40}, []string{"sum"}
	p := formulas{name: "Bard1988Ex2", dx: 4, dy: 4,
		f: func(_, y []float64) float64 {
			a, b := y[1]+y[3], y[0]+y[2]
			return a*(a-160) + b*(b-200)
		},
		g:    func(_, y []float64) float64 { return sq(y[0]-4) + sq(y[3]-2) + sq(y[1]-13) + sq(y[2]-35) },
		rows: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
		h: func(x, y []float64) []float64 {
			return []float64{
				0.4*y[0] + 0.7*y[1] - x[0], 0.6*y[0] + 0.3*y[1] - x[1],
				0.4*y[2] + 0.7*y[3] - x[2], 0.6*y[2] + 0.3*y[3] - x[3],
				y[0] - 20, y[1] - 20, y[2] - 40, y[3] - 40, -y[0], -y[1], -y[2], -y[3],
			}
		},
		x: x,
	}.problem()
	return Case{p, -6600, 20, 1e-6}
}

func calamaiVicente1994b() Case {
	p := formulas{name: "CalamaiVicente1994b", dx: 4, dy: 2,
		f: func(x, y []float64) float64 {
			return (sq(x[0]-1) + sq(x[1]-1) + sq(x[2]-1) + sq(x[3]-1) + sq(y[0]) + sq(y[1])) / 2
		},
		g:    func(x, y []float64) float64 { return sq(y[0])/2 - x[1]*y[1] - x[0]*y[0] + sq(y[1])/2 },
		rows: []string{"a", "b", "c", "d", "e", "f"},
		h: func(x, y []float64) []float64 {
			return []float64{x[0] - 1 - y[0], x[1] - 1 - y[1], y[0] + x[0] - 1.5, y[1] + x[1] - 3, 1 - x[0] - y[0], 1 - x[1] - y[1]}
		},
	}.problem()
	return Case{p, 0.3125, 20, 1e-6}
}

func clipped(name string, f func(x, y []float64) float64) *problem.Problem {
	return formulas{name: name, dx: 2, dy: 2, f: f,
		g:    func(x, y []float64) float64 { return sq(x[0]-y[0]) + sq(x[1]-y[1]) },
		rows: []string{"a", "b", "c", "d"},
		h:    func(_, y []float64) []float64 { return []float64{0.5 - y[0], 0.5 - y[1], y[0] - 1.5, y[1] - 1.5} },
	}.problem()
}

func deSilva1978() Case {
	return Case{clipped("DeSilva1978", func(x, y []float64) float64 {
		return sq(x[0]-1) + sq(x[1]-1) + sq(y[0]) + sq(y[1]) - 2
	}), -1, 20, 1e-6}
}

func falkLiu1995() Case {
	return Case{clipped("FalkLiu1995", func(x, y []float64) float64 {
		return sq(x[0]-1.5) + sq(x[1]-1.5) + sq(y[0]) + sq(y[1]) - 4.5
	}), -2.25, 20, 1e-6}
}

func hatzEtal2013() Case {
	p := formulas{name: "HatzEtal2013", dx: 1, dy: 2,
		f:    func(x, y []float64) float64 { return 2*y[0] - x[0] + y[1] },
		g:    func(x, y []float64) float64 { return sq(x[0]-y[0]) + sq(y[1]) },
		rows: []string{"a", "b"},
		h:    func(_, y []float64) []float64 { return []float64{-y[0], -y[1]} },
	}.problem()
	return Case{p, 0, 20, 1e-6}
}

func hendersonQuandt1958() Case {
	p := formulas{name: "HendersonQuandt1958", dx: 1, dy: 1,
		f:    func(x, y []float64) float64 { return x[0] * (x[0]/2 + y[0]/2 - 95) },
		g:    func(x, y []float64) float64 { return y[0] * (x[0]/2 + y[0] - 100) },
		rows: []string{"a"},
		h:    func(_, y []float64) []float64 { return []float64{-y[0]} },
		x:    Box(1, 0, 200),
	}.problem()
	// With y = 50 - x/4: F = 3/8 x^2 - 70 x, least at x = 280/3.
	return Case{p, -9800.0 / 3, 20, 1e-9}
}

func muuQuy2003Ex1() Case {
	p := formulas{name: "MuuQuy2003Ex1", dx: 1, dy: 2,
		f: func(x, y []float64) float64 { return sq(x[0]) - 4*x[0] + sq(y[0]) + sq(y[1]) },
		g: func(x, y []float64) float64 {
			return y[0]*y[1] - y[0]*(3*x[0]-1) + y[1]*(x[0]+1) + sq(y[0]) + sq(y[1])/2
		},
		rows: []string{"a", "b", "c"},
		h:    func(x, y []float64) []float64 { return []float64{2*y[0] + y[1] - 2*x[0] - 1, -y[0], -y[1]} },
		x:    Box(1, 0, 2),
	}.problem()
	return Case{p, -27.0 / 13, 20, 1e-5}
}

func outrata1990Ex1a() Case {
	p := formulas{name: "Outrata1990Ex1a", dx: 2, dy: 2,
		f: func(x, y []float64) float64 {
			return sq(y[0]-3)/2 + sq(y[1]-4)/2 + sq(x[0])/10 + sq(x[1])/10 - 12.5
		},
		g: func(x, y []float64) float64 {
			return y[0]*(y[0]-2*y[1])/2 - x[1]*y[1] - x[0]*y[0] - y[1]*(2*y[0]-5*y[1])/2
		},
		rows: []string{"a", "b", "c", "d"},
		h: func(_, y []float64) []float64 {
			return []float64{y[1] - 0.333*y[0] - 2, y[0] - 0.333*y[1] - 2, -y[0], -y[1]}
		},
	}.problem()
	return Case{p, -8.9172, 20, 1e-4}
}

func sinhaMaloDeb2014TP6() Case {
	x := Free(1)
	x.Lo[0] = 0
	p := formulas{name: "SinhaMaloDeb2014TP6", dx: 1, dy: 2,
		f:    func(x, y []float64) float64 { return 2*y[0] - 2*x[0] + sq(x[0]-1) },
		g:    func(x, y []float64) float64 { return x[0]*y[0] + sq(2*y[1]-1) + sq(2*y[0]-4) },
		rows: []string{"a", "b", "c", "d", "e", "f"},
		h: func(x, y []float64) []float64 {
			return []float64{-y[0], -y[1], 5*y[0] + 4*y[1] + 4*x[0] - 12, 4 - 4*x[0] - 5*y[0] + 4*y[1],
				4*x[0] - 4*y[0] + 5*y[1] - 4, 4*y[0] - 4*x[0] + 5*y[1] - 4}
		},
		x: x,
	}.problem()
	return Case{p, -1.20988, 20, 1e-4}
}

func yezza1996Ex41() Case {
	p := formulas{name: "Yezza1996Ex41", dx: 1, dy: 1,
		f:    func(x, y []float64) float64 { return sq(y[0]-x[0]+2)/2 + sq(y[0]-2)/2 },
		g:    func(x, y []float64) float64 { return x[0] - y[0] + sq(y[0])/2 },
		rows: []string{"a", "b"},
		h:    func(x, y []float64) []float64 { return []float64{-y[0], y[0] - x[0]} },
	}.problem()
	return Case{p, 0.5, 20, 1e-9}
}

// Kink is F(x) = |x - 1| + x^2/10 in one variable, as a bilevel problem:
// y = max(0, x - 1), F = 2 y - (x - 1) + x^2/10.
func Kink() Case {
	p := formulas{name: "kink", dx: 1, dy: 1,
		f:    func(x, y []float64) float64 { return 2*y[0] - x[0] + 1 + sq(x[0])/10 },
		g:    func(x, y []float64) float64 { return sq(y[0]-x[0]+1) / 2 },
		rows: []string{"a"},
		h:    func(_, y []float64) []float64 { return []float64{-y[0]} },
		x:    Box(1, -10, 10), start: []float64{math.Pi},
	}.problem()
	p.Facts.StrongConvexity, p.Facts.Smoothness = 1, 1
	return Case{p, 0.1, 1, 1e-12}
}
