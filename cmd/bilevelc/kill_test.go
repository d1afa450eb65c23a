//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// kills is how many runs of each kind TestKill ends. A dozen is for
// every day, of which a plain run ends four, one of each kind;
//
//	BILEVELC_MEMBERS=full go test ./cmd/bilevelc -run TestKill -kills 100 -timeout 60m -v
//
// is the full campaign.
var kills = flag.Int("kills", 12, "runs that TestKill ends in each way")

// errands are runs that take some tenths of a second, with one start and with
// several, of methods with and without random numbers.
var errands = [][]string{
	{"-m", "pigd", "-o", "iterations=600"},
	severalStarts: {"-m", "goldstein", "--starts", "6", "--seed", "2", "--threads", "2"}, // the last one is worse
	{"-m", "oigrm", "-o", "blocks=20", "-o", "block=20", "-o", "clip=0.3", "-o", "rate=0.01"},
	{"-m", "izo", "-o", "blocks=10", "-o", "block=30", "-o", "clip=0.3", "-o", "rate=0.003", "--starts", "4"},
}

const severalStarts = 1

// TestKill ends runs at random moments in every way that a run is ended from
// outside, goes on from what they left, and compares the result with that of a run
// that was let be: they are the same to the last bit, the calls to f and g included.
func TestKill(t *testing.T) {
	program, err := exec.LookPath("bilevelc") // set up by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("../../examples/toll/toll.blv")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := runtime.Compile("toll.blv", string(model))
	if err != nil {
		t.Fatal(err)
	}
	problem, err := compiled.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := &killing{program: program, model: model, problem: problem}
	for e := range errands {
		k.letBe(t, e)
	}
	k.alone(t)
	for _, way := range []struct {
		name string
		kill func(k *killing, t *testing.T, e int, rng *rand.Rand) string
	}{
		{"SIGINT", func(k *killing, t *testing.T, e int, rng *rand.Rand) string {
			return k.asked(t, e, rng, syscall.SIGINT)
		}},
		{"SIGTERM", func(k *killing, t *testing.T, e int, rng *rand.Rand) string {
			return k.asked(t, e, rng, syscall.SIGTERM)
		}},
		{"SIGHUP", func(k *killing, t *testing.T, e int, rng *rand.Rand) string {
			return k.asked(t, e, rng, syscall.SIGHUP)
		}},
		{"SIGKILL", (*killing).killed},
		{"full disk under the checkpoint", (*killing).fullCheckpoint},
		{"full disk under the result", (*killing).fullResult},
		{"closed pipe", (*killing).closedPipe},
	} {
		t.Run(way.name, func(t *testing.T) {
			outcomes := map[string]int{}
			for i := range members.SeedsOf(t, len(errands), *kills) {
				rng := rand.New(rand.NewPCG(i, 7))
				outcomes[way.kill(k, t, int(i%uint64(len(errands))), rng)]++
			}
			t.Logf("%v", outcomes)
		})
	}
}

// killing knows what each errand's result is when it is let be.
type killing struct {
	program string
	model   []byte
	problem *runtime.Problem
	want    []any
	took    []time.Duration
	ended   int // starts of which states held no more than how they ended
}

// folder makes a folder with the model.
func (k *killing) folder(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "toll.blv"), k.model, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (k *killing) command(dir string, e int, more ...string) *exec.Cmd {
	cmd := exec.Command(k.program, append(append([]string{"toll.blv", "--json"}, errands[e]...), more...)...)
	cmd.Dir = dir
	return cmd
}

func (k *killing) letBe(t *testing.T, e int) {
	began := time.Now()
	out, err := k.command(k.folder(t), e).Output()
	k.took = append(k.took, time.Since(began))
	k.want = append(k.want, document(t, out, err))
}

// alone runs the starts of the errand that has some worse than the best each for
// itself. In the run of all, which keeps less of the worse ones, they end as they do
// alone, after as many calls: as many as they had counted with their last iteration,
// and no more than a result's, whose end takes some, too.
func (k *killing) alone(t *testing.T) {
	var all runtime.Result
	text, err := json.Marshal(k.want[severalStarts])
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	var least, most int64
	worse := false
	for i, s := range all.Starts {
		r, err := k.problem.Solve(context.Background(), runtime.Options{Method: "goldstein", Seed: all.Seed, Starts: 1, FirstStart: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		least, most = least+r.Trace[len(r.Trace)-1].Calls, most+r.Calls.Total()
		if r.Upper.Objective != s.Objective || r.Status != s.Status || r.Reason != s.Reason {
			t.Errorf("start %d: %v %s (%s), alone %v %s (%s)", i+1, s.Objective, s.Status, s.Reason, r.Upper.Objective, r.Status, r.Reason)
		}
		worse = worse || s.Objective < all.Upper.Objective-1
	}
	if total := all.Calls.Total(); !worse || total < least || total > most {
		t.Errorf("%d calls of all starts, from %d to %d of each alone; one is worse: %v", total, least, most, worse)
	}
}

// document is a result without its times.
func document(t *testing.T, out []byte, err error) any {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == status.ExitInternal) {
		t.Fatalf("%v\n%s", err, exit.Stderr)
	}
	var doc map[string]any
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	delete(doc, "time")
	delete(doc, "phases")
	return doc
}

// moment is a random one of a run, or a little after its end.
func (k *killing) moment(e int, rng *rand.Rand) time.Duration {
	return time.Duration(rng.Float64() * 1.1 * float64(k.took[e]))
}

// same resumes a run from a file and compares its result, and says how far the run
// had come.
func (k *killing) same(t *testing.T, dir string, e int, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	c, err := runtime.ReadCheckpoint(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	k.counted(t, c)
	out, err := k.command(dir, e, "--resume", file).Output()
	if got := document(t, out, err); !reflect.DeepEqual(got, k.want[e]) {
		t.Errorf("%v: the run that went on differs%s", errands[e], differences(got, k.want[e], ""))
	}
	return "went on"
}

// counted goes on from a state without time for more: the calls are those that the
// starts had come to, also of starts that it does not come to.
func (k *killing) counted(t *testing.T, c *runtime.Checkpoint) {
	var before runtime.Calls
	for _, s := range c.Starts {
		switch {
		case s.Run != nil:
			before = before.Add(s.Run.Calls)
		case s.Ended != nil:
			before = before.Add(s.Ended.Calls)
			k.ended++
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := k.problem.Solve(ctx, runtime.Options{Resume: c})
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls.Total() < before.Total() {
		t.Errorf("%+v calls, where the state had %+v", r.Calls, before)
	}
}

// asked ends a run by a signal that asks it to end, then the run that goes on by
// another, then lets it end.
func (k *killing) asked(t *testing.T, e int, rng *rand.Rand, signal os.Signal) string {
	dir, resume, outcome := k.folder(t), []string(nil), "ended by itself"
	for range 2 {
		cmd := k.command(dir, e, append([]string{"--checkpoint", "c.json"}, resume...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(k.moment(e, rng))
		_ = cmd.Process.Signal(signal) // it may have ended
		err := cmd.Wait()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == -1 && out.Len() == 0:
			return "before the program took over its signals"
		case errors.As(err, &exit) && exit.ExitCode() == status.Interrupted.Exit(true):
		default:
			if got := document(t, out.Bytes(), err); !reflect.DeepEqual(got, k.want[e]) {
				t.Errorf("%v: a run that ended differs%s", errands[e], differences(got, k.want[e], ""))
			}
			return outcome
		}
		var doc struct{ Status, Reason string }
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Status != "interrupted" {
			t.Fatalf("%q (%v)\n%s", out.String(), err, errs.String())
		}
		if _, err := os.Stat(filepath.Join(dir, "c.json")); err != nil {
			// Nothing was lost: there was nothing yet.
			if !strings.Contains(doc.Reason, "while") && !strings.Contains(out.String(), `"iterations":0`) {
				t.Fatalf("no checkpoint: %s\n%s", out.String(), errs.String())
			}
			return "before there was a state"
		}
		resume = []string{"--resume", "c.json"}
	}
	return k.same(t, dir, e, "c.json") + " twice"
}

// killed kills a run that writes its state after every iteration: it loses no more
// than the iteration at work.
func (k *killing) killed(t *testing.T, e int, rng *rand.Rand) string {
	dir := k.folder(t)
	cmd := k.command(dir, e, "--checkpoint", "c.json", "--checkpoint-every", "1ns", "--trace", "trace")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(k.moment(e, rng))
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || out.Len() > 0 && json.Valid(out.Bytes()) {
		if got := document(t, out.Bytes(), delivered(err)); !reflect.DeepEqual(got, k.want[e]) {
			t.Errorf("%v: a run that ended differs%s", errands[e], differences(got, k.want[e], ""))
		}
		return "ended by itself"
	}
	seen := lastTraced(t, filepath.Join(dir, "trace"))
	text, err := os.ReadFile(filepath.Join(dir, "c.json"))
	if err != nil {
		if len(seen) > 0 {
			t.Errorf("no state was written, but iterations %v had ended", seen)
		}
		return "before there was a state"
	}
	c, err := runtime.ReadCheckpoint(text)
	if err != nil {
		t.Fatal(err)
	}
	for start, iteration := range seen {
		s := c.Starts[start-1]
		if s.Ended == nil && (s.Run == nil || s.Run.Iteration < iteration-1) {
			t.Errorf("start %d: iteration %d had ended, and is not in the state", start, iteration)
		}
	}
	return k.same(t, dir, e, "c.json")
}

// delivered lets a run pass that had written its result before it was killed.
func delivered(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return nil
	}
	return err
}

// lastTraced is the last iteration of each start in a trace, whose last line may be cut.
func lastTraced(t *testing.T, file string) map[int]int {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	last := map[int]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line traced
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			last[line.Start] = line.Iteration
		}
	}
	return last
}

// fullCheckpoint takes the place of the checkpoint away at some moment, or gives it
// none from the start: the result is the same and is printed, unless it is refused at once.
func (k *killing) fullCheckpoint(t *testing.T, e int, rng *rand.Rand) string {
	dir, place := k.folder(t), "/dev/full"
	if rng.IntN(3) > 0 {
		place = "there/c.json"
		if err := os.Mkdir(filepath.Join(dir, "there"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := k.command(dir, e, "--checkpoint", place, "--checkpoint-every", "1ns")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(k.moment(e, rng))
	_ = os.Rename(filepath.Join(dir, "there"), filepath.Join(dir, "gone"))
	err := cmd.Wait()
	if strings.Contains(errs.String(), "there is no folder there") {
		return "refused" // it was gone before the run began
	}
	if got := document(t, out.Bytes(), err); !reflect.DeepEqual(got, k.want[e]) {
		t.Errorf("%v: a run without room for its state differs%s", errands[e], differences(got, k.want[e], ""))
	}
	if strings.Contains(errs.String(), "could not be written") {
		if n := strings.Count(errs.String(), "could not be written"); n > 3 {
			t.Errorf("told %d times", n)
		}
		return "told"
	}
	if place == "/dev/full" {
		t.Errorf("nothing was told: %s", errs.String())
	}
	return "ended before"
}

// fullResult gives the result no room: the state is kept, and gives it again.
func (k *killing) fullResult(t *testing.T, e int, rng *rand.Rand) string {
	dir := k.folder(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cmd := k.command(dir, e)
	cmd.Stdout = full
	ended := k.ended
	outcome := k.undelivered(t, dir, e, cmd, false, func() {})
	if e == severalStarts && k.ended != ended+1 {
		t.Errorf("%d starts are kept for how they ended, not the last one", k.ended-ended)
	}
	return outcome
}

// closedPipe closes both outputs at a random moment.
func (k *killing) closedPipe(t *testing.T, e int, rng *rand.Rand) string {
	dir := k.folder(t)
	cmd := k.command(dir, e)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The moment comes before the result is written, for what a pipe has taken is
	// delivered.
	wait := min(k.moment(e, rng), k.took[e]/2)
	return k.undelivered(t, dir, e, cmd, true, func() {
		time.Sleep(wait)
		out.Close()
		errs.Close()
	})
}

func (k *killing) undelivered(t *testing.T, dir string, e int, cmd *exec.Cmd, pipe bool, then func()) string {
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	then()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == status.ExitInternal {
		return k.same(t, dir, e, "toll.checkpoint.json")
	}
	if pipe && (err == nil || exit.ExitCode() == status.BudgetSpent.Exit(true)) {
		return "the pipe had taken the result" // before it was closed
	}
	t.Errorf("%v: a result that could not be written ends with %v", errands[e], err)
	return "wrong"
}

// differences lists the leaves in which two documents differ.
func differences(a, b any, at string) string {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if isMap && both {
		out := ""
		for name := range x {
			out += differences(x[name], y[name], at+"."+name)
		}
		for name := range y {
			if _, ok := x[name]; !ok {
				out += differences(nil, y[name], at+"."+name)
			}
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return fmt.Sprintf("\n%s: %.200v, not %.200v", at, a, b)
}
