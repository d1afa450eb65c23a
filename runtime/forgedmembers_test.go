package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	for name, d := range documents(t) {
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
		for _, method := range []string{SystemMethod, "pgd", "bundle", "goldstein", "izo"} {
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
			if g == nil || r.Method != "bundle" {
				return false
			}
			g.Delta *= 1e3 + 1e4*rng.Float64()
			r.Stationarity.Delta = Number(g.Delta)
			return true
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
