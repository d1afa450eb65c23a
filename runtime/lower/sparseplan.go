package lower

import (
	"slices"
	"sync"

	"bilevelc/internal/await"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// sparsePlan is what sparse solves of a problem share: how its lower level falls
// apart into pieces that no entry of the Hessian and no row joins, the
// symbolic factorizations of the pieces, and the groups of directions along
// which the Hessian is measured. It depends on patterns and rows alone and is
// immutable.
type sparsePlan struct {
	pattern   *sparse.CSR
	b         *sparse.CSR
	n, m      int
	colouring *linalg.Colouring
	pieces    []*piece
	owner     []int32 // of each entry of y: its piece
	place     []int32 // and its place there
	home      []int32 // of each row: its piece, or -1 for bounds and rows without y
	seat      []int32 // and its place there
	bounded   []int32 // of each row: the entry of y that it bounds, or -1
	threads   int     // that pieces are solved on at a time

	spare sync.Pool // of *pieces
}

// workspace is one that is not in use.
func (pl *sparsePlan) workspace() *pieces {
	if w, ok := pl.spare.Get().(*pieces); ok {
		w.values = nil
		return w
	}
	w := &pieces{}
	w.use(pl)
	return w
}

// piece is a part of the lower level that is solved on its own.
type piece struct {
	program *convex.Program
	entries []int // of y, ascending
	rows    []int // general rows, ascending
	hessian []int // places of its entries in the pattern
}

// newPlan plans the lower level of p, whose pattern is known. Inequality rows on
// one entry of y are bounds; equalities on one are rows like others.
func newSparsePlan(p *problem.Problem, q *polyhedron, threads int) *sparsePlan {
	pl := &sparsePlan{pattern: p.Facts.HessianPattern, b: p.Rows.B, n: p.Dy, m: p.Rows.Len(), threads: threads}
	pl.colouring = linalg.Colour(pl.pattern)
	pl.home, pl.seat, pl.bounded = make([]int32, pl.m), make([]int32, pl.m), make([]int32, pl.m)
	general := func(i int) bool { return q.norm[i] > 0 && (q.bound[i] < 0 || q.equal(i)) }
	for i := range pl.home {
		pl.home[i], pl.bounded[i] = -1, int32(q.bound[i])
		if general(i) {
			pl.bounded[i] = -1
		}
	}
	pl.cut()
	for i := range pl.home {
		if general(i) {
			j, _ := p.Rows.B.First(i)
			k := pl.owner[j]
			pl.home[i], pl.seat[i] = k, int32(len(pl.pieces[k].rows))
			pl.pieces[k].rows = append(pl.pieces[k].rows, i)
		}
	}
	await.Each(len(pl.pieces), threads, func(k int) { pl.build(pl.pieces[k], p, q) })
	return pl
}

// fits reports whether the plan is one for p.
func (pl *sparsePlan) fits(p *problem.Problem) bool {
	return pl != nil && pl.pattern == p.Facts.HessianPattern && pl.b == p.Rows.B && pl.m == p.Rows.Len()
}

// cut deals the connected parts of the entries of y out to pieces.
func (pl *sparsePlan) cut() {
	pl.owner, pl.place = make([]int32, pl.n), make([]int32, pl.n)
	// 64 is the number of entries up to which parts are put together: a piece costs about a microsecond and a kilobyte of its
	// own, as much as a few dozen entries.
	for _, part := range sparse.Apart(pl.pattern, pl.b) {
		last := len(pl.pieces) - 1
		if last < 0 || len(pl.pieces[last].entries) >= 64 {
			pl.pieces = append(pl.pieces, &piece{})
			last++
		}
		pl.pieces[last].entries = append(pl.pieces[last].entries, part...)
	}
	for k, piece := range pl.pieces {
		slices.Sort(piece.entries)
		for a, j := range piece.entries {
			pl.owner[j], pl.place[j] = int32(k), int32(a)
		}
	}
}

// build makes the program of a piece. Rows are scaled to unit norm.
func (pl *sparsePlan) build(s *piece, p *problem.Problem, q *polyhedron) {
	n := len(s.entries)
	h := &sparse.CSR{Rows: n, Cols: n, Ptr: make([]int, n+1)}
	for a, i := range s.entries {
		for t := pl.pattern.Ptr[i]; t < pl.pattern.Ptr[i+1]; t++ {
			h.Col = append(h.Col, int(pl.place[pl.pattern.Col[t]]))
			s.hessian = append(s.hessian, t)
		}
		h.Ptr[a+1] = len(h.Col)
	}
	b := &sparse.CSR{Rows: len(s.rows), Cols: n, Ptr: make([]int, len(s.rows)+1)}
	equal := make([]bool, len(s.rows))
	for a, i := range s.rows {
		for j, v := range p.Rows.B.Nonzeros(i) {
			b.Col, b.Val = append(b.Col, int(pl.place[j])), append(b.Val, v/q.norm[i])
		}
		b.Ptr[a+1] = len(b.Col)
		equal[a] = q.equal(i)
	}
	s.program = convex.NewProgram(h, b, equal)
}

// gather copies the piece's entries of the whole v.
func (s *piece) gather(dst, v []float64) {
	for a, j := range s.entries {
		dst[a] = v[j]
	}
}
