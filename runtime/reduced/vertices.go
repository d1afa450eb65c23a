package reduced

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Vertex is one of the vertices of the follower's multipliers at a point: the rows S on which they are not 0, and the biactive rows.
type Vertex struct{ Strong, Biactive []Held }

// vertex leads to the next vertex of the follower's multipliers at a point where F falls from none of those before; false where there is none. A bilevel program is at a local solution only if its system is so with
// every vertex (Dempe and Dutta 2012).
func (p *piece) vertex(st *State) bool {
	p.save(st)
	if p.onePiece(st) {
		return false
	}
	if st.Vertices == nil {
		st.Vertices = []Vertex{{slices.Clone(st.Strong), slices.Clone(st.Biactive)}}
	}
	p.adjacent(st)
	p.load(st)
	if st.Looked++; st.Looked == len(st.Vertices) {
		st.Looked--
		return false
	}
	st.Strong, st.Biactive = slices.Clone(st.Vertices[st.Looked].Strong), slices.Clone(st.Vertices[st.Looked].Biactive)
	return true
}

// complete takes biactive rows into S, with multipliers of 0, as long as they do not depend on it: S is a basis of the rows that hold then.
func (p *piece) complete() {
	for _, r := range p.k {
		if u, pivot := p.z.column(r); pivot > tolerance.SolveAccuracy {
			p.z.add(r, u, pivot)
		}
	}
}

// adjacent adds the vertices next to the one at hand, as the simplex method comes to them: the multiplier of a biactive row grows until that of a row of the basis is 0. Where that is 0 already it is another basis
// of the same vertex.
func (p *piece) adjacent(st *State) {
	read := map[int]bool{}
	for _, i := range p.p.Duals { // these multipliers are variables of the program, and stay
		if row := p.f.of[i].row; row >= 0 {
			read[row] = true
		}
	}
	p.complete()
	basis := func() []int { return slices.Sorted(slices.Values(p.z.rows)) }
	bases := [][]int{basis()}
	for b := 0; b < len(bases); b++ {
		p.z.set(bases[b])
		for _, r := range p.k {
			if p.z.has(r) || read[r] {
				continue
			}
			u, _ := p.z.column(r)
			out, length := p.leaving(r, u, p.side[r])
			if out < 0 || slices.ContainsFunc(p.movesWith(r, u, 0), func(s int) bool { return read[s] }) {
				continue
			}
			if length == 0 {
				next := basis()
				next[slices.Index(next, out)] = r
				slices.Sort(next)
				switch known := slices.ContainsFunc(bases, func(b []int) bool { return slices.Equal(b, next) }); {
				case !known && len(bases) == tolerance.Branches:
					st.MoreVertices = true
				case !known:
					bases = append(bases, next)
				}
				continue
			}
			next := p.exchanged(r, out, u)
			if slices.ContainsFunc(st.Vertices, func(v Vertex) bool { return slices.Equal(v.Strong, next.Strong) }) {
				continue
			}
			if len(st.Vertices) == tolerance.Branches {
				st.MoreVertices = true
				return
			}
			st.Vertices = append(st.Vertices, next)
		}
	}
}

// onePiece reports that all vertices are of the piece at hand, which is in st, and that they have been looked at with it then: where a combination of the rows that hold is 0, so is what they ask of x. Slacks that
// open beside another vertex do not add up to 0 but for those of rows that it leaves out, so that y moves there as beside this one, with multipliers that differ by that combination.
func (p *piece) onePiece(st *State) bool {
	p.complete()
	one := !slices.ContainsFunc(p.k, p.asks)
	p.load(st)
	if one && st.Vertices == nil {
		st.Vertices = []Vertex{{slices.Clone(st.Strong), slices.Clone(st.Biactive)}}
	}
	return one
}

// asks reports that row r, which depends on S, does so in what it asks of y alone: A_r is no A_S'u, where B_r is B_S'u.
func (p *piece) asks(r int) bool {
	if p.z.has(r) {
		return false
	}
	u, _ := p.z.column(r)
	a, rest, terms := p.p.Rows.A, make([]float64, p.p.Dx), 0.0
	take := func(r int, by float64) {
		by *= p.f.rows[r].unit
		a.AddRow(rest, p.f.rows[r].low, by)
		_, vals := a.Row(p.f.rows[r].low)
		terms += math.Abs(by) * linalg.Norm(vals)
	}
	take(r, 1)
	for k, s := range p.z.beside(r) {
		if u[k] != 0 {
			take(s, -u[k])
		}
	}
	return linalg.Norm(rest) > rounding*terms
}

// movesWith are the rows of S whose multipliers move with that of row r, which depends on S by u, by more than a part of it.
func (p *piece) movesWith(r int, u []float64, part float64) (rows []int) {
	for a, s := range p.z.beside(r) {
		if math.Abs(u[a]) > part {
			rows = append(rows, s)
		}
	}
	return rows
}

// exchanged is the vertex at which the multiplier of row in, which depends on the basis by u, has made that of row out 0. Others of biactive rows in the basis have grown where they move with it.
func (p *piece) exchanged(in, out int, u []float64) (v Vertex) {
	moved := p.movesWith(in, u, rounding)
	for r, side := range p.side {
		if side == 0 || p.f.rows[r].equal {
			continue
		}
		h := Held{r, side < 0}
		if r == in || p.z.has(r) && r != out && (!p.inK[r] || slices.Contains(moved, r)) {
			v.Strong = append(v.Strong, h)
		} else {
			v.Biactive = append(v.Biactive, h)
		}
	}
	return v
}

// leaving is the row of S whose multiplier comes to 0 first, as that of row in, which depends on S by u, grows on the given side, y the same, and how far that grows; -1 where none does.
func (p *piece) leaving(in int, u []float64, side int8) (out int, length float64) {
	out = -1
	for a, r := range p.z.beside(in) {
		if p.f.rows[r].equal {
			continue
		}
		s := float64(p.side[r])
		if fall := s * u[a] * float64(side); fall > rounding {
			if t := max(0, s*p.lambda[r]) / fall; out < 0 || t < length {
				out, length = r, t
			}
		}
	}
	return out, length
}
