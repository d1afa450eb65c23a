package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"bilevelc/ir/datafile"
	"bilevelc/runtime"
)

const roads = `model roads
set city
set road(from, to) within city * city
data cost: [road]
upper {
  var toll: [road] in box(0, 1)
  minimize sum((i, j) in road: (flow[i, j] - 1)^2) + 0.1 * sumsq(toll)
}
lower {
  var flow: [road] in nonneg
  var plan: [city, 2, city]
  minimize sum((i, j) in road: (cost[i, j] + toll[i, j]) * flow[i, j] + flow[i, j]^2) + sumsq(plan - 1)
  subject to
    leave: forall c in city: sum((i, j) in road if i == c: flow[i, j]) == 1
}
report {
  first = flow["Rome", "Oslo"]
  squares = flow .* flow
}
`

// Results carry labels, read back with them, and serve as points.
func TestResultsHaveLabels(t *testing.T) {
	model, err := runtime.Compile("roads.blv", roads)
	if err != nil {
		t.Fatal(err)
	}
	set, list := datafile.Read(datafile.JSON, "d.json", `{"city": ["Rome", "Oslo"], "road": [["Rome", "Oslo"], ["Oslo", "Rome"]],
		"cost": {"Oslo": {"Rome": 2}, "Rome": {"Oslo": 1}}}`, "")
	if list.HasErrors() {
		t.Fatal(list)
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil || result.Status != runtime.Solved {
		t.Fatal(err, result)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"flow":{"Rome":{"Oslo":1},"Oslo":{"Rome":1}}`, `"leave":{"Rome":-`, `"toll":{"Rome":{"Oslo":0`,
		`"plan":{"Rome":{"1":{"Rome":1,"Oslo":1},"2":{"Rome":1,"Oslo":1}},"Oslo":`, `"squares":{"Rome":{"Oslo":1}`, `"first":1`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	var shown strings.Builder
	if err := result.WriteText(&shown, runtime.TextOptions{}); err != nil || !strings.Contains(shown.String(), `flow["Rome", "Oslo"]`) {
		t.Errorf("the text lacks labels: %v\n%s", err, shown.String())
	}
	var again runtime.Result
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	written := func(r *runtime.Result) string {
		var b strings.Builder
		if err := r.WriteText(&b, runtime.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if one, two := written(result), written(&again); !strings.Contains(one, `flow["Rome", "Oslo"]`) || one != two {
		t.Errorf("written as\n%s\nand, read from the document, as\n%s", one, two)
	}
	report, err := problem.Verify(&again)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if !c.OK {
			t.Errorf("verify: %+v", c)
		}
	}
	for text, want := range map[string]string{
		`{"toll": {"Oslo": {"Rome": 0.25}, "Rome": {"Oslo": 0.75}}}`: "",
		`{"toll": {"Oslo": {"Rome": 0.25}}}`:                         `toll["Rome", "Oslo"] is missing`,
		`{"toll": {"Oslo": {"Riga": 0.25}}}`:                         `toll has no entry toll["Oslo", "Riga"]`,
		`{"toll": [0.75, 0.25]}`:                                     "",
		`{"toll": 1}`:                                                "toll is declared as vector[2] but given as a number",
	} {
		var point runtime.Values
		if err := json.Unmarshal([]byte(text), &point); err != nil {
			t.Fatal(err)
		}
		r, err := problem.Eval(context.Background(), point, runtime.Options{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(text, err)
		}
		toll, _ := r.Upper.Variables.Get("toll")
		if a, ok := toll.At("Rome", "Oslo"); !ok || a != 0.75 {
			t.Errorf("%s: toll is %+v", text, toll)
		}
	}
}

// Proofs call entries by their labels.
func TestProofsUseLabels(t *testing.T) {
	model, err := runtime.Compile("bent.blv", `model bent
set city = {"Rome", "Oslo"}
data bend: [city] = [1, -1]
upper {
  var x: real in box(0, 1)
  minimize x + sum(y)
}
lower {
  var y: [city]
  minimize sum(c in city: bend[c] * (y[c] - x)^2)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Bind(nil, runtime.BindOptions{Seed: 1})
	list, _ := listOf(err)
	if len(list) != 1 || !strings.Contains(list[0].Detail, `along y["Oslo"]`) {
		t.Errorf("%v: %+v", err, list)
	}
}

// TestLabelsInFaults: a value outside a domain that no linear row is, as its argument is none, names the entries behind it by label, and
// following the advice of the code, bounds that keep them inside, gives a solution.
func TestLabelsInFaults(t *testing.T) {
	model := func(set string) string {
		return "model m\nset city = {\"Rome\", \"Oslo\"}\nupper {\n  var x: [city] in box(0, 1)\n  minimize sum(x) + sumsq(y)\n}\n" +
			"lower {\n  var y: [city]" + set + "\n  minimize sumsq(y - x) - log(exp(y[\"Oslo\"]) - 20)\n}\n"
	}
	for set, want := range map[string]runtime.Status{"": runtime.NumericalFailure, " in box(3.01, 9)": runtime.Solved} {
		m, err := runtime.Compile("m.blv", model(set))
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		warned := strings.Contains(p.Warnings.Error(), "E0705")
		if warned != (set == "") {
			t.Errorf("%q: %v", set, p.Warnings)
		}
		res, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
		if err != nil || res.Status != want {
			t.Errorf("%q: %v %v %v", set, err, res.Status, res.Reason)
		}
		if set == "" && !strings.Contains(res.Reason, `where y["Oslo"] = `) {
			t.Errorf("%s", res.Reason)
		}
	}
}
