package queue_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/cmd/internal/sweep/queue"
)

const model = `
model shelf
param cap: real
upper {
  var price: real in box(0, 10)
  maximize price * amount
}
lower {
  var amount: real in nonneg
  minimize 0.5 * amount^2 - (8 - price) * amount
  subject to
    shelf: amount <= cap
}
`

// folder is a sweep of as many jobs as there are caps.
func folder(t *testing.T) *sweep.Folder {
	t.Helper()
	hash := sweep.HashOf([]byte(model))
	axis, err := sweep.ParseAxis("cap=0.5:6:0.5")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := sweep.NewPlan(sweep.Fixed{Model: sweep.Input{Name: "shelf.blv", Hash: hash}, Seed: 1, Proof: true}, sweep.Space{Axes: []sweep.Axis{axis}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sweep.Create(filepath.Join(t.TempDir(), "shelf.sweep"), plan, map[string][]byte{hash: []byte(model)}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A queue and its workers in one process, for the race detector: two workers with two
// jobs at a time each, and one that leaves in the middle. What arrives is what the pool
// of this process makes.
func TestQueueInOneProcess(t *testing.T) {
	f := folder(t)
	url, token, stop, err := queue.Serve(f, "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var wait sync.WaitGroup
	for k, jobs := range []int{2, 2, 1} {
		conn, err := queue.Connect(url, "worker", sweep.Security{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		own, leave := context.WithCancel(ctx)
		defer leave()
		w := &queue.Worker{Conn: conn, Name: string(rune('a' + k)), Jobs: jobs}
		if k == 2 {
			w.Watch = func(sweep.Outcome) { leave() }
		}
		wait.Go(func() {
			if err := w.Run(own); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("worker %d: %v", k, err)
			}
		})
	}
	conn, err := queue.Connect(url, "coordinator", sweep.Security{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	seen := 0
	c := &queue.Coordinator{Folder: f, Conn: conn, Redeliver: 2 * time.Second, Watch: func(sweep.Outcome) { seen++ }}
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	end()
	wait.Wait()
	alone := folder(t)
	if err := alone.Run(context.Background(), alone.Plan.Jobs, 2, nil); err != nil {
		t.Fatal(err)
	}
	for _, j := range f.Plan.Jobs {
		a, err := f.Result(j.Key)
		if err != nil || a == nil {
			t.Fatalf("%s: %v", j.Key, err)
		}
		proof, err := os.ReadFile(filepath.Join(f.Path, "results", j.Key+".proof"))
		want, failed := os.ReadFile(filepath.Join(alone.Path, "results", j.Key+".proof"))
		if err != nil || failed != nil || len(proof) == 0 || !bytes.Equal(proof, want) {
			t.Errorf("%s: another proof than the pool's (%v, %v)", j.Key, err, failed)
		}
		b, err := alone.Result(j.Key)
		if err != nil || a.Seal == "" || a.Seal != b.Seal {
			t.Errorf("%s: another result than the pool's (%v)", j.Key, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(f.Path, "unfinished")); err != nil || len(left) != 0 {
		t.Errorf("%d files are left over (%v)", len(left), err)
	}
	entries, err := os.ReadDir(filepath.Join(f.Path, "results"))
	if err != nil || len(entries) != 2*len(f.Plan.Jobs) || seen != len(f.Plan.Jobs) {
		t.Errorf("%d results, %d ends, for %d jobs (%v)", len(entries), seen, len(f.Plan.Jobs), err)
	}
}
