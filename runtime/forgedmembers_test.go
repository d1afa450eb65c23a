package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
)

// Documents whose settings, method, radius or members are not those that their certificate fits, sealed again, do not pass.
func TestForgedMembers(t *testing.T) {
	system := mustBind(t, kinkedModel)
	strong, err := system.Solve(t.Context(), Options{})
	if err != nil || strong.Status != Solved || strong.Certificate.Strong == nil {
		t.Fatalf("%v, %+v", err, strong)
	}
	seed := uint64(0)
	for k := range members.Seeds(t, 10) {
		seed = k
		break
	}
	rng := rand.New(rand.NewPCG(seed, 41))
	refused := 0
	all := documents(t)
	sampled, err := system.Solve(t.Context(), Options{Method: "goldstein"})
	if err != nil || sampled.Status != Solved || sampled.Certificate.Goldstein == nil {
		t.Fatalf("%v, %+v", err, sampled)
	}
	own := all["kinked"]
	own.problem = system
	if own.text, err = json.Marshal(sampled); err != nil {
		t.Fatal(err)
	}
	all["goldstein"] = own
	for name, d := range all {
		if name == "spent" || name == "limit" {
			continue
		}
		forge := func(what string, change func(r *Result) bool) {
			t.Helper()
			r, err := ReadResult(d.text)
			if err != nil {
				t.Fatal(err)
			}
			if !change(r) {
				return
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			refused++
			if passes(d.problem, text) {
				t.Errorf("%s: %s passes", name, what)
			}
		}
		set := func(key string, v any) func(r *Result) bool {
			return func(r *Result) bool {
				if r.Settings == nil {
					r.Settings = map[string]any{}
				}
				r.Settings[key] = v
				return true
			}
		}
		forge("a setting that there is not", set("nonsense", 1.0))
		forge("an epsilon of 1e9", func(r *Result) bool { return r.Method != "" && set("epsilon", 1e9)(r) })
		for _, method := range []string{SystemMethod, "pgd", "goldstein", "izo"} {
			forge("the method "+method, func(r *Result) bool {
				c := r.Certificate
				if r.Method == "" || method == r.Method || c.GradientMapping == nil && method != SystemMethod {
					return false // a Goldstein certificate is one of other methods, too
				}
				if method == "pgd" && c.GradientMapping != nil {
					return false
				}
				r.Method, r.Settings = method, nil
				return true
			})
		}
		forge("a certificate of the KKT system", func(r *Result) bool {
			if r.Method == "" {
				return false
			}
			r.Certificate.Strong = &certify.Strong{}
			*r.Certificate.Strong = *strong.Certificate.Strong
			return true
		})
		forge("a radius that grew with the distance of x", func(r *Result) bool {
			g := r.Certificate.Goldstein
			if g == nil || r.Method != "goldstein" {
				return false
			}
			g.Delta *= 1e3 + 1e4*rng.Float64()
			r.Stationarity.Delta = Number(g.Delta)
			return true
		})
		forge("another x, with a radius that covers the samples", func(r *Result) bool {
			g := r.Certificate.Goldstein
			if g == nil || r.Method == "" {
				return false
			}
			return moved(t, d.problem, r, 1e-2*rng.Float64()+1e-3)
		})
		// A member twice, of which this reader and others take different ones.
		var members map[string]json.RawMessage
		if err := json.Unmarshal(d.text, &members); err != nil {
			t.Fatal(err)
		}
		for key, value := range members {
			twice := fmt.Sprintf("{%q:%s,", key, value) + strings.TrimPrefix(string(bytes.TrimSpace(d.text)), "{")
			refused++
			if passes(d.problem, []byte(twice)) {
				t.Errorf("%s: a document with two members %q passes", name, key)
			}
		}
		if !passes(d.problem, d.text) {
			t.Errorf("%s: untouched, it does not pass", name)
		}
	}
	t.Logf("%d refused", refused)
}

// moved makes a document one of an x that is moved by a share of x, with everything that an evaluation says there and the samples of the certificate as they were, within a larger radius.
func moved(t *testing.T, p *Problem, r *Result, share float64) bool {
	t.Helper()
	at, way := r.Upper.Variables, 0.0
	for i, v := range at {
		v.Data = slices.Clone(v.Data)
		for k, u := range v.Data {
			v.Data[k] = u * (1 - share)
			way = math.Hypot(way, u*share)
		}
		at[i] = v
	}
	there, err := p.Eval(t.Context(), at, Options{offSystem: true})
	if err != nil || there.Status != Solved || there.Certificate.Lower == nil {
		return false
	}
	g := r.Certificate.Goldstein
	g.Delta += way
	r.Stationarity.Delta = Number(g.Delta)
	r.Upper, r.Lower, r.Residuals, r.Report = there.Upper, there.Lower, there.Residuals, there.Report
	r.Certificate.Lower, r.Stationarity.Strict, r.Stationarity.GradientError = there.Certificate.Lower, there.Stationarity.Strict, there.Stationarity.GradientError
	return true
}
