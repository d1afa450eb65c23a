package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// proofOf writes the proof of a result.
func proofOf(t *testing.T, sys *kkt.System, r *Result) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim(), Accepts: certify.NewTreeVerifier(sys.P, "").Take}); err != nil {
		t.Fatalf("%v: %v", r.Outcome, err)
	}
	return out.Bytes()
}

// What a search claims is proved, and what is proved is true.
func TestProofsAreAcceptedAndTrue(t *testing.T) {
	rng := members.Rand(t, 2)
	count, leaves := map[Outcome]int{}, int64(0)
	for k := range 300 {
		is := randomFeatures(rng)
		p := random(rng, is)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		count[r.Outcome]++
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil {
			t.Errorf("case %d, %+v: %v", k, is, err)
			continue
		}
		leaves += report.Leaves + report.Empty
		if report.Bound < r.Claim() {
			t.Errorf("case %d, %+v: claimed %.17g, proved %.17g", k, is, r.Claim(), report.Bound)
		}
		if want := enumerate(t, sys); report.Bound > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d, %+v: proved %.17g, and the least value is %.17g", k, is, report.Bound, want)
		}
	}
	if count[Proved] == 0 || count[Infeasible] == 0 {
		t.Errorf("cases are %v", count)
	}
	t.Logf("%v, %d leaves", count, leaves)
}

// forge changes a proof in one of several ways, and says whether what is left cannot be a proof.
func forge(rng *rand.Rand, text []byte) (forged []byte, how string, never bool) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	out := append([][]byte(nil), lines...)
	at := 1 + rng.IntN(len(lines)-1)
	// Lines before the tree state columns and rows that hold in any case.
	tree := !regexp.MustCompile(`^{"(interior|choice|concave|product|slope|strong|range)"`).Match(out[at])
	join := func() []byte { return append(bytes.Join(out, []byte("\n")), '\n') }
	switch rng.IntN(9) {
	case 8:
		for i, line := range out {
			if bytes.HasPrefix(line, []byte(`{"range"`)) && rng.IntN(2) == 0 {
				out[i] = forgeNumber(rng, line)
				return join(), "a range changed", false
			}
		}
		return join(), "a range changed", false
	case 7:
		for i, line := range out {
			if bytes.HasPrefix(line, []byte(`{"interior"`)) && rng.IntN(2) == 0 {
				out[i] = forgeNumber(rng, line)
			}
		}
		return join(), "a number of an interior changed", false
	case 0:
		out = append(out[:at], out[at+1:]...)
		return join(), "a line dropped", tree
	case 1:
		out = append(out[:at+1], out[at:]...)
		return join(), "a line twice", tree
	case 2:
		other := 1 + rng.IntN(len(lines)-1)
		out[at], out[other] = out[other], out[at]
		return join(), "two lines swapped", false
	case 3:
		out[at] = bytes.Replace(out[at], []byte(`"bound"`), []byte(`"empty"`), 1)
		return join(), "a leaf called empty", false
	case 4:
		for i, line := range out {
			if bytes.Contains(line, []byte(`"pair"`)) && rng.IntN(2) == 0 {
				out[i] = []byte(fmt.Sprintf(`{"pair":%d}`, rng.IntN(8)))
				break
			}
		}
		return join(), "another pair", false
	case 5:
		out[0] = []byte(`{"tree":1,"duality":true}`)
		if bytes.Contains(lines[0], []byte("duality")) {
			out[0] = []byte(`{"tree":1}`)
		}
		return join(), "strong duality, or none", false
	}
	var leaf map[string]map[string]*entries
	if json.Unmarshal(out[at], &leaf) == nil {
		for _, weights := range leaf {
			for _, name := range []string{"duality", "slopes", "levels", "lower", "stationarity", "upper", "coupled", "z"} {
				if e := weights[name]; e != nil && rng.IntN(2) == 0 {
					k := rng.IntN(len(e.Val))
					switch rng.IntN(3) {
					case 0:
						e.Val[k] = -e.Val[k]
					case 1:
						e.Val[k] *= 1 + 2*rng.Float64()
					default:
						e.Val[k] += rng.NormFloat64()
					}
					break
				}
			}
		}
		out[at], _ = json.Marshal(leaf)
	}
	return join(), "a weight changed", false
}

// A forged proof is refused, or shows what is true all the same; none shows more.
func TestForgedProofsShowNothingFalse(t *testing.T) {
	rng := members.Rand(t, 3)
	refused, less, true_ := map[string]int{}, map[string]int{}, map[string]int{}
	for range 150 {
		p := random(rng, randomFeatures(rng))
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		text, want := proofOf(t, sys, r), enumerate(t, sys)
		for range 30 {
			forged, how, never := forge(rng, text)
			report, err := certify.VerifyTree(p, bytes.NewReader(forged), "")
			switch {
			case err != nil:
				refused[how]++
			case never && !math.IsInf(want, 1): // that nothing is feasible shows without what a part is
				t.Fatalf("%s, and accepted:\n%s\nfrom\n%s", how, forged, text)
			case report.Bound > want+1e-8*(1+math.Abs(want)):
				t.Fatalf("%s: proved %.17g, and the least value is %.17g:\n%s", how, report.Bound, want, forged)
			case report.Bound < r.Claim():
				less[how]++
			default:
				true_[how]++
			}
		}
	}
	t.Logf("refused %v, show less than claimed %v, change nothing %v", refused, less, true_)
	for _, how := range []string{"a line dropped", "a line twice", "two lines swapped", "a leaf called empty", "another pair", "strong duality, or none", "a weight changed"} {
		if refused[how] == 0 {
			t.Errorf("%s: never refused", how)
		}
	}
}

// A bound above the truth has no proof: the writer says so, or what it writes does not show it.
func TestRaisedBoundsHaveNoProof(t *testing.T) {
	rng := members.Rand(t, 4)
	tried := 0
	for range 100 {
		p := random(rng, randomFeatures(rng))
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved {
			continue
		}
		tried++
		raised := r.Best.F + 1e-4*(1+math.Abs(r.Best.F))
		var out bytes.Buffer
		if WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: raised, Accepts: func([]byte, float64) error { return nil }}) != nil {
			continue
		}
		if report, err := certify.VerifyTree(p, bytes.NewReader(out.Bytes()), ""); err == nil && report.Bound >= raised {
			t.Fatalf("proved %g, and a point has %g", report.Bound, r.Best.F)
		}
	}
	if tried < 50 {
		t.Errorf("only %d cases", tried)
	}
}

// Data in decimals, of columns and rows whose units differ by powers of ten: what whole numbers make degenerate is so to the rounding of the data, and a multiplier without an end is left a cost that has exactly the wrong sign.
// Weights beside those, other rows or a branch more show the bound in all but a few (one in a hundred), where rows that are parallel but for the rounding of the data leave multipliers of 1e16 that exactly balance them.
func TestProofsInDecimals(t *testing.T) {
	rng := members.Rand(t, 17)
	proved, refused, without := 0, 0, 0 // without: no proof
	for k := range members.Of(30, 60) {
		p := decimal(rng)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 3000})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved {
			continue
		}
		proved++
		verifier, out, some := certify.NewTreeVerifier(p, ""), &bytes.Buffer{}, 0
		err = WriteProof(context.Background(), out, sys, r.State, Statement{Bound: r.Claim(), Accepts: func(line []byte, least float64) error {
			err := verifier.Take(line, least)
			if err != nil {
				some = 1
			}
			return err
		}})
		refused += some
		if err != nil {
			without++
			t.Logf("member %d: %v", k, err)
			continue
		}
		report, err := certify.VerifyTree(p, out, "")
		switch {
		case err != nil:
			t.Errorf("member %d: %v", k, err)
		case report.Bound < r.Claim() || report.Bound > r.Best.F+1e-8*(1+math.Abs(r.Best.F)):
			t.Errorf("member %d: claimed %.17g, proved %.17g, and a point has %.17g", k, r.Claim(), report.Bound, r.Best.F)
		}
	}
	t.Logf("%d proved, %d with leaves that were refused, %d without a proof", proved, refused, without)
	if proved == 0 || 10*without > proved {
		t.Errorf("%d of %d have no proof", without, proved)
	}
}

// decimal is linear in both levels: minimize c'x + d'y over x in a box, y the least of q'y over y >= 0 and A x + B y <= b.
func decimal(rng *rand.Rand) *problem.Problem {
	const nx, ny, m = 12, 12, 12
	power := func(least, most int) float64 { return math.Pow(10, float64(least+rng.IntN(most-least+1))) }
	f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
	rows := &problem.Rows{}
	a, b := sparse.Empty(nx), sparse.Empty(ny)
	end := func(side float64) {
		a.EndRow()
		b.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, side)
	}
	column := make([]float64, ny)
	for j := range column {
		column[j] = power(-2, 3)
		f.l[nx+j], g.l[nx+j] = float64(rng.IntN(17)-8)*column[j], float64(rng.IntN(20)-9)*column[j]
		b.Append(j, 1) // as A x - B y - b <= 0
		end(0)
	}
	x := &problem.Set{Lo: make([]float64, nx), Hi: slices.Repeat([]float64{10}, nx)}
	for j := range nx {
		f.l[j] = float64(rng.IntN(9) - 5)
	}
	for i := range m {
		unit := power(-2, 2)
		for j := range nx {
			if v := rng.IntN(7) - 3; i > 0 && v != 0 && rng.IntN(2) == 0 {
				a.Append(j, float64(v)*unit)
			}
		}
		for j, of := range column {
			v := rng.IntN(8) - 2
			if rng.IntN(2) == 0 {
				v = 0
			}
			if i == 0 {
				v = 1 + max(v, -v) // y is bounded
			}
			if v != 0 {
				b.Append(j, -float64(v)*of*unit)
			}
		}
		end(float64(20+rng.IntN(120)) * unit)
	}
	rows.A, rows.B = a, b
	return &problem.Problem{Name: "decimal", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
}

// A proof whose context ends is whole, or its error is the context's, whatever leaves that are not solved any more show.
func TestProofsEndWithTheirContext(t *testing.T) {
	rng := members.Rand(t, 12)
	ended := 0
	for k := 0; k < 200 && ended < 20; k++ {
		sys, err := kkt.New(random(rng, randomFeatures(rng)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		count := func([]byte, float64) error { whole++; return nil }
		if r.Outcome != Proved || WriteProof(context.Background(), &bytes.Buffer{}, sys, r.State, Statement{Bound: r.Claim(), Accepts: count}) != nil || whole < 6 {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		lines, end := 0, 2+rng.IntN(whole-4)
		err = WriteProof(ctx, &bytes.Buffer{}, sys, r.State, Statement{Bound: r.Claim(), Accepts: func([]byte, float64) error {
			if lines++; lines == end {
				cancel()
			}
			return nil
		}})
		if ended++; err == nil && lines < whole || err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("case %d: ended at line %d of %d, went on to %d: %v", k, end, whole, lines, err)
		}
		cancel()
	}
	if ended < 10 {
		t.Errorf("only %d proofs", ended)
	}
}
