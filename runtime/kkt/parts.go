package kkt

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Part is one of the parts that a system falls into: a system of its own, and what f is there. P holds what its rows and boxes are made from, and f, without g; rows of X, of its
// extended formulation and coupled constraints keep their numbers in the whole, as their Origin has them.
type Part struct {
	*System
	// Cols are the columns of the whole, ascending: entries of x, of y, multipliers of rows of the lower level, further variables of X.
	Cols   []int
	PairAt []int // the numbers of its pairs in the whole
}

// Parts are the parts of a system whose f is quadratic: classes of columns that rows, products of f and curved constraints of the leader join, so that the system's set is the product of
// those of its parts, and f the sum of theirs; its constant is that of the first. Columns on which nothing is branched, those without pairs and whole numbers where f is convex, belong to the first of the others. A system that is in one piece is its only part itself.
func (s *System) Parts() []Part {
	classes, branched, curvedColumn := s.branched()
	for j := range s.N {
		if of := classes.Of(j); branched[of] && !branched[classes.Of(s.N)] {
			classes.Join(of, s.N)
		}
	}
	for j := range s.N {
		if !branched[classes.Of(j)] {
			classes.Join(s.N, j)
		}
	}
	return s.partition(classes, curvedColumn)
}

// Branched are the two parts of a system that Parts would go on to part: the columns on which a search branches, and all others; nil for a part without columns.
func (s *System) Branched() (searched, others *Part) {
	classes, branched, curvedColumn := s.branched()
	first := [2]int{-1, -1} // a column of each
	kind := each.Below(s.N, func(j int) int {
		if branched[classes.Of(j)] {
			return 0
		}
		return 1
	})
	for j, k := range kind {
		if first[k] < 0 {
			first[k] = j
		}
		classes.Join(first[k], j)
	}
	parts := s.partition(classes, curvedColumn)
	for k := range parts {
		if kind[parts[k].Cols[0]] == 0 {
			searched = &parts[k]
		} else {
			others = &parts[k]
		}
	}
	return searched, others
}

// branched are the classes of columns that are joined, with one more for columns without branches, and of each class, by its number, whether a search branches on one of its columns.
func (s *System) branched() (classes sparse.Classes, branched []bool, curvedColumn []int) {
	classes, curvedColumn = s.joined()
	branched = make([]bool, s.N+1)
	for _, p := range s.Pairs {
		branched[classes.Of(p.Mult.Var)] = true
	}
	for j := range s.N {
		if h := s.Objective.Hess; h != nil && !s.Objective.Convex {
			_, vals := h.Row(j)
			branched[classes.Of(j)] = branched[classes.Of(j)] || nonzero(vals)
		}
		if j < len(s.P.Integer) && s.P.Integer[j] {
			branched[classes.Of(j)] = true
		}
	}
	return classes, branched, curvedColumn
}

// partition makes the parts of classes of columns that nothing joins.
func (s *System) partition(classes sparse.Classes, curvedColumn []int) []Part {
	out := each.Of(classes.Members(s.N), func(members []int) Part { return Part{Cols: members} })
	if len(out) == 1 {
		pairs := each.Number(len(s.Pairs))
		out[0].System, out[0].PairAt = s, pairs
		return out
	}
	of, _ := classes.Number(s.N)
	for k := range out {
		s.restrict(&out[k], k, of, curvedColumn)
	}
	return out
}

// RowClasses are the classes of columns that rows of the relaxation join, and with them those of pairs; with one more for columns without branches.
func (s *System) RowClasses() sparse.Classes {
	classes := sparse.NewClasses(s.N + 1)
	for r, o := range s.Origin { // the stationarity row of an entry of y has the multipliers of its bounds
		classes.JoinRow(s.Relaxation.A, r, s.anchor(o))
	}
	return classes
}

// joined are RowClasses, joined by products of f where it was read and by curved constraints; curvedColumn is a column of each curved constraint, 0 where it reads none.
func (s *System) joined() (classes sparse.Classes, curvedColumn []int) {
	classes = s.RowClasses()
	if o := s.Objective; o != nil && o.Hess != nil {
		for i := range s.N {
			classes.JoinRow(o.Hess, i, i)
		}
	}
	curvedColumn = make([]int, len(s.Curved))
	for k := range s.Curved {
		c, to := &s.Curved[k], -1
		for j, v := range c.Lin {
			if _, vals := c.Hess.Row(j); v != 0 || nonzero(vals) {
				if to < 0 {
					to = j
				}
				classes.Join(to, j)
				classes.JoinRow(c.Hess, j, to)
			}
		}
		curvedColumn[k] = max(0, to)
	}
	return classes, curvedColumn
}

// Widest is the size of the largest class of unknowns and multipliers that rows, and products of f where it was read, join.
func (s *System) Widest() (most int) {
	classes, _ := s.joined()
	for _, members := range classes.Members(s.N) {
		most = max(most, len(members))
	}
	return most
}

// anchor is the column that a row of the relaxation is of; -1 where it is of those that it reads alone.
func (s *System) anchor(o Origin) int {
	switch o.Kind {
	case Stationarity, HeldForce:
		return s.Nx + o.Index
	case LowerRow:
		return s.Nx + s.Ny + o.Index
	}
	return -1
}

// restrict makes part k of the system; of is the part of each column, and curvedColumn a column of each curved constraint.
func (s *System) restrict(p *Part, k int, of, curvedColumn []int) {
	place := slices.Repeat([]int{-1}, s.N) // of the part's columns among themselves
	lambda := s.Nx + s.Ny
	var x, y, rows []int
	for at, j := range p.Cols {
		place[j] = at
		switch {
		case j < s.Nx:
			x = append(x, j)
		case j < lambda:
			y = append(y, j-s.Nx)
		case j < lambda+s.M:
			rows = append(rows, j-lambda)
		}
	}
	out := &System{Nx: len(x), Ny: len(y), M: len(rows), N: len(p.Cols), ColScale: linalg.Gather(s.ColScale, p.Cols), Q: linalg.Gather(s.Q, y)}
	p.System = out
	placeY, placeX := shifted(place[s.Nx:lambda], out.Nx), place[:s.Nx]
	out.H, out.G = s.H.Part(y, placeY, out.Ny), s.G.Part(y, placeX, out.Nx)

	var kept []int // rows of the relaxation
	rowAt := make([]int, len(s.Origin))
	for r, o := range s.Origin {
		at := s.anchor(o)
		if at < 0 {
			at, _ = s.Relaxation.A.First(r)
		}
		if at >= 0 && of[at] != k || at < 0 && k > 0 { // a row without entries is the first part's
			continue
		}
		rowAt[r] = len(kept)
		kept = append(kept, r)
		switch o.Kind {
		case Stationarity, HeldForce:
			o.Index = placeY[o.Index]
		case LowerRow:
			o.Index = place[lambda+o.Index] - out.Nx - out.Ny
		}
		out.Origin = append(out.Origin, o)
	}
	from := s.Relaxation
	out.RowScale = linalg.Gather(s.RowScale, kept)
	out.Relaxation = &activeset.Program{N: out.N, C: make([]float64, out.N), A: from.A.Part(kept, place, out.N), Bounds: activeset.Bounds{
		RowLo: linalg.Gather(from.RowLo, kept), RowHi: linalg.Gather(from.RowHi, kept), Lo: linalg.Gather(from.Lo, p.Cols), Hi: linalg.Gather(from.Hi, p.Cols)}}
	side := func(d Side) Side {
		if d.Var >= 0 {
			d.Var = place[d.Var]
		} else {
			d.Row = rowAt[d.Row]
		}
		return d
	}
	for n, pair := range s.Pairs {
		if of[pair.Mult.Var] == k {
			p.PairAt = append(p.PairAt, n)
			out.Pairs = append(out.Pairs, Pair{place[lambda+pair.Row] - out.Nx - out.Ny, side(pair.Slack), side(pair.Mult)})
		}
	}
	quadratic := func(q *sparse.Quadratic) sparse.Quadratic {
		r := sparse.Quadratic{Lin: linalg.Gather(q.Lin, p.Cols), Const: q.Const}
		if q.Hess != nil {
			r.Hess = q.Hess.Part(p.Cols, place, out.N)
		}
		return r
	}
	for n, c := range s.Curved {
		if of[curvedColumn[n]] == k {
			c.Quadratic = quadratic(&c.Quadratic)
			out.Curved = append(out.Curved, c)
		}
	}
	// What relaxations do not say: rows of the lower level, the box of x, and which of its entries are whole.
	whole := s.P
	set := problem.Set{Lo: whole.X.Lo, Hi: whole.X.Hi, Kind: whole.X.Kind, Rhs: whole.X.Rhs} // rows of other parts are empty
	if whole.X.E != nil {
		set.E = whole.X.E.Part(each.Number(len(set.Kind)), placeX, out.Nx)
	}
	out.P = &problem.Problem{Name: whole.Name, Dx: out.Nx, Dy: out.Ny, X: &set, Coupled: whole.Coupled, Facts: whole.Facts, Rows: &problem.Rows{
		Kind: linalg.Gather(whole.Rows.Kind, rows), A: whole.Rows.A.Part(rows, placeX, out.Nx), B: whole.Rows.B.Part(rows, placeY, out.Ny), Rhs: linalg.Gather(whole.Rows.Rhs, rows)}}
	if set.Lo != nil {
		set.Lo, set.Hi = linalg.Gather(set.Lo, x), linalg.Gather(set.Hi, x)
	}
	if whole.Integer != nil {
		out.P.Integer = linalg.Gather(whole.Integer, x)
	}
	for _, i := range whole.Duals {
		if at := place[lambda+i]; at >= 0 {
			out.P.Duals = append(out.P.Duals, at-out.Nx-out.Ny)
		}
	}
	for _, j := range y {
		if j >= s.Ny-whole.Hidden {
			out.P.Hidden++
		}
	}
	if whole.Loose != nil {
		out.P.Loose = linalg.Gather(whole.Loose, y)
	}
	out.fixed = linalg.Gather(s.fixed, x)
	out.connect()
	f := quadratic(&s.Objective.Quadratic)
	if k != 0 {
		f.Const = 0
	}
	if f.Hess != nil && f.Hess.NNZ() == 0 {
		f.Hess = nil
	}
	out.Objective = &Objective{Known: true, Quadratic: f}
	out.convexify(out.Objective)
	out.P.F = out.partObjective(&f)
}

// shifted is the places less n; those that are none stay so.
func shifted(places []int, n int) []int {
	out := slices.Clone(places)
	for j, at := range out {
		out[j] = max(-1, at-n)
	}
	return out
}
