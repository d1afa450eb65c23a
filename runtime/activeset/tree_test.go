package activeset_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// bilevel is a linear or convex quadratic follower,
//
//	min over y of x'P y + 1/2 y'Q y + q'y  subject to  A x + B y <= b, D x + E y = e [, y >= 0],
//
// and the leader c'x + d'y + 1/2 x'R x + 1/2 y'S y [+ x'T y, T = -P] on a box.
type bilevel struct {
	C, D0                  []float64 `json:"-"`
	Lo, Hi, Q0, B0, E0     []float64 `json:"-"`
	A, B, D, E, P, Q, R, S *sparse.CSR
	T                      bool
	Nonneg                 bool
}

func loadBilevel(t *testing.T, path string) *bilevel {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	vector := func(key string) (v []float64) {
		if raw[key] != nil {
			if err := json.Unmarshal(raw[key], &v); err != nil {
				t.Fatal(err)
			}
		}
		return v
	}
	b := &bilevel{Lo: vector("lo"), Hi: vector("hi"), Q0: vector("q"), B0: vector("b"), E0: vector("e"), C: vector("c"), D0: vector("d")}
	nx, ny := len(b.Lo), len(b.Q0)
	matrix := func(key string, r, c int) *sparse.CSR {
		m := sparse.Empty(c)
		var rows [][]float64
		if raw[key] != nil {
			if err := json.Unmarshal(raw[key], &rows); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < r; i++ {
			if i < len(rows) {
				for j, v := range rows[i] {
					if v != 0 {
						m.Append(j, v)
					}
				}
			}
			m.EndRow()
		}
		return m
	}
	if b.C == nil {
		b.C = make([]float64, nx)
	}
	if b.D0 == nil {
		b.D0 = make([]float64, ny)
	}
	m, k := len(b.B0), len(b.E0)
	b.A, b.B, b.D, b.E = matrix("A", m, nx), matrix("B", m, ny), matrix("D", k, nx), matrix("E", k, ny)
	b.P, b.Q, b.R, b.S = matrix("P", nx, ny), matrix("Q", ny, ny), matrix("R", nx, nx), matrix("S", ny, ny)
	b.T = matrix("T", nx, ny).NNZ() > 0
	model, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".blv")
	if err != nil {
		t.Fatal(err)
	}
	b.Nonneg = strings.Contains(string(model), "in nonneg")
	return b
}

// relaxation is the follower's KKT system without its products, and the pairs
// of variables of which one is 0, in the order x, y, s, l, mu, n.
func (b *bilevel) relaxation() (*activeset.Program, [][2]int) {
	nx, ny, m, k := len(b.Lo), len(b.Q0), len(b.B0), len(b.E0)
	y, s, l, mu, n := nx, nx+ny, nx+ny+m, nx+ny+2*m, nx+2*ny+2*m
	p := &activeset.Program{N: n + k}
	p.C = make([]float64, p.N)
	copy(p.C, b.C)
	copy(p.C[y:], b.D0)
	var h, a []sparse.Entry
	block := func(to *[]sparse.Entry, row, col int, w float64, m *sparse.CSR, transposed bool) {
		for i := 0; i < m.Rows; i++ {
			cols, vals := m.Row(i)
			for t, j := range cols {
				if transposed {
					*to = append(*to, sparse.Entry{Row: row + j, Col: col + i, Val: w * vals[t]})
				} else {
					*to = append(*to, sparse.Entry{Row: row + i, Col: col + j, Val: w * vals[t]})
				}
			}
		}
	}
	unit := func(row, col, size int, v float64) {
		for i := range size {
			a = append(a, sparse.Entry{Row: row + i, Col: col + i, Val: v})
		}
	}
	block(&h, 0, 0, 1, b.R, false)
	block(&h, y, y, 1, b.S, false)
	if b.T {
		for j, v := range b.Q0 {
			p.C[y+j] += v
		}
		for i, v := range b.B0 {
			p.C[l+i] += v
		}
		for i, v := range b.E0 {
			p.C[n+i] += v
		}
		block(&h, y, y, 2, b.Q, false)
	}
	block(&a, 0, 0, 1, b.A, false)
	block(&a, 0, y, 1, b.B, false)
	unit(0, s, m, 1)
	block(&a, m, 0, 1, b.D, false)
	block(&a, m, y, 1, b.E, false)
	block(&a, m+k, 0, 1, b.P, true)
	block(&a, m+k, y, 1, b.Q, false)
	block(&a, m+k, l, 1, b.B, true)
	block(&a, m+k, n, 1, b.E, true)
	p.RowLo = append(append(append([]float64{}, b.B0...), b.E0...), b.Q0...)
	for j := range b.Q0 {
		p.RowLo[m+k+j] *= -1
	}
	p.RowHi = p.RowLo
	for j := range p.N {
		lo, hi := 0.0, inf
		switch {
		case j < nx:
			lo, hi = b.Lo[j], b.Hi[j]
		case j < s && !b.Nonneg, j >= n:
			lo = -inf
		case j >= mu && j < n && !b.Nonneg:
			hi = 0
		}
		p.Lo, p.Hi = append(p.Lo, lo), append(p.Hi, hi)
	}
	var pairs [][2]int
	for i := range m {
		pairs = append(pairs, [2]int{s + i, l + i})
	}
	if b.Nonneg {
		unit(m+k, mu, ny, -1)
		for j := range ny {
			pairs = append(pairs, [2]int{y + j, mu + j})
		}
	}
	p.A = sparse.FromEntries(m+k+ny, p.N, a)
	if len(h) > 0 {
		p.Q = sparse.FromEntries(p.N, p.N, h)
	}
	return p, pairs
}

type treeNode struct {
	bound float64
	fixed []int
	warm  *activeset.Basis
}

type treeResult struct {
	best              float64
	nodes, iterations int
	proved            bool
	failed            int
}

// branch is depth-first branch and bound over the pairs: the larger of the two
// is fixed last.
func branch(t *testing.T, p *activeset.Program, pairs [][2]int, limit int, gap float64, each func(b *activeset.Bounds, s *activeset.Solution)) treeResult {
	s, err := activeset.New(p)
	if err != nil {
		t.Fatal(err)
	}
	r := treeResult{best: inf}
	stack := []treeNode{{bound: -inf}}
	for len(stack) > 0 && r.nodes < limit {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		cutoff := r.best - gap*max(1, math.Abs(r.best))
		if node.bound >= cutoff {
			continue
		}
		r.nodes++
		b := cloneBounds(&p.Bounds)
		for _, v := range node.fixed {
			b.Hi[v] = 0
		}
		if math.IsInf(r.best, 1) {
			cutoff = inf
		}
		got := s.Solve(context.Background(), b, node.warm, activeset.Options{Cutoff: new(cutoff)})
		r.iterations += got.Iterations
		each(b, got)
		next, bound := [2]int{-1, -1}, node.bound
		switch got.Status {
		case activeset.Infeasible, activeset.CutOff:
			continue
		case activeset.Optimal:
			bound = got.Value
			if bound >= cutoff {
				continue
			}
			most := 1e-7
			score := 0.0
			for _, q := range pairs {
				u, v := got.Z[q[0]], got.Z[q[1]]
				if v > u {
					u, v, q = v, u, [2]int{q[1], q[0]}
				}
				most = max(most, v)
				if w := u * v / (1e-9 + u); v > 1e-7 && w > score {
					next, score = q, w
				}
			}
			if next[0] < 0 {
				r.best = bound
				continue
			}
		case activeset.Unbounded:
			for _, q := range pairs {
				if b.Hi[q[0]] != 0 && b.Hi[q[1]] != 0 {
					next = q
					break
				}
			}
			if next[0] < 0 {
				r.best = -inf
				return r
			}
		default:
			r.failed++
			continue
		}
		for _, v := range next {
			fixed := append(append([]int{}, node.fixed...), v)
			stack = append(stack, treeNode{bound, fixed, got.Basis})
		}
	}
	r.proved = len(stack) == 0 && r.failed == 0
	return r
}

// The optima of programs that another solver has proved.
func TestTreesOfKnownPrograms(t *testing.T) {
	folder := ""
	for _, f := range []string{"../../../shared/global", "../../../../shared/global"} {
		if _, err := os.Stat(f); err == nil {
			folder = f
		}
	}
	if folder == "" {
		t.Skip("the programs are not here")
	}
	text, err := os.ReadFile(filepath.Join(folder, "optima.json"))
	if err != nil {
		t.Fatal(err)
	}
	optima := map[string]float64{}
	if err := json.Unmarshal(text, &optima); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range optima {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p, pairs := loadBilevel(t, filepath.Join(folder, name+".json")).relaxation()
		start := time.Now()
		kinds := map[activeset.Status]int{}
		var spent time.Duration
		r := branch(t, p, pairs, 100000, 1e-6, func(b *activeset.Bounds, s *activeset.Solution) {
			kinds[s.Status]++
			if s.Status == activeset.CutOff || testing.Short() {
				return
			}
			begin := time.Now()
			if err := verify(p, b, s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			spent += time.Since(begin)
		})
		took := time.Since(start) - spent
		t.Logf("%s: N %d M %d, F %.8g, %d nodes, %.1f pivots and %.0f us each, %v, %v", name, p.N, len(p.RowLo), r.best, r.nodes,
			float64(r.iterations)/float64(r.nodes), float64(took.Microseconds())/float64(r.nodes), took.Round(time.Millisecond), kinds)
		if !r.proved || math.Abs(r.best-optima[name]) > 1e-5*max(1, math.Abs(optima[name])) {
			t.Errorf("%s: %g, proved %v, known %g", name, r.best, r.proved, optima[name])
		}
	}
}
