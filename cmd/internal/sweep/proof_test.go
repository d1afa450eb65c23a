package sweep_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/members"
	"bilevelc/ir/data"
)

// Jobs write the proofs of their bounds, which hold for the optimum in closed form and
// verify, each with its own model and data alone.
func TestProofs(t *testing.T) {
	var list []map[string]string
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 34))
		write := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		list = append(list, map[string]string{"cap": write(6 * rng.Float64()), "slope": write(0.8 + rng.Float64())})
	}
	f, inputs := fixed()
	f.Proof = true
	plan, err := sweep.NewPlan(f, sweep.Space{List: list})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := sweep.Create(t.TempDir(), plan, inputs, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	ctx := context.Background()
	if err := folder.Run(ctx, folder.Missing(sweep.Shard{}, false), 2, nil); err != nil {
		t.Fatal(err)
	}
	table, err := folder.Table(false)
	if err != nil {
		t.Fatal(err)
	}
	cell := func(name string, i int) data.Cell { return table.Columns[table.Column(name)].Cells[i] }
	runner := &sweep.Runner{Inputs: folder}
	failed := func(j sweep.Job) string {
		report, err := folder.Verify(ctx, runner, j)
		if err != nil {
			return err.Error()
		}
		proved := false
		for _, c := range report.Checks {
			proved = proved || strings.HasPrefix(c.Claim, "global: no feasible point")
		}
		if !proved {
			t.Errorf("%v: the proof is not among what was checked", j.At)
		}
		if len(report.Failures()) > 0 {
			return report.Failures()[0].String()
		}
		return ""
	}
	for i, j := range plan.Jobs {
		// The follower buys (8 - price)/slope, at most cap; price' * amount is concave in what is sold.
		most, slope := cell("cap", i).Number, cell("slope", i).Number
		sold := min(most, 4/slope)
		want := sold * (8 - slope*sold)
		r, err := folder.Result(j.Key)
		if err != nil || r.Global == nil {
			t.Fatalf("%v: %v", j.At, err)
		}
		if bound := float64(r.Global.Bound); bound < want*(1-1e-12) || bound > want*(1+1e-5) {
			t.Errorf("%v: bound %v, and the optimum is %v", j.At, bound, want)
		}
		if got := cell("proof", i).Text; got != filepath.Join("results", j.Key+".proof") {
			t.Errorf("%v: the table names the proof %q", j.At, got)
		}
		if why := failed(j); why != "" {
			t.Errorf("%v: %s", j.At, why)
		}
	}
	c, err := folder.Counts()
	if err != nil || c.Proofs != len(plan.Jobs) || c.Unproved != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if left, err := os.ReadDir(filepath.Join(folder.Path, "unfinished")); err != nil || len(left) != 0 {
		t.Errorf("%d files are left over (%v)", len(left), err)
	}
	// The proof of another job proves nothing of this one, nor does none.
	of := func(k int) string { return filepath.Join(folder.Path, "results", plan.Jobs[k].Key+".proof") }
	other, err := os.ReadFile(of(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(of(1), other, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(of(2)); err != nil {
		t.Fatal(err)
	}
	for k, fails := range map[int]bool{0: false, 1: true, 2: true} {
		if why := failed(plan.Jobs[k]); (why != "") != fails {
			t.Errorf("job %d: %q", k, why)
		}
	}
}

// What no job could do is refused with the plan; where there is no bound, the job has its result and says why no proof.
func TestSearchOfJobs(t *testing.T) {
	f, inputs := fixed()
	for name, change := range map[string]func(*sweep.Fixed){
		"gap": func(f *sweep.Fixed) { f.Gap = -1 }, "not a number": func(f *sweep.Fixed) { f.Gap = math.NaN() }, "nodes": func(f *sweep.Fixed) { f.Nodes = -1 },
		"local": func(f *sweep.Fixed) { f.Search, f.Proof = sweep.Local, true },
	} {
		g := f
		change(&g)
		if _, err := sweep.NewPlan(g, sweep.Space{Axes: axes(t, "cap=1,2")}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	f.Proof = true
	if _, err := sweep.NewPlan(f, sweep.Space{Axes: axes(t, "start=1..3")}); err == nil {
		t.Error("a proof of one start: accepted")
	}
	f.Method = "pgd" // by name, without a search
	plan, err := sweep.NewPlan(f, sweep.Space{Axes: axes(t, "cap=1,2")})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := sweep.Create(t.TempDir(), plan, inputs, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := folder.Run(context.Background(), folder.Missing(sweep.Shard{}, false), 2, func(o sweep.Outcome) {
		if o.Unproved == "" || o.Proof != "" {
			t.Errorf("%+v", o)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if c, err := folder.Counts(); err != nil || c.Done != 2 || c.Unproved != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}
