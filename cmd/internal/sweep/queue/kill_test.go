package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/cmd/internal/sweep/queue"
	"bilevelc/internal/members"
)

// slowModel takes some tenths of a second with its starts.
const slowModel = `
model slow
param cap: real
upper {
  var x: vector[12] in box(-9, 9)
  minimize sum(i in 1..12: sin(3 * x[i]) + 0.1 * (y[i] - i / 3)^2)
}
lower {
  var y: vector[12]
  minimize sumsq(y - x) + 0.1 * sum(i in 1..11: (y[i+1] - y[i])^2)
  subject to
    shelf: sum(y) <= cap
}
`

// TestWorkersKilledWhileTheyWork: worker processes are killed by signal 9 at random
// instants of a job that they have (3, or 10 in full), one after the other. No job is
// lost, none has two results that differ, and all are those of a run on one machine.
func TestWorkersKilledWhileTheyWork(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bilevelc")
	if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "nats", "-o", bin, "bilevelc/cmd/bilevelc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	kills := 3
	if members.Full() {
		kills = 10
	}
	slow := func() *sweep.Folder {
		hash := sweep.HashOf([]byte(slowModel))
		axis, err := sweep.ParseAxis("cap=1:6:1")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := sweep.NewPlan(sweep.Fixed{Model: sweep.Input{Name: "slow.blv", Hash: hash}, Seed: 1, Starts: 12}, sweep.Space{Axes: []sweep.Axis{axis}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := sweep.Create(filepath.Join(t.TempDir(), "slow.sweep"), plan, map[string][]byte{hash: []byte(slowModel)}, "test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	alone := slow()
	if err := alone.Run(t.Context(), alone.Plan.Jobs, 1, nil); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(t.TempDir(), "slow.blv")
	if err := os.WriteFile(model, []byte(slowModel), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if text, err := exec.Command(bin, "solve", model, "--set", "cap=3", "--starts", "12", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	job := time.Since(began) // of a worker's own binary: this process may have the race detector

	f := slow()
	url, token, stop, err := queue.Serve(f, "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	conn, err := queue.Connect(url, "coordinator", sweep.Security{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := map[string]int{}
	finished := make(chan error, 1)
	go func() {
		c := &queue.Coordinator{Folder: f, Conn: conn, Redeliver: time.Second, Watch: func(o sweep.Outcome) { ended[o.Job.Key]++ }}
		finished <- c.Run(ctx)
	}()
	start := func() (w *exec.Cmd, gone chan error) {
		w, gone = exec.Command(bin, "worker", "--nats", url, "--token-file", token, "--quiet"), make(chan error, 1)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Process.Kill() })
		go func() { gone <- w.Wait() }()
		return w, gone
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, a job takes %v", seed, job)
	rng := rand.New(rand.NewPCG(seed, 0))
	killed := 0
	for range kills {
		w, gone := start()
		var err error
		for taken := false; !taken && err == nil; time.Sleep(2 * time.Millisecond) {
			select {
			case err = <-finished:
				if err == nil {
					err = errors.New("all is done")
				}
			case err := <-gone:
				t.Fatalf("a worker ended by itself: %v", err)
			default:
				if consumer, err := js.Consumer(ctx, "BILEVELC_JOBS", "workers"); err == nil {
					info, err := consumer.Info(ctx)
					taken = err == nil && info.NumAckPending > 0
				}
			}
		}
		if err != nil {
			break
		}
		time.Sleep(time.Duration(rng.Int64N(int64(3 * job / 2))))
		_ = w.Process.Kill() // signal 9
		<-gone
		killed++
	}
	t.Logf("%d workers were killed", killed)
	if killed < min(kills, 2) {
		t.Fatalf("only %d workers were killed while they worked", killed)
	}
	last, gone := start()
	select {
	case err = <-finished:
	case err = <-gone:
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = last.Process.Kill()
	for _, j := range f.Plan.Jobs {
		a, err := f.Result(j.Key)
		if err != nil || a == nil {
			t.Fatalf("%s: %v", j.Key, err)
		}
		b, err := alone.Result(j.Key)
		if err != nil || a.Seal == "" || a.Seal != b.Seal || ended[j.Key] != 1 {
			t.Errorf("%s: %d ends, or another result than on one machine (%v)", j.Key, ended[j.Key], err)
		}
	}
	journals, _ := filepath.Glob(filepath.Join(f.Path, "journal", "*.jsonl"))
	for _, path := range journals {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e sweep.Event
			if json.Unmarshal([]byte(line), &e) == nil && (e.Event == "differs" || e.Event == "failed") {
				t.Errorf("journal: %s", line)
			}
		}
	}
}

// TestQueueIsClosed: who does not show the token of the file is refused, and nobody but
// the owner can read the file, whatever stood there before.
func TestQueueIsClosed(t *testing.T) {
	f := folder(t)
	path := filepath.Join(f.Path, "queue.token")
	if err := os.WriteFile(path, []byte("known to all\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var first string
	for round := range 2 {
		url, token, stop, err := queue.Serve(f, "127.0.0.1:0", "")
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(token)
		if err != nil || token != path || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", token, info.Mode(), err)
		}
		text, err := os.ReadFile(token)
		if err != nil || len(strings.TrimSpace(string(text))) < 40 {
			t.Errorf("the token is %q (%v)", text, err)
		}
		if round == 0 {
			first = string(text)
		} else if string(text) != first {
			t.Error("a server that is started again has another token")
		}
		// A worker and a sweep that show another token end with an error, and do not wait, or say that nothing was to be done.
		wrong := filepath.Join(t.TempDir(), "wrong.token")
		if err := os.WriteFile(wrong, []byte(strings.Repeat("known to all ", 4)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, by := range []sweep.Security{{}, {Token: wrong}} {
			for who, run := range map[string]func(conn *queue.Conn) error{
				"worker": func(conn *queue.Conn) error {
					return (&queue.Worker{Conn: conn, Name: "stranger", Idle: time.Hour}).Run(t.Context())
				},
				"sweep": func(conn *queue.Conn) error {
					return (&queue.Coordinator{Conn: conn, Folder: f}).Run(t.Context())
				},
			} {
				conn, err := queue.Connect(url, who, by)
				if err != nil {
					continue // told at once
				}
				if err := run(conn); !errors.Is(err, nats.ErrAuthorization) {
					t.Errorf("a %s with the token %q ends with %v", who, by.Token, err)
				}
				conn.Close()
			}
		}
		for _, with := range [][]nats.Option{nil, {nats.Token("known to all")}, {nats.Token("")}, {nats.UserInfo("admin", "admin")}} {
			if conn, err := nats.Connect(url, with...); err == nil {
				conn.Close()
				t.Errorf("a stranger is let in, round %d", round)
			}
		}
		conn, err := nats.Connect(url, nats.Token(strings.TrimSpace(string(text))))
		if err != nil {
			t.Error(err)
		} else {
			conn.Close()
		}
		stop()
	}
	for _, open := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if _, _, stop, err := queue.Serve(f, open, ""); err == nil {
			stop()
			t.Errorf("%s is open to other machines", open)
		}
	}
}
