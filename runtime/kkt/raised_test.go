package kkt_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// A raised f is f at the follower's answers, convex, and f plus shares of products of multipliers and slacks elsewhere.
func TestRaised(t *testing.T) {
	rng := members.Rand(t, 3)
	raised := 0
	for k := range 60 {
		p := kkttest.Random(rng, 3, 4, 2, k%4 > 0, false)
		for i := range p.Rows.Len() { // of rows that read x a share would have products of x and multipliers
			if cols, _ := p.Rows.A.Row(i); len(cols) > 0 {
				p.Rows.A = sparse.FromEntries(p.Rows.Len(), p.Dx, nil)
			}
		}
		f, n := p.F.(*kkttest.Quadratic), p.Dx+p.Dy
		for c := range p.Dx { // an x that f is flat along leaves no share
			f.M[c*n+c]++
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		q, shares := s.Raised(s.Objective.Searched())
		if shares == nil {
			continue
		}
		raised++
		dense := mat.NewSymDense(s.N, nil)
		for i := range s.N {
			for j := range i + 1 {
				dense.SetSym(i, j, q.Hess.At(i, j))
			}
		}
		var eigen mat.EigenSym
		if eigen.Factorize(dense, false); eigen.Values(nil)[0] < -1e-12*mat.Max(dense) {
			t.Errorf("case %d: it is not convex: %v", k, eigen.Values(nil)[0])
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, s.Nx)
		for j := range x {
			x[j] = 6*rng.Float64() - 3
		}
		if z, status := follower.Solve(t.Context(), x); status == activeset.Optimal {
			if want := s.Value(z); math.Abs(q.Value(z)-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("case %d: at an answer it is %v, and f %v", k, q.Value(z), want)
			}
		}
		// On the relaxation, here at any x and y with the multipliers' force made up by q, it is f and the products.
		z, slack := make([]float64, s.N), make([]float64, s.M)
		for j := range z {
			z[j] = 2*rng.Float64() - 1
		}
		for j := range s.Ny {
			s.Q[j] = p.Rows.B.T().RowDot(j, s.Lambda(z)) - s.H.RowDot(j, s.Y(z)) - s.G.RowDot(j, s.X(z))
		}
		s.Slack(slack, nil, z)
		again, shares := s.Raised(s.Objective.Searched())
		want := s.Value(z)
		for b, of := range s.Blocks() {
			for _, i := range of.Rows {
				want += shares[b] * slack[i] * s.Lambda(z)[i]
			}
		}
		if v := again.Value(z); math.Abs(v-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("case %d: it is %v at a point of the relaxation, not %v", k, v, want)
		}
	}
	if raised < 30 {
		t.Errorf("%d of 60 are raised", raised)
	}
}
