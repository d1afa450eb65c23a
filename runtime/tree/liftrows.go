package tree

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/tolerance"
)

// assemble appends columns and rows to the program of s.
func (l *lift) assemble(s *search) {
	from := s.prog
	n := from.N + len(l.cols) + 2*len(l.slopes)
	inf := math.Inf(1)
	prog := &activeset.Program{N: n, C: make([]float64, n), Q: wider(from.Q, n)}
	copy(prog.C, from.C)
	for k := range l.cols {
		of := &l.cols[k]
		if on, at := of.onColumn(); of.ofF {
			prog.C[from.N+k] = on * of.scale
			prog.C[of.Entry] += at * s.sys.ColScale[of.Entry]
		}
	}
	prog.A = from.A.Clone()
	prog.A.Cols = n
	b := &prog.Bounds
	b.RowLo, b.RowHi = append(b.RowLo, from.RowLo...), append(b.RowHi, from.RowHi...)
	b.Lo, b.Hi = append(b.Lo, from.Lo...), append(b.Hi, from.Hi...)
	for range n - from.N {
		b.Lo, b.Hi = append(b.Lo, -inf), append(b.Hi, inf)
	}
	for _, v := range l.levels {
		of := &l.cols[v.col]
		sign := of.Sign
		if sign == 0 {
			sign = 1
		}
		t, p := -v.v*sign, 1.0
		if v.top {
			prog.A.Append(of.Entry, of.Most*s.sys.ColScale[of.Entry]/of.scale)
			t, p = -t, -1
		}
		if t != 0 {
			prog.A.Append(of.col, t)
		}
		prog.A.Append(from.N+v.col, p)
		prog.A.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, -inf), append(b.RowHi, inf)
	}
	all := parts(s.sys)
	has := map[[2]int]int{}
	for k, of := range l.cols {
		has[[2]int{of.Entry, of.col}] = k
	}
	for _, row := range l.strong {
		var coef []float64
		exact := true
		if row.kind != duality {
			coef, exact = l.ofChoice(s, row, has)
		} else {
			k := slices.IndexFunc(all, func(p part) bool { return p.y[0] == row.Answer })
			if coef, exact = l.strongDuality(s, all[k], has); exact {
				l.settle(s, all[k])
			}
		}
		by := 0.0
		for j, v := range coef {
			if j < s.sys.N {
				coef[j] = v * s.sys.ColScale[j]
			} else if k := j - s.sys.N; k < len(l.cols) {
				coef[j] = v * l.cols[k].scale
			} else { // x_c T
				of := &l.slopes[(k-len(l.cols))/2]
				coef[j] = v * of.scale * s.sys.ColScale[of.Entry]
			}
			by = math.Max(by, math.Abs(coef[j]))
		}
		by = unit(by)
		l.units = append(l.units, by)
		for j, v := range coef {
			if v != 0 {
				prog.A.Append(j, v/by)
			}
		}
		prog.A.EndRow()
		lo := -inf
		if exact {
			lo = 0
		}
		b.RowLo, b.RowHi = append(b.RowLo, lo), append(b.RowHi, 0)
	}
	l.program = prog
}

// settle notes the pairs of a part whose strong duality is an equation.
func (l *lift) settle(s *search, p part) {
	if l.exact == nil {
		l.exact = make([]bool, len(s.sys.Pairs))
	}
	for k, pair := range s.sys.Pairs {
		l.exact[k] = l.exact[k] || slices.Contains(p.rows, pair.Row)
	}
}

// unit is the power of two by which a row of strong duality with this largest coefficient is divided.
func unit(most float64) float64 {
	if most == 0 {
		return 1
	}
	_, e := math.Frexp(most)
	return math.Ldexp(1, e)
}

// strongDuality is the row coef z <= 0 of a part, = 0 where exact.
func (l *lift) strongDuality(s *search, p part, has map[[2]int]int) (coef []float64, exact bool) {
	sys := s.sys
	coef, exact = make([]float64, sys.N+len(l.cols)+2*len(l.slopes)), true
	sloped := map[int]bool{}
	for k := range l.slopes {
		if of := &l.slopes[k]; of.part.y[0] == p.y[0] {
			sloped[of.Entry] = true
			coef[of.col+1] = 1
		}
	}
	for _, j := range p.y {
		coef[sys.Nx+j] += sys.Q[j]
	}
	for _, i := range p.rows {
		lambda := sys.Nx + sys.Ny + i
		coef[lambda] += sys.P.Rows.Rhs[i]
		for c, v := range sys.P.Rows.A.Entries(i) {
			if k, ok := has[[2]int{c, lambda}]; ok {
				coef[sys.N+k] -= v
			} else if v != 0 && !sloped[c] {
				coef[lambda] -= math.Max(v*sys.P.X.Lo[c], v*sys.P.X.Hi[c])
				exact = false
			}
		}
	}
	for _, j := range p.y {
		for c, v := range sys.G.Entries(j) {
			if v == 0 || sloped[c] {
				continue
			}
			k := has[[2]int{c, sys.Nx + j}]
			if of := &l.cols[k]; of.Sign == 0 {
				coef[sys.N+k] += v
			} else { // x_c y = From x_c + Sign p
				coef[sys.N+k] += of.Sign * v
				coef[c] += v * of.From
			}
		}
	}
	return coef, exact
}

// bounds appends the bounds of columns and rows of a node to those of its relaxation: x_c - v has a sign over the box of x_c there.
func (l *lift) bounds(s *search, b *activeset.Bounds) {
	inf := math.Inf(1)
	x := func(c int) (lo, hi float64) {
		lo, hi = b.Lo[c]*s.sys.ColScale[c], b.Hi[c]*s.sys.ColScale[c]
		if s.choices != nil {
			lo, hi = max(lo, s.low[c]), min(hi, s.high[c])
		}
		return lo, hi
	}
	sides := func(of *product, v float64) (lo, hi float64) {
		lo, hi = -inf, inf
		left, right := x(of.Entry)
		if of.nonneg && left >= v || left == v && right == v {
			lo = 0
		}
		if of.nonneg && right <= v || left == v && right == v {
			hi = 0
		}
		return lo, hi
	}
	for k := range l.cols {
		of := &l.cols[k]
		lo, hi := sides(of, 0)
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	for _, v := range l.levels {
		of := &l.cols[v.col]
		lo, hi := sides(of, v.v)
		side := -v.v * of.Sign * of.From / of.scale // p - v Sign y against - v Sign From
		if v.top {
			side = v.v*of.Most/of.scale - side
		}
		b.RowLo, b.RowHi = append(b.RowLo, side+lo), append(b.RowHi, side+hi)
	}
	m := l.program.A.Rows
	for r := m - len(l.strong); r < m; r++ {
		b.RowLo, b.RowHi = append(b.RowLo, l.program.RowLo[r]), append(b.RowHi, l.program.RowHi[r])
	}
}

// off reports, for each integer entry of x, whether a product with it is not what its factors say at the solution z of a relaxation.
func (l *lift) off(s *search, z []float64) map[int]bool {
	off := map[int]bool{}
	for k := range l.cols {
		if of := &l.cols[k]; (of.choice < 0 || slices.Contains(s.whole, of.Entry)) && l.apart(s, k, z) > tolerance.Target {
			off[of.Entry] = true
		}
	}
	return off
}

// apart is by how much product k is not what its factors say at z, relative to its size.
func (l *lift) apart(s *search, k int, z []float64) float64 {
	of := &l.cols[k]
	p, x, t := z[s.sys.N+k]*of.scale, z[of.Entry]*s.sys.ColScale[of.Entry], of.t(s, z)
	return math.Abs(p-x*t) / (of.scale + math.Abs(p) + math.Abs(x*t))
}

// relaxation is the program of nodes, but for the rows of slopes.
func (s *search) relaxation() *activeset.Program {
	if s.lift != nil {
		return s.lift.program
	}
	return s.prog
}

// rows is how many rows the program of a node has, without tangents.
func (s *search) rows() int {
	n := len(s.relaxation().RowHi)
	if s.lift != nil {
		n += slopeRows * len(s.lift.slopes)
	}
	return n
}

// wider is a symmetric matrix with more rows and columns, which are empty.
func wider(m *sparse.CSR, n int) *sparse.CSR {
	if m == nil {
		return nil
	}
	out := m.Clone()
	for out.Cols = n; out.Rows < n; {
		out.EndRow()
	}
	return out
}

// proofLines are the lines of a proof that state columns and rows.
func (l *lift) proofLines(pw *proofWriter) (lines []map[string]any) {
	for _, of := range l.cols {
		p := map[string]any{"entry": pw.s.part.Cols[of.Entry], "levels": of.Levels}
		switch sys := pw.s.sys; {
		case of.col < sys.Nx:
			p["other"] = pw.s.part.Cols[of.col]
		case of.col < sys.Nx+sys.Ny:
			p["answer"] = pw.answer(of.col - sys.Nx)
		default:
			p["multiplier"] = pw.row(of.col - sys.Nx - sys.Ny)
		}
		if of.ofF {
			p["f"] = true
		}
		switch of.Sign {
		case 1:
			p["above"] = of.From
		case -1:
			p["below"] = of.From
		}
		if of.Tops != nil {
			p["most"], p["tops"] = of.Most, of.Tops
		}
		lines = append(lines, map[string]any{"product": p})
	}
	for k := range l.slopes {
		of := &l.slopes[k]
		lines = append(lines, map[string]any{"slope": map[string]any{"answer": pw.answer(of.part.y[0]), "entry": pw.s.part.Cols[of.Entry]}})
	}
	for _, row := range l.strong {
		p := map[string]any{}
		if row.kind != totalTimes {
			p["answer"] = pw.answer(row.Answer)
		}
		switch row.kind {
		case totalTimes:
			p["row"] = pw.row(row.Row)
		case upperTimes:
			p["upper"] = pw.s.sys.Origin[row.Row].Index
		case noBetter:
			p["against"] = pw.answer(row.Row)
		}
		if row.kind == totalTimes {
			p["times"] = pw.s.part.Cols[row.Times]
		}
		lines = append(lines, map[string]any{"strong": p})
	}
	return lines
}

// weights adds the weights of the rows of l to those of a leaf, in the model's units.
func (l *lift) weights(w *leafWeights, pw *proofWriter, row []float64, noise float64) {
	b := &pw.p.bounds
	from := len(b.RowLo) - len(row)
	for k, v := range l.levels {
		m := row[k]
		if math.Abs(m) <= noise || m > 0 && math.IsInf(b.RowLo[from+k], -1) || m < 0 && math.IsInf(b.RowHi[from+k], 1) {
			continue
		}
		w.Levels = w.Levels.add(k, m/l.cols[v.col].scale)
	}
	for k, m := range row[len(l.levels) : len(l.levels)+len(l.strong)] {
		at := from + len(l.levels) + k
		if math.Abs(m) <= noise || m > 0 && math.IsInf(b.RowLo[at], -1) {
			continue
		}
		w.Duality = w.Duality.add(k, m/l.units[k])
	}
	for k, m := range row[len(l.levels)+len(l.strong):] {
		of := &l.slopes[k/slopeRows]
		unit := of.scale
		if k%slopeRows > 0 {
			m, unit = math.Max(m, 0), unit*pw.s.sys.ColScale[of.Entry]
		}
		if math.Abs(m) > noise {
			w.Slopes = w.Slopes.add(k, m/unit)
		}
	}
}
