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
// every vertex (Dempe and Dutta 2012). Biactive rows that depend on S lead from one to the next, as in the simplex method: the multiplier of one grows until that of a row of S is 0.
func (p *piece) vertex(st *State) bool {
	p.save(st)
	if p.onePiece(st) {
		return false
	}
	if st.Vertices == nil {
		st.Vertices = []Vertex{{slices.Clone(st.Strong), slices.Clone(st.Biactive)}}
	}
	read := map[int]bool{}
	for _, i := range p.p.Duals { // these multipliers are variables of the program, and stay
		if row := p.f.of[i].row; row >= 0 {
			read[row] = true
		}
	}
	for _, r := range p.k {
		u, pivot := p.z.column(r)
		if pivot > tolerance.SolveAccuracy || read[r] {
			continue
		}
		at, length := p.leaving(u, p.side[r])
		if at < 0 || length == 0 || slices.ContainsFunc(p.z.rows, func(s int) bool { return read[s] && u[p.z.at[s]-1] != 0 }) {
			continue
		}
		in, out := Held{r, p.side[r] < 0}, Held{p.z.rows[at], p.side[p.z.rows[at]] < 0}
		next := Vertex{exchanged(st.Strong, out, in), exchanged(st.Biactive, in, out)}
		if slices.ContainsFunc(st.Vertices, func(v Vertex) bool { return slices.Equal(v.Strong, next.Strong) }) {
			continue
		}
		if len(st.Vertices) == tolerance.Branches {
			st.MoreVertices = true
			break
		}
		st.Vertices = append(st.Vertices, next)
	}
	if st.Looked++; st.Looked == len(st.Vertices) {
		st.Looked--
		return false
	}
	st.Strong, st.Biactive = slices.Clone(st.Vertices[st.Looked].Strong), slices.Clone(st.Vertices[st.Looked].Biactive)
	return true
}

// onePiece reports that all vertices are of the piece at hand, which is in st, and that they have been looked at with it then: S makes up all biactive rows that depend on it, with what they ask of x. At another vertex
// the multipliers are those at this one, but for gamma of what leaves S, which a multiple of how the row that enters depends on S makes 0: the signs of the others do not count, and nu of all of these rows is 0.
func (p *piece) onePiece(st *State) bool {
	if slices.ContainsFunc(p.k, p.asks) {
		return false
	}
	if st.Vertices == nil {
		st.Vertices = []Vertex{{slices.Clone(st.Strong), slices.Clone(st.Biactive)}}
	}
	return true
}

// asks reports that row r depends on S in what it asks of y alone: A_r is no A_S'u, where B_r is B_S'u.
func (p *piece) asks(r int) bool {
	u, pivot := p.z.within(r)
	if pivot > tolerance.SolveAccuracy {
		return false
	}
	a, rest, terms := p.p.Rows.A, make([]float64, p.p.Dx), 0.0
	take := func(r int, by float64) {
		by *= p.f.rows[r].unit
		a.AddRow(rest, p.f.rows[r].low, by)
		_, vals := a.Row(p.f.rows[r].low)
		terms += math.Abs(by) * linalg.Norm(vals)
	}
	take(r, 1)
	for k, s := range p.z.parts[p.f.owner[r]].rows {
		if u[k] != 0 {
			take(s, -u[k])
		}
	}
	return linalg.Norm(rest) > rounding*terms
}

// exchanged is a list, by rows, with in in the place of out.
func exchanged(list []Held, out, in Held) []Held {
	next := append(slices.DeleteFunc(slices.Clone(list), func(h Held) bool { return h == out }), in)
	slices.SortFunc(next, func(a, b Held) int { return a.Row - b.Row })
	return next
}

// leaving is the place in S of the row whose multiplier comes to 0 first, as that of a row which depends on S by u grows on the given side, y the same, and how far that grows; -1 where none does.
func (p *piece) leaving(u []float64, side int8) (at int, length float64) {
	at = -1
	for a, r := range p.z.rows {
		if p.f.rows[r].equal {
			continue
		}
		s := float64(p.side[r])
		if fall := s * u[a] * float64(side); fall > rounding {
			if t := max(0, s*p.lambda[r]) / fall; at < 0 || t < length {
				at, length = a, t
			}
		}
	}
	return at, length
}
