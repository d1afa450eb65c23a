package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
)

// proofOf writes the proof of a result.
func proofOf(t *testing.T, sys *kkt.System, r *Result) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim()}); err != nil {
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
		if WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: raised}) != nil {
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
