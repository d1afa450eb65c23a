package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// Columns enter and leave at random, in some runs nearly dependent on others: after every
// change Q is orthonormal, QR are the columns, what Split leaves is orthogonal to them, and the solves are those of R, all to the
// rounding of as many terms, times what QR.inverse says where Q is implied.
func TestQRFollowsItsColumns(t *testing.T) {
	const unit = 0x1p-53
	rng := rand.New(rand.NewPCG(1, 2))
	implied, all := 0, 0
	for range 60 {
		n := 1 + rng.IntN(25)
		all += 4 * n
		near := rng.IntN(2) == 0
		var f QR
		f.Reset(n)
		var columns [][]float64
		for change := range 4 * n {
			if len(columns) > 0 && (f.Size() == n || rng.IntN(3) == 0) {
				at := rng.IntN(len(columns))
				f.Drop(at)
				columns = slices.Delete(columns, at, at+1)
			} else {
				v := make([]float64, n)
				for j := range v {
					v[j] = rng.NormFloat64()
				}
				if near && rng.IntN(3) == 0 { // near the span of the others
					for j := range v {
						v[j] *= 1e-7
					}
					for _, c := range columns {
						Axpy(v, rng.NormFloat64(), c)
					}
				}
				for j, size := 0, Norm(v); j < n; j++ {
					v[j] /= size
				}
				if !f.Append(v) {
					coef, rest := make([]float64, n), make([]float64, n)
					f.Push(coef, rest, f.Split(v, coef, rest))
				}
				columns = append(columns, v)
			}
			bound, loss := 8*float64((n+1)*(change+1))*unit, 1.0
			if f.implied {
				implied++
				loss = 2 * float64(f.Size()) * f.inverse[f.Size()-1]
			}
			v, coef, rest := make([]float64, n), make([]float64, n), make([]float64, n)
			for j := range v {
				v[j] = rng.NormFloat64()
			}
			size := f.Split(v, coef, rest)
			f.Coordinates(coef, rest)
			if off := Norm(coef[:f.Size()]); f.Size() < n && off > loss*bound*size {
				t.Fatalf("n %d, change %d: what Split leaves is off by %g of it", n, change, off/size)
			}
			k := f.Size()
			if k != len(columns) {
				t.Fatalf("%d columns of %d", k, len(columns))
			}
			c := make([]float64, k)
			for a, v := range columns {
				sum := slices.Clone(v)
				clear(c)
				copy(c, f.Triangle(a))
				f.AddScaled(sum, -1, c)
				if left := Norm(sum); left > bound*Norm(v) {
					t.Fatalf("n %d, change %d: column %d is missed by %g of its length", n, change, a, left/Norm(v))
				}
				q := make([]float64, n)
				clear(c)
				c[a] = 1
				f.AddScaled(q, 1, c)
				f.Coordinates(c, q)
				c[a]--
				if off := NormInf(c); off > loss*bound {
					t.Fatalf("n %d, change %d: Q'Q is off by %g", n, change, off)
				}
				if d := f.Triangle(a)[a]; !(d > 0) {
					t.Fatalf("pivot %g", d)
				}
			}
			want := make([]float64, k)
			for a := range want {
				want[a] = rng.NormFloat64()
			}
			for name, solve := range map[string]func([]float64){"Solve": f.Solve, "SolveT": f.SolveT} {
				got := slices.Clone(want)
				solve(got)
				left, size := slices.Clone(want), make([]float64, k)
				for a := range k {
					for b, r := range f.Triangle(a) {
						to, from := b, a
						if name == "SolveT" {
							to, from = a, b
						}
						left[to] -= r * got[from]
						size[to] += math.Abs(r * got[from])
					}
				}
				for a := range left {
					if math.Abs(left[a]) > 4*float64(k+1)*unit*(size[a]+math.Abs(want[a])) {
						t.Fatalf("%s: entry %d of %d is missed by %g", name, a, k, left[a])
					}
				}
			}
		}
		other := QR{}
		half := f.Size() / 2
		if !other.Take(&f, half) {
			if f.implied {
				t.Fatal("nothing to be taken of a factorization in which Q is implied")
			}
			continue
		}
		f.Truncate(half)
		if other.Size() != f.Size() || !slices.Equal(other.q, f.q) || !slices.Equal(other.r, f.r) {
			t.Fatal("Take and Truncate differ")
		}
		// What one does then is nothing to the other.
		q, r := slices.Clone(f.q), slices.Clone(f.r)
		for one, another := range map[*QR]*QR{&f: &other, &other: &f} {
			for _, k := range []int{one.Size() - 1, 0} {
				if k >= 0 && k < one.Size() {
					one.Drop(0)
					one.Truncate(k)
				}
				v, coef, rest := make([]float64, n), make([]float64, n), make([]float64, n)
				for j := range v {
					v[j] = rng.NormFloat64()
				}
				if size := Norm(v); one.Size() < n {
					floats.Scale(1/size, v)
					if !one.Append(v) {
						one.Push(coef, rest, one.Split(v, coef, rest))
					}
				}
			}
			if !slices.Equal(another.q, q) || !slices.Equal(another.r, r) {
				t.Fatal("a factorization that was taken from another changes with it")
			}
			one.Take(another, another.Size())
		}
	}
	if implied < all/4 || implied > all*3/4 {
		t.Errorf("Q is implied after %d of %d changes", implied, all)
	}
}
