package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// sweptModel has 40 jobs in TestSweepOfWorkers, 200 in full.
const sweptModel = `
model shelf
param cap: real
upper {
  var price: vector[3] in box(0, 10)
  maximize price' * amount
}
lower {
  var amount: vector[3] in nonneg
  minimize 0.5 * sumsq(amount) + sum(log1pexp(amount)) - (8 - price)' * amount
  subject to
    shelf: sum(amount) <= cap
}
`

// documents are the results of a sweep without their times, by job. The seals that the
// runtime puts on them, of all but the times, are compared apart.
func documents(t *testing.T, dir string) (docs, seals map[string]string) {
	t.Helper()
	f, err := sweep.Open(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "results"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(f.Plan.Jobs) {
		t.Errorf("%s: %d files in results for %d jobs", dir, len(entries), len(f.Plan.Jobs))
	}
	docs, seals = map[string]string{}, map[string]string{}
	for _, j := range f.Plan.Jobs {
		text, err := os.ReadFile(filepath.Join(dir, "results", j.Key+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.UseNumber() // every digit
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		seals[j.Key], _ = doc["seal"].(string)
		for _, times := range []string{"time", "phases"} {
			if doc[times] == nil {
				t.Fatalf("%s has no %s", j.Key, times)
			}
			delete(doc, times)
		}
		untimed(doc)
		plain, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		docs[j.Key] = string(plain)
	}
	return docs, seals
}

// untimed leaves the times out of the course of a run.
func untimed(doc map[string]any) {
	trace, _ := doc["trace"].(map[string]any)
	delete(trace, "time")
	delete(trace, "seconds")
}

// withQueue builds the program that holds the queue, once, beside this one, and gives the path of
// this one.
func withQueue(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("bilevelc") // set up by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	if err := buildQueue(filepath.Join(filepath.Dir(bin), queueName)); err != nil {
		t.Fatal(err)
	}
	return bin
}

// buildQueue is called in the folder of this package, and again anywhere.
func buildQueue(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "nats", "-o", path, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// background starts a process of the real command and gives its error stream.
func background(t *testing.T, bin string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(bin, args...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// 40 jobs, 200 in full, on four worker processes, two of which are killed at random moments, while
// the server is killed and started again once: every result is there exactly once, and
// is that of a run on one machine, to the last bit.
func TestSweepOfWorkers(t *testing.T) {
	seeds, starts := 4, []string{"--starts", "4"}
	if members.Full() {
		seeds, starts = 20, nil
	}
	jobs := 10 * seeds
	dir := t.TempDir()
	bin := withQueue(t)
	model := filepath.Join(dir, "shelf.blv")
	if err := os.WriteFile(model, []byte(sweptModel), 0o666); err != nil {
		t.Fatal(err)
	}
	over := append([]string{"--over", "cap=1:10:1", "--over", fmt.Sprintf("seed=1..%d", seeds)}, starts...)
	alone := filepath.Join(dir, "alone")
	if text, err := exec.Command(bin, append([]string{"sweep", model, "--dir", alone}, over...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	port.Close()
	queued := filepath.Join(dir, "queued")
	serve := append([]string{"sweep", model, "--dir", queued, "--serve", "--listen", address, "--redeliver", "1s"}, over...)
	server, lines := background(t, bin, serve...)
	if !lines.Scan() || !strings.Contains(lines.Text(), address) {
		t.Fatalf("the server says %q", lines.Text())
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var workers []*exec.Cmd
	for range 4 {
		w, _ := background(t, bin, "worker", "--nats", "nats://"+address, "--token-file", filepath.Join(queued, "queue.token"), "--quiet")
		workers = append(workers, w)
	}
	results := func() int {
		entries, _ := os.ReadDir(filepath.Join(queued, "results"))
		return len(entries)
	}
	// Until there are so many results, some of them under way.
	reach := func(n int) {
		for results() < n {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
	}
	first := jobs/20 + rng.IntN(3*jobs/20)
	reach(first)
	_ = workers[0].Process.Kill()
	second := first + jobs/20 + rng.IntN(3*jobs/20)
	reach(second)
	_ = server.Process.Kill()
	_ = server.Wait()
	restarted, lines := background(t, bin, serve...)
	if !lines.Scan() || !strings.Contains(lines.Text(), address) {
		t.Fatalf("the server, again, says %q", lines.Text())
	}
	reach(second + jobs/40 + rng.IntN(jobs/5))
	_ = workers[1].Process.Kill()
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if err := restarted.Wait(); err != nil {
		t.Fatalf("%v: %s", err, last)
	}
	want, wantSeals := documents(t, alone)
	got, gotSeals := documents(t, queued)
	if len(want) != jobs {
		t.Fatalf("%d jobs", len(want))
	}
	for key, doc := range want {
		if got[key] != doc {
			t.Errorf("job %s: another document than on one machine:\n%s\n%s", key, got[key], doc)
		}
		if gotSeals[key] != wantSeals[key] || gotSeals[key] == "" {
			t.Errorf("job %s: seal %s, on one machine %s", key, gotSeals[key], wantSeals[key])
		}
	}
	// The journals tell of each job's result once as the one that was kept.
	kept := map[string]int{}
	journals, _ := filepath.Glob(filepath.Join(queued, "journal", "*.jsonl"))
	names := map[string]bool{}
	for _, path := range journals {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var e sweep.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				continue // the last line of a process that was killed
			}
			if e.Event == "done" {
				kept[e.Key]++
				names[e.Worker] = true
			}
			if e.Event == "differs" || e.Event == "failed" {
				t.Errorf("journal: %s", line)
			}
		}
	}
	// A kill between the writing of a result and of its line leaves at most that one out.
	if len(kept) < len(want)-1 {
		t.Errorf("journals tell of %d results", len(kept))
	}
	for key, n := range kept {
		if n != 1 {
			t.Errorf("job %s was kept %d times", key, n)
		}
	}
	if len(names) < 3 {
		t.Errorf("only the workers %v did something", names)
	}
}

// The folder alone is the truth: what is lost of the queue changes nothing, and what a
// sweep lacks is done by a run without a queue.
func TestSweepWithoutItsQueue(t *testing.T) {
	withQueue(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "shelf.blv")
	if err := os.WriteFile(model, []byte(sweptModel), 0o666); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (string, string, int) {
		var out, errs strings.Builder
		code := run(context.Background(), args, stdio{strings.NewReader(""), &out, &errs})
		return out.String(), errs.String(), code
	}
	if _, errs, code := command("sweep", model, "--over", "cap=1:4:1", "--jobs", "2", "--serve", "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "s")); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	_, seals := documents(t, filepath.Join(dir, "s"))
	for key := range seals {
		if err := os.Remove(filepath.Join(dir, "s", "results", key+".json")); err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := os.RemoveAll(filepath.Join(dir, "s", "queue")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command("sweep", filepath.Join(dir, "s"), "--shard", "1/1"); code != 0 || !strings.Contains(errs, "4 of 4") {
		t.Fatalf("%d: %s", code, errs)
	}
	if _, again := documents(t, filepath.Join(dir, "s")); fmt.Sprint(again) != fmt.Sprint(seals) {
		t.Error("other results without the queue")
	}
	for _, args := range [][]string{
		{"sweep", model, "--over", "cap=1,2", "--serve", "--listen", "0.0.0.0:0", "--dir", filepath.Join(dir, "open")},
		{"sweep", model, "--over", "cap=1,2", "--serve", "--nats", "nats://127.0.0.1:1", "--dir", filepath.Join(dir, "both")},
		{"sweep", filepath.Join(dir, "s"), "--over", "cap=1,2"},
		{"sweep", model, "--over", "cap=1,2", "--dir", filepath.Join(dir, "s")},
		{"sweep", model, "--over", "cap=2:1:1"},
		{"sweep", model, "--shard", "3/2"},
		{"sweep", "status", dir},
		{"worker"},
		{"worker", "--nats", "nats://127.0.0.1:1", "--jobs", "0"},
	} {
		if _, errs, code := command(args...); code != exitUsage || errs == "" {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
}

// The starts of a run may be the jobs of a sweep: the best is the same, to the last
// digit, in one go and after an interruption.
func TestSolveBySweep(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "waves.blv")
	if err := os.WriteFile(model, []byte("model waves\nupper {\n  var x: real in box(-9, 9)\n  minimize sin(3 * x) + 0.1 * (y - 2)^2\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	solved := func(args ...string) (r runtime.Result) {
		var out, errs strings.Builder
		if code := run(context.Background(), append([]string{"solve", model, "--starts", "12", "--json", "--quiet"}, args...), stdio{strings.NewReader(""), &out, &errs}); code != 0 {
			t.Fatalf("%v: %d, %s", args, code, errs.String())
		}
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole, folder := solved(), filepath.Join(dir, "starts")
	swept := solved("--sweep", folder, "--threads", "2")
	if whole.Upper.Objective != swept.Upper.Objective || whole.Upper.Objective > -0.5 {
		t.Errorf("F = %v, and by a sweep %v", whole.Upper.Objective, swept.Upper.Objective)
	}
	results, err := filepath.Glob(filepath.Join(folder, "results", "*.json"))
	if err != nil || len(results) != 12 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, path := range results[:5] {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if again := solved("--sweep", folder); again.Upper.Objective != whole.Upper.Objective {
		t.Errorf("F = %v after an interruption", again.Upper.Objective)
	}
	for _, args := range [][]string{{"--sweep", folder}, {"--sweep", folder, "--starts", "3", "--start", "x.json"}} {
		var out, errs strings.Builder
		if code := run(context.Background(), append([]string{"solve", model}, args...), stdio{strings.NewReader(""), &out, &errs}); code != exitUsage {
			t.Errorf("%v: %d, %s", args, code, errs.String())
		}
	}
}

// Jobs that have no point are told as solve tells them, whole numbers are found from each start, and what holds
// nothing to check does not fail a verification.
func TestSweepsWithoutPoints(t *testing.T) {
	const whole = "model whole\nparam total: real = 4\nupper {\n  var k: integer in box(0, 3)\n  var j: integer in box(0, 3)\n  minimize (k - 1.6)^2 + y\n  subject to 2 * k + 2 * j == total\n}\nlower {\n  var y: real in box(0, 1)\n  minimize y^2 - k * y\n}\n"
	const none = "model none\nupper {\n  var x: real in box(0, 1)\n  minimize x + y\n}\nlower {\n  var y: real in box(0, 1)\n  minimize (y - x)^2\n  subject to y >= x + 2\n}\n"
	dir := t.TempDir()
	called := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(context.Background(), append(args, "--quiet"), stdio{strings.NewReader(""), &out, &errs})
		return code, out.String(), errs.String()
	}
	for name, text := range map[string]string{"whole": whole, "none": none} {
		model, folder := filepath.Join(dir, name+".blv"), filepath.Join(dir, name)
		if err := os.WriteFile(model, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, _ := called("solve", model, "--json")
		sweptCode, sweptOut, errs := called("solve", model, "--json", "--starts", "3", "--sweep", folder)
		var alone, swept runtime.Result
		if err := errors.Join(json.Unmarshal([]byte(out), &alone), json.Unmarshal([]byte(sweptOut), &swept)); err != nil {
			t.Fatalf("%s: %v, %s", name, err, errs)
		}
		if code != sweptCode || alone.Status != swept.Status || name == "whole" && alone.Upper.Objective != swept.Upper.Objective {
			t.Errorf("%s: %d %v, F = %v, and by a sweep %d %v, F = %v", name, code, alone.Status, alone.Upper.Objective, sweptCode, swept.Status, swept.Upper.Objective)
		}
		if code, out, errs := called("sweep", "verify", folder); code != 0 {
			t.Errorf("%s: %d, %s%s", name, code, out, errs)
		}
	}
	// No whole numbers have an odd sum when doubled, which no document shows without a proof.
	over := filepath.Join(dir, "over")
	if code, _, errs := called("sweep", filepath.Join(dir, "whole.blv"), "--over", "total=2,3", "--dir", over); code != 0 {
		t.Logf("%d, %s", code, errs)
	}
	if code, out, errs := called("sweep", "verify", over); code != 0 || !strings.Contains(out, "1 results checked, 0 failed") || !strings.Contains(out, "nothing to check in 1 further result") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
}

// What no job could be run with is refused before there is a folder.
func TestSweepOfNothingPossible(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "shelf.blv")
	if err := os.WriteFile(model, []byte(sweptModel), 0o666); err != nil {
		t.Fatal(err)
	}
	for over, want := range map[string]string{"cap=1:2": "cap cannot be 1:2", "method=pgd,foo": "there is no method foo", "cap=[1,": "cap cannot be"} {
		var out, errs strings.Builder
		folder := filepath.Join(dir, "folder")
		code := run(context.Background(), []string{"sweep", model, "--over", over, "--dir", folder}, stdio{strings.NewReader(""), &out, &errs})
		if _, err := os.Stat(folder); code != exitUsage || !strings.Contains(errs.String(), want) || err == nil {
			t.Errorf("%s: %d, %s", over, code, errs.String())
		}
	}
}
