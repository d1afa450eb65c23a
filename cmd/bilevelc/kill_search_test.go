//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"bilevelc/runtime/status"
)

// plants are opened by the leader at a cost, and towns are served by the follower at least cost of its own, congested: the search of some hundred nodes
// has to find its first point.
const plants = `model plants
param n: int = 5
param k: int = 6
data open: vector[n]
data ship: matrix[n, k]
data pays: matrix[n, k]
data need: vector[k]
upper {
  var on: vector[n] binary
  minimize open' * on + sum(i in 1..n, t in 1..k: pays[i, t] * y[i, t]) + 15 * sum(without)
}
lower {
  var y: matrix[n, k] in nonneg
  var without: vector[k] in nonneg
  minimize sum(i in 1..n, t in 1..k: ship[i, t] * y[i, t] + 0.25 * y[i, t]^2) + 20 * sum(without)
  subject to
    room: forall i in 1..n: sum(t in 1..k: y[i, t]) <= 3 + 12 * on[i]
    served: forall t in 1..k: sum(i in 1..n: y[i, t]) + without[t] >= need[t]
}
solve { ties = optimistic }
`

// A search that is interrupted keeps its bound and the best point that it has found, and one that is killed what its last checkpoint holds; both go on from there, on another number of threads, to
// the document of a search that was let be.
func TestInterruptedSearch(t *testing.T) {
	program, err := exec.LookPath("bilevelc") // set up by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	numbers := func(n int, of func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = of()
		}
		return v
	}
	table := func(from, to int) (all [][]float64) {
		for range 5 {
			all = append(all, numbers(6, func() float64 { return float64(from + rng.IntN(to-from+1)) }))
		}
		return all
	}
	data, err := json.Marshal(map[string]any{"open": numbers(5, func() float64 { return float64(5 + rng.IntN(16)) }), "ship": table(1, 9), "pays": table(-2, 4),
		"need": numbers(6, func() float64 { return float64(3 + rng.IntN(5)) })})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"plants.blv": []byte(plants), "plants.json": data} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := func(more ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"plants.blv", "-d", "plants.json", "--json", "--global"}, more...)...)
		cmd.Dir = dir
		return cmd
	}
	type result struct {
		Status string
		Upper  struct{ Objective any }
		Global struct {
			Proved bool
			Bound  any
			Nodes  int64
		}
	}
	read := func(text []byte) (r result) {
		t.Helper()
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return r
	}
	whole, err := command().Output()
	want := document(t, whole, err)
	end := read(whole)
	optimum, ok := end.Upper.Objective.(float64)
	if !ok || !end.Global.Proved || end.Global.Nodes < 200 {
		t.Fatalf("%+v", end)
	}
	slack := 1e-6 * optimum
	args, nodes, points, stops, kills := []string{"--checkpoint", "c.json"}, int64(0), 0, 0, 0
	for round := range 100 {
		if _, err := os.Stat(filepath.Join(dir, "c.json")); err == nil {
			args = append(args[:2:2], "--resume", "c.json")
		}
		with, how := "1h", syscall.SIGINT
		if round%2 == 1 {
			with, how = "1ns", syscall.SIGKILL
		}
		cmd := command(append([]string{"--threads", []string{"1", "2"}[round/2%2], "--trace", "t.csv", "--checkpoint-every", with}, args...)...)
		var out bytes.Buffer
		cmd.Stdout = &out
		_ = os.Remove(filepath.Join(dir, "t.csv"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		err := interruptSoon(cmd, ended, filepath.Join(dir, "t.csv"), how)
		if how == syscall.SIGKILL && out.Len() == 0 {
			kills++
			continue
		}
		r := read(out.Bytes())
		if r.Status != "interrupted" {
			if got := document(t, out.Bytes(), err); !reflect.DeepEqual(got, want) {
				t.Errorf("after %d interruptions and %d kills%s", stops, kills, differences(got, want, ""))
			}
			break
		}
		stops++
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != status.Interrupted.Exit(r.Upper.Objective != "NaN") {
			t.Errorf("ended with %v", err)
		}
		if bound, ok := r.Global.Bound.(float64); ok && bound > optimum+slack || r.Global.Proved || r.Global.Nodes < nodes {
			t.Errorf("a bound of an optimum of %v, after %d nodes: %+v", optimum, nodes, r.Global)
		}
		nodes = r.Global.Nodes
		if F, ok := r.Upper.Objective.(float64); ok {
			points++
			if F < optimum-slack {
				t.Errorf("a point of %v, the optimum is %v", F, optimum)
			}
		}
	}
	t.Logf("%d nodes, %d interruptions, %d with a point, killed %d times", end.Global.Nodes, stops, points, kills)
	if stops == 0 || points == 0 || kills == 0 {
		t.Errorf("%d interruptions, %d with a point, killed %d times", stops, points, kills)
	}
}

// interruptSoon sends a run a signal once it has written of some ten rounds, and waits for its end.
func interruptSoon(cmd *exec.Cmd, ended <-chan error, file string, how os.Signal) error {
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond / 4):
		}
		if info, err := os.Stat(file); err == nil && info.Size() > 6000 {
			_ = cmd.Process.Signal(how) // it may have ended
			return <-ended
		}
	}
}
