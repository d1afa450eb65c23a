package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
)

// bowl is a program whose follower has a closed form, y_j = the point of its box next to -(q + P'x)_j / h_j, and whose leader has convex quadratic constraints on x alone, or on x and y.
type bowl struct {
	nx, ny        int
	c, d, q, h    []float64
	p             [][]float64 // nx x ny
	curve         float64     // of f in x and y
	cross         float64     // of x[1] x[2] in f, which is not convex then
	radius, reach float64     // of a ball of x, 0 for none; of the constraint, <= 0
	at            []float64   // its center, over x and y
	onX, set      bool        // the constraint is on x alone; the ball is X's own
}

func newBowl(rng *rand.Rand) *bowl {
	b := &bowl{nx: 2, ny: 1 + rng.IntN(3), onX: rng.IntN(3) == 0, set: rng.IntN(2) == 0}
	vector := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = math.Round(100*rng.NormFloat64()) / 100
		}
		return v
	}
	b.c, b.d, b.q, b.h, b.at = vector(b.nx), vector(b.ny), vector(b.ny), vector(b.ny), vector(b.nx+b.ny)
	for j, h := range b.h {
		b.h[j] = 0.5 + math.Abs(h)
	}
	for range b.nx {
		b.p = append(b.p, vector(b.ny))
	}
	if rng.IntN(2) == 0 {
		b.curve = 0.1 * float64(rng.IntN(10))
	}
	if rng.IntN(2) == 0 {
		b.cross = math.Round(100*rng.NormFloat64()) / 100
	}
	if rng.IntN(2) == 0 {
		b.radius = math.Round(100*(0.5+rng.Float64())) / 100
	}
	b.reach = math.Round(100*(0.3+2*rng.Float64())) / 100
	return b
}

func (b *bowl) text() string {
	list := func(v []float64) string {
		var words []string
		for _, t := range v {
			words = append(words, fmt.Sprint(t))
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	var p []string
	for _, row := range b.p {
		p = append(p, list(row))
	}
	domain, rows := "box(-2, 2)", "    bent: sumsq(x - a) + sumsq(y - e) <= r^2\n"
	if b.onX {
		rows = "    bent: sumsq(x - a) <= r^2\n"
	}
	if b.radius > 0 {
		if b.set {
			domain = fmt.Sprintf("ball(%v)", b.radius)
		} else {
			rows += fmt.Sprintf("    round: sumsq(x) <= %v\n", b.radius*b.radius)
		}
	}
	return fmt.Sprintf("model bowl\ndata c: vector[%[1]d] = %[3]s\ndata d: vector[%[2]d] = %[4]s\ndata q: vector[%[2]d] = %[5]s\ndata h: vector[%[2]d] = %[6]s\ndata P: matrix[%[1]d, %[2]d] = [%[7]s]\n"+
		"data a: vector[%[1]d] = %[8]s\ndata e: vector[%[2]d] = %[9]s\nparam r: real = %[10]v\nupper {\n  var x: vector[%[1]d] in %[11]s\n  minimize c' * x + d' * y + %[12]v * (sumsq(x) + sumsq(y)) + %[14]v * x[1] * x[2]\n  subject to\n%[13]s}\n"+
		"lower {\n  var y: vector[%[2]d] in box(-1, 1)\n  minimize 0.5 * sum(h .* y .* y) + x' * P * y + q' * y\n}\n",
		b.nx, b.ny, list(b.c), list(b.d), list(b.q), list(b.h), strings.Join(p, ", "), list(b.at[:b.nx]), list(b.at[b.nx:]), b.reach, domain, b.curve, rows, b.cross)
}

// value is F at x; false where x is not allowed, by more than room.
func (b *bowl) value(x []float64, room float64) (float64, bool) {
	f, away, long := b.cross*x[0]*x[1], 0.0, 0.0
	for j, t := range x {
		if math.Abs(t) > 2 && !(b.set && b.radius > 0) {
			return 0, false
		}
		f += b.c[j]*t + b.curve*t*t
		away += (t - b.at[j]) * (t - b.at[j])
		long += t * t
	}
	for j := range b.ny {
		g := b.q[j]
		for i, t := range x {
			g += b.p[i][j] * t
		}
		y := min(max(-g/b.h[j], -1), 1)
		f += b.d[j]*y + b.curve*y*y
		if !b.onX {
			away += (y - b.at[b.nx+j]) * (y - b.at[b.nx+j])
		}
	}
	return f, away <= b.reach*b.reach+room && (b.radius == 0 || long <= b.radius*b.radius+room)
}

// least is the lowest F seen at the allowed points of a grid, which gets finer around the best of them.
func (b *bowl) least() float64 {
	best, at, width := math.Inf(1), []float64{0, 0}, 2.0
	for range 12 {
		next := at
		for i := -60; i <= 60; i++ {
			for j := -60; j <= 60; j++ {
				x := []float64{at[0] + width*float64(i)/60, at[1] + width*float64(j)/60}
				if f, ok := b.value(x, 0); ok && f < best {
					best, next = f, x
				}
			}
		}
		at, width = next, width/3
	}
	return best
}

// Convex quadratic constraints of the leader are in the search and in its proof: no allowed point of a grid is below the bound, and what is said to be the optimum is allowed, and no higher than the grid's
// best. Forgeries of the multiples are refused, or show what is true.
func TestCurvedConstraintsAreSearched(t *testing.T) {
	proved, empty, multiples, apart := 0, 0, 0, 0
	for seed := range members.SeedsOf(t, 12, 200) {
		rng := rand.New(rand.NewPCG(seed, 36))
		b := newBowl(rng)
		model, err := Compile("bowl.blv", b.text())
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
			t.Fatal(err)
		}
		if r.Status == Infeasible {
			if !math.IsInf(least, 1) {
				t.Errorf("seed %d: %s, and a point has %g\n%s", seed, r.Reason, least, b.text())
			}
			var proof bytes.Buffer
			if err := r.WriteProof(context.Background(), &proof); err != nil {
				t.Errorf("seed %d: %s, without a proof: %v\n%s", seed, r.Reason, err, b.text())
			} else if report, err := p.VerifyProof(r, "proof", &proof); err != nil || !report.OK() {
				t.Errorf("seed %d: %v, %v", seed, err, report.Failures())
			}
			empty++
			continue
		}
		if !r.HasPoint() || r.Global == nil {
			t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, b.text())
			continue
		}
		g, f := r.Global, float64(r.Upper.Objective)
		if !r.onSystem() {
			t.Errorf("seed %d: the solve on the system was not kept: %s\n%s", seed, g.Why, b.text())
		}
		room := 1e-6 * (1 + math.Abs(f))
		if float64(g.Bound) > least+1e-9*(1+math.Abs(least)) {
			t.Errorf("seed %d: bound %.12g, and a point has %.12g\n%s", seed, float64(g.Bound), least, b.text())
		}
		x, _ := r.Upper.Variables.Get("x")
		if at, ok := b.value(x.Data, 1e-7); !ok || math.Abs(at-f) > room {
			t.Errorf("seed %d: F %.12g at %v, which is %.12g, allowed %t\n%s", seed, f, x.Data, at, ok, b.text())
		}
		if g.Proved {
			proved++
			if f > least+room {
				t.Errorf("seed %d: proved %.12g, and a point has %.12g\n%s", seed, f, least, b.text())
			}
		} else {
			t.Logf("seed %d: not proved: %s, %s", seed, r.Reason, g.Text(r.Upper.Objective))
		}
		other, err := p.Solve(context.Background(), Options{Search: SearchFully, Threads: 3})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := sealText(t, r), sealText(t, other); a != b {
			t.Errorf("seed %d: another number of threads, another result", seed)
		}
		if math.IsInf(float64(g.Bound), 0) {
			continue
		}
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, b.text())
			continue
		}
		report, err := p.VerifyProof(r, "proof", bytes.NewReader(proof.Bytes()))
		if err != nil || !report.OK() {
			t.Errorf("seed %d: %v, %v", seed, err, report.Failures())
		}
		lines := bytes.Split(bytes.TrimSpace(proof.Bytes()), []byte("\n"))
		for k, line := range lines {
			var leaf map[string]map[string]any
			if json.Unmarshal(line, &leaf) != nil {
				continue
			}
			for _, weights := range leaf {
				curved, ok := weights["curved"].(map[string]any)
				if !ok {
					continue
				}
				multiples++
				for how := range 3 {
					val := curved["val"].([]any)
					was := val[0].(float64)
					switch how {
					case 0:
						val[0] = -was
					case 1:
						val[0] = was * (1 + rng.Float64())
					default:
						val[0] = was * rng.Float64()
					}
					text, _ := json.Marshal(leaf)
					val[0] = was
					forged := bytes.Join(append(append(append([][]byte{}, lines[:k]...), text), lines[k+1:]...), []byte("\n"))
					shown, err := certify.VerifyTree(p.Numeric, bytes.NewReader(forged), "")
					switch {
					case err == nil && how == 0:
						t.Errorf("seed %d: a negative multiple was accepted", seed)
					case err == nil && shown.Bound > least+1e-9*(1+math.Abs(least)):
						t.Errorf("seed %d: a forged multiple shows %.12g, and a point has %.12g", seed, shown.Bound, least)
					}
					if err != nil || shown.Bound < float64(g.Bound) {
						apart++
					}
				}
			}
		}
	}
	t.Logf("%d proved, %d without a point, %d multiples of constraints, %d forgeries that show less or nothing", proved, empty, multiples, apart)
	if proved == 0 || multiples == 0 || apart == 0 {
		t.Error("nothing was tried")
	}
}

func sealText(t *testing.T, r *Result) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return sealIn(t, text)
}
