package runtime

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// ring is a program with whole numbers k beside x in a ball, or under a constraint sumsq(x - a) + sumsq(k - e) + sumsq(y - w) <= r^2, whose follower has a closed form in each entry: the point of [-1, cap] next to
// -(q + P'x + S'k) / h, or where h is 0 an end of it. A cap reads k.
type ring struct {
	nx, nk, ny int
	binary     bool
	c, d       []float64 // of f in (x, k), and in y
	curve      float64
	q, h       []float64
	p          [][]float64 // (nx + nk) x ny
	cap        [][]float64 // ny x nk
	at         []float64   // over (x, k, y)
	ball, bend float64     // radii; 0 for none
	reads      bool        // the constraint reads y
}

func newRing(rng *rand.Rand) *ring {
	b := &ring{nx: 1 + rng.IntN(2), nk: 1 + rng.IntN(2), ny: 1 + rng.IntN(2), binary: rng.IntN(2) == 0, reads: rng.IntN(2) == 0}
	vector := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = math.Round(100*rng.NormFloat64()) / 100
		}
		return v
	}
	b.c, b.d, b.q, b.h, b.at = vector(b.nx+b.nk), vector(b.ny), vector(b.ny), vector(b.ny), vector(b.nx+b.nk+b.ny)
	linear := rng.IntN(3) == 0
	for j, h := range b.h {
		b.h[j] = 0.5 + math.Abs(h)
		if linear {
			b.h[j] = 0
		}
	}
	for range b.nx + b.nk {
		b.p = append(b.p, vector(b.ny))
	}
	for range b.ny {
		room := make([]float64, b.nk)
		for j := range room {
			room[j] = math.Round(10*rng.Float64()) / 10
		}
		b.cap = append(b.cap, room)
	}
	if rng.IntN(2) == 0 {
		b.curve = 0.1 * float64(rng.IntN(10))
	}
	if rng.IntN(2) == 0 {
		b.ball = math.Round(100*(0.5+rng.Float64())) / 100
	}
	if b.ball == 0 || rng.IntN(2) == 0 {
		b.bend = math.Round(100*(0.8+2*rng.Float64())) / 100
	}
	return b
}

func (b *ring) text() string {
	list := func(v []float64) string {
		return "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v)), ", "), "[]") + "]"
	}
	var p, room []string
	for _, row := range b.p {
		p = append(p, list(row))
	}
	for _, row := range b.cap {
		room = append(room, list(row))
	}
	domain, kind, rows := "box(-2, 2)", fmt.Sprintf("vector[%d] integer in box(-0.5, 2)", b.nk), ""
	if b.ball > 0 {
		domain = fmt.Sprintf("ball(%v)", b.ball)
	}
	if b.binary {
		kind = fmt.Sprintf("vector[%d] binary", b.nk)
	}
	if b.bend > 0 {
		reads := ""
		if b.reads {
			reads = " + sumsq(y - " + list(b.at[b.nx+b.nk:]) + ")"
		}
		rows = fmt.Sprintf("  subject to\n    bent: sumsq(x - %s) + sumsq(k - %s)%s <= %v\n", list(b.at[:b.nx]), list(b.at[b.nx:b.nx+b.nk]), reads, b.bend*b.bend)
	}
	return fmt.Sprintf("model ring\ndata P: matrix[%d, %d] = [%s]\ndata S: matrix[%d, %d] = [%s]\ndata R: matrix[%d, %d] = [%s]\nupper {\n  var x: vector[%d] in %s\n  var k: %s\n  minimize %s' * x + %s' * k + %s' * y + %v * (sumsq(x) + sumsq(k) + sumsq(y))\n%s}\n"+
		"lower {\n  var y: vector[%d]\n  minimize 0.5 * sum(%s .* y .* y) + x' * P * y + k' * S * y + %s' * y\n  subject to\n    floor: y >= -1\n    cap: y <= 1 + R * k\n}\nsolve { ties = optimistic }\n",
		b.nx, b.ny, strings.Join(p[:b.nx], ", "), b.nk, b.ny, strings.Join(p[b.nx:], ", "), b.ny, b.nk, strings.Join(room, ", "), b.nx, domain, kind,
		list(b.c[:b.nx]), list(b.c[b.nx:]), list(b.d), b.curve, rows, b.ny, list(b.h), list(b.q))
}

// value is F at z = (x, k); false where z is not allowed, by more than room. blurred says that an answer may be another one within rounding.
func (b *ring) value(z []float64, room float64) (f float64, allowed, blurred bool) {
	away, long := 0.0, 0.0
	for j, t := range z {
		if j < b.nx {
			if b.ball == 0 && math.Abs(t) > 2 {
				return 0, false, false
			}
			long += t * t
		}
		f += b.c[j]*t + b.curve*t*t
		away += (t - b.at[j]) * (t - b.at[j])
	}
	for j := range b.ny {
		g, hi := b.q[j], 1.0
		for i, t := range z {
			g += b.p[i][j] * t
		}
		for i, t := range z[b.nx:] {
			hi += b.cap[j][i] * t
		}
		y := -1.0
		switch {
		case b.h[j] > 0:
			y = min(max(-g/b.h[j], -1), hi)
		case g < 0:
			y = hi
		}
		blurred = blurred || b.h[j] == 0 && math.Abs(g) < 1e-6
		f += b.d[j]*y + b.curve*y*y
		if b.reads {
			away += (y - b.at[len(z)+j]) * (y - b.at[len(z)+j])
		}
	}
	return f, (b.bend == 0 || away <= b.bend*b.bend+room) && (b.ball == 0 || long <= b.ball*b.ball+room), blurred
}

// least is the lowest F seen, for all whole numbers, at the allowed points of a grid of x, which gets finer around the best of them.
func (b *ring) least() float64 {
	best, most := math.Inf(1), 2
	if b.binary {
		most = 1
	}
	var each func(k []float64)
	each = func(k []float64) {
		if len(k) < b.nk {
			for v := 0; v <= most; v++ {
				each(append(k[:len(k):len(k)], float64(v)))
			}
			return
		}
		at, width, here := make([]float64, b.nx), 2.0, math.Inf(1)
		for range 12 {
			next := at
			var along func(x []float64)
			along = func(x []float64) {
				if len(x) < b.nx {
					for i := -60; i <= 60; i++ {
						along(append(x[:len(x):len(x)], at[len(x)]+width*float64(i)/60))
					}
				} else if f, ok, _ := b.value(append(x[:len(x):len(x)], k...), 0); ok && f < here {
					here, next = f, x
				}
			}
			along(nil)
			at, width = next, width/3
		}
		best = min(best, here)
	}
	each(nil)
	return best
}

// Whole numbers of the leader are searched beside balls and convex quadratic constraints, as by themselves: no allowed point of a grid for any whole numbers is below the bound, what is proved is no higher than the
// grid's best, and the proof shows it.
func TestWholeNumbersBesideCurvedConstraints(t *testing.T) {
	t.Parallel()
	proved, empty, stalled := 0, 0, 0
	for seed := range members.SeedsOf(t, 20, 300) {
		b := newRing(rand.New(rand.NewPCG(seed, 362)))
		model, err := Compile("ring.blv", b.text())
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		least := b.least()
		r, err := p.Solve(context.Background(), Options{Search: SearchFully})
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, b.text())
			continue
		}
		if r.Status == Infeasible {
			if empty++; !math.IsInf(least, 1) {
				t.Errorf("seed %d: %s, and a point has %g\n%s", seed, r.Reason, least, b.text())
			}
		} else if r.Global == nil || !r.HasPoint() {
			t.Errorf("seed %d: %s, %s, best of a grid %g\n%s", seed, r.Status, r.Reason, least, b.text())
			continue
		} else {
			if r.Status != Solved { // the local solve has no certificate at the tree's point, which is said
				stalled++
				t.Logf("seed %d: %s, %s", seed, r.Status, r.Reason)
			}
			g, f := r.Global, float64(r.Upper.Objective)
			room := 1e-6 * (1 + math.Abs(f))
			if float64(g.Bound) > least+1e-9*(1+math.Abs(least)) {
				t.Errorf("seed %d: bound %.12g, and a point has %.12g\n%s", seed, float64(g.Bound), least, b.text())
			}
			x, _ := r.Upper.Variables.Get("x")
			k, _ := r.Upper.Variables.Get("k")
			z := append(append([]float64(nil), x.Data...), k.Data...)
			for _, v := range k.Data {
				if v != math.Round(v) {
					t.Errorf("seed %d: k = %v", seed, k.Data)
				}
			}
			if at, ok, blurred := b.value(z, 1e-7); !blurred && (!ok || math.Abs(at-f) > room) {
				t.Errorf("seed %d: F %.12g at %v, which is %.12g, allowed %t\n%s", seed, f, z, at, ok, b.text())
			}
			if g.Proved {
				if proved++; f > least+room {
					t.Errorf("seed %d: proved %.12g, and a point has %.12g\n%s", seed, f, least, b.text())
				}
			} else if r.Status == Solved { // else it is one of those without a certificate, of which there may be few
				t.Errorf("seed %d: not proved: %s, %s\n%s", seed, r.Reason, g.Text(r.Upper.Objective), b.text())
			}
		}
		other, err := p.Solve(context.Background(), Options{Search: SearchFully, Threads: 3})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := sealText(t, r), sealText(t, other); a != b {
			t.Errorf("seed %d: another number of threads, another result", seed)
		}
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, b.text())
			continue
		}
		if report, err := p.VerifyProof(r, "proof", &proof); err != nil || !report.OK() {
			t.Errorf("seed %d: %v, %v\n%s", seed, err, report.Failures(), b.text())
		}
	}
	t.Logf("%d proved, %d proved to be empty, %d without a certificate", proved, empty, stalled)
	if proved == 0 || stalled > members.Misses(proved+stalled, 1.0/51) {
		t.Error("nothing was tried, or too much has no certificate")
	}
}
