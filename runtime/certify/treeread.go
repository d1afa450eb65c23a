package certify

import (
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// readFollower reads H (ny x ny) and G (ny x nx) by columns, and q.
func (t *treeModel) readFollower() {
	of := problem.Probe(t.p.G)
	q, columns, err := problem.Affine(t.nx+t.ny, t.nx+t.ny, t.ny, nil, func(dst, z []float64) { of.GradY(dst, z[:t.nx], z[t.nx:]) })
	must.Be(err == nil, "the gradient of g is %w", err)
	t.g, t.h, t.linearG = columns[:t.nx], columns[t.nx:], q
}

func (t *treeModel) end(kind int, equal bool, rhs float64) {
	t.rows[kind].EndRow()
	t.rhs[kind] = append(t.rhs[kind], rhs)
	t.equal[kind] = append(t.equal[kind], equal)
}

func (t *treeModel) put(kind, col int, v float64) {
	if v != 0 {
		t.rows[kind].Append(col, v)
	}
}

// putRow puts by times row i of a matrix whose columns stand behind `shift` others.
func (t *treeModel) putRow(kind int, m *sparse.CSR, i, shift int, by float64) {
	for j, v := range m.Entries(i) {
		t.put(kind, shift+j, by*v)
	}
}

func (t *treeModel) readRows() {
	p, lambda := t.p, t.nx+t.ny
	bt := p.Rows.B.T()
	for i := range t.ny {
		for j := range t.nx {
			t.put(treeStationarity, j, t.g[j][i])
		}
		for j := range t.ny {
			t.put(treeStationarity, t.nx+j, t.h[j][i])
		}
		t.putRow(treeStationarity, bt, i, lambda, -1)
		t.end(treeStationarity, true, -t.linearG[i])
	}
	for i, kind := range p.Rows.Kind {
		t.putRow(treeLower, p.Rows.A, i, 0, -1)
		t.putRow(treeLower, p.Rows.B, i, t.nx, 1)
		t.end(treeLower, kind == problem.Equal, -p.Rows.Rhs[i])
	}
	for i, kind := range p.X.Kind {
		t.putRow(treeUpper, p.X.E, i, 0, 1)
		t.end(treeUpper, kind == problem.Equal, p.X.Rhs[i])
	}
	for i := range p.X.Extended.Len() {
		for j, v := range p.X.Extended.E.Entries(i) {
			if j >= t.nx {
				j += t.ny + t.m
			}
			t.put(treeExtended, j, v)
		}
		t.end(treeExtended, false, p.X.Extended.Rhs[i])
	}
}

// readLeader reads f and the coupled rows.
func (t *treeModel) readLeader() {
	p := t.p
	count := p.AnswerLen() - p.Dy - len(p.Duals)
	n := t.nx + t.ny + len(p.Duals)
	place := slices.Concat(each.Number(t.nx+t.ny), each.Of(p.Duals, func(i int) int { return t.nx + t.ny + i }))
	f, value := problem.Probe(p.F), 0.0
	answer := make([]float64, p.AnswerLen())
	read := func(dst, z []float64) { // the gradient of f in z, and the coupled constraints
		gx, ga := make([]float64, t.nx), make([]float64, len(answer))
		copy(answer, z[t.nx:])
		value = f.ValueGrad(gx, ga, z[:t.nx], answer)
		copy(dst[copy(dst, gx):], ga)
	}
	read(make([]float64, n+count), make([]float64, n))
	t.treeObjective = *newTreeObjective(t.n)
	t.konst = point(value)
	at, columns, err := problem.Affine(n, n, n+count, nil, read)
	must.Be(t.konst.finite() && isFinite(at), "f is not finite at 0")
	must.Be(err == nil, "f is %w", err)
	constant, sides := at[:n], at[n:]
	for k, v := range constant {
		t.addC(place[k], num(v))
	}
	t.addColumns(place, columns)
	if count > 0 {
		for i, kind := range p.Coupled.Kind {
			if quadraticRow(p, i) { // an empty row keeps its place
				t.end(treeCoupled, false, 0)
				weight := &answer[p.Dy+len(p.Duals)+i]
				*weight = 1 / tolerance.LeastSquared
				t.readCurved(sides[i], place, constant, columns, read)
				*weight = 0
				continue
			}
			t.constraints = append(t.constraints, nil)
			full := make([]float64, t.n)
			for k := range n {
				full[place[k]] += columns[k][n+i]
			}
			for j, v := range full {
				t.put(treeCoupled, j, v)
			}
			t.end(treeCoupled, kind == problem.Equal, -sides[i])
		}
	}
	t.balls()
}

// rat is a double as a rational number.
func rat(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// addC adds to an entry of c.
func (t *treeObjective) addC(j int, v coefficient) { t.c[j] = t.c[j].plus(v) }

// addQ adds to an entry of Q.
func (t *treeObjective) addQ(i, j int, v coefficient) {
	row := t.q[i]
	k, is := slices.BinarySearchFunc(row, j, func(e treeEntry, j int) int { return e.col - j })
	if !is {
		row = slices.Insert(row, k, treeEntry{j, v})
	} else {
		row[k].coefficient = row[k].plus(v)
	}
	if row[k].val.zero() {
		row = slices.Delete(row, k, k+1)
	}
	t.q[i] = row
}
