//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	goroutines "runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// A command that reads from a pipe to which nobody writes ends when it is told to:
// each of these would never return.
func TestCommandsEndWhileTheyRead(t *testing.T) {
	dir := t.TempDir()
	const pipe = "PIPE" // in the place of a new one in each case
	model := "../../examples/toll/toll.blv"
	for k, args := range [][]string{
		{pipe}, {"solve", "-"}, {model, "-d", pipe}, {model, "-d", "-"}, {model, "--start", pipe}, {model, "--resume", pipe},
		{"eval", model, "--at", pipe}, {"check", pipe}, {"fmt", pipe}, {"explain", pipe}, {"verify", pipe}, {"build", pipe, "-o", dir},
		{pipe, "--time-limit", "1ms"}, {model, "-d", pipe, "--time-limit", "1ms", "--json"},
	} {
		fifo := filepath.Join(dir, fmt.Sprintf("pipe%d.blv", k))
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Skip(err)
		}
		piped := false
		for i := range args {
			piped = piped || args[i] == pipe
			args[i] = strings.ReplaceAll(args[i], pipe, fifo)
		}
		ctx, cancel := context.WithCancel(context.Background())
		want := status.Interrupted.Exit(false)
		if strings.Contains(strings.Join(args, " "), "--time-limit") {
			want = status.LimitReached.Exit(false)
		} else if piped {
			go func() {
				// This waits until the command reads.
				if f, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
					cancel()
					defer f.Close()
					select {} // and this keeps it waiting
				}
			}()
		}
		var out, errs bytes.Buffer
		code := run(ctx, args, stdio{silent{cancel}, &out, &errs})
		cancel()
		if code != want || !strings.Contains(out.String()+errs.String(), ", while reading") && want != status.LimitReached.Exit(false) {
			t.Errorf("%v: exit code %d, not %d\n%s%s", args, code, want, out.String(), errs.String())
		}
		if args[len(args)-1] == "--json" {
			r, err := runtime.ReadResult(out.Bytes())
			if err != nil || r.Status != runtime.LimitReached || r.HasPoint() || !json.Valid(out.Bytes()) {
				t.Errorf("%s (%v)", out.String(), err)
			}
		}
	}
}

// silent is a standard input that never says anything.
type silent struct{ asked func() }

func (s silent) Read([]byte) (int, error) {
	s.asked()
	select {}
}

// What has no end, or has more than is read, is an error that says so.
func TestInputsWithoutEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	model := "../../examples/toll/toll.blv"
	for _, args := range [][]string{
		{"/dev/zero"}, {model, "-d", "/dev/zero"}, {model, "-d", "demand=/dev/zero"}, {model, "--start", "/dev/zero"},
		{model, "--resume", "/dev/zero"}, {"eval", model, "--at", "/dev/zero"}, {"check", "/dev/zero"}, {"fmt", "/dev/zero"},
		{"explain", "/dev/zero"}, {"verify", "/dev/zero"}, {"build", "/dev/zero", "-o", dir}, {model, "-d", dir}, {dir},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), args, stdio{bytes.NewReader(nil), &out, &errs})
		if code != status.ExitUsage && code != status.ExitData || out.Len() > 0 || !strings.Contains(errs.String(), "MB that are read") && !strings.Contains(errs.String(), "folder") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
}

// Choices that mean nothing are refused with the reason.
func TestChoicesOutOfRange(t *testing.T) {
	model := "../../examples/toll/toll.blv"
	for _, args := range [][]string{
		{"--starts", "-3"}, {"--nodes", "-1"}, {"--gap", "-1"}, {"--gap", "nan"}, {"--seed", "-1"}, {"--starts", "1000000000"}, {"--max-iter", "0"}, {"--threads", "-1"}, {"--threads", "0"},
		{"--color", "x"}, {"-o", "epsilon=inf"}, {"-o", "epsilon=NaN"}, {"-o", "alm.tolerance=+Inf"}, {"--time-limit", "0s"}, {"--time-limit", "-1s"},
		{"--checkpoint-every", "0s"}, {"-m", "oigrm", "-o", "clip=inf"}, {"--start", "x", "--resume", "y"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{model}, args...), stdio{bytes.NewReader(nil), &out, &errs})
		if code != status.ExitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), "error: ") || strings.Contains(errs.String(), "strconv") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
	document := func(args ...string) (d map[string]any) {
		var out, errs bytes.Buffer
		if run(context.Background(), append([]string{model, "--json"}, args...), stdio{bytes.NewReader(nil), &out, &errs}) != 0 || json.Unmarshal(out.Bytes(), &d) != nil {
			t.Errorf("%v: %s%s", args, out.String(), errs.String())
		}
		for _, timed := range []string{"time", "phases", "seal"} {
			delete(d, timed)
		}
		return d
	}
	if a, b := document(), document("--starts", "0", "--nodes", "0", "--gap", "0"); !reflect.DeepEqual(a, b) { // 0 stands for the default
		t.Errorf("%v\nwith 0\n%v", a, b)
	}
	for _, args := range [][]string{{"--dx", "1000000000"}, {"--dy", "1000000000"}, {"--dx", "100000", "--dy", "100000"}} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"generate", "-O", t.TempDir()}, args...), stdio{bytes.NewReader(nil), &out, &errs})
		if code != status.ExitUsage || !strings.Contains(errs.String(), "entries") {
			t.Errorf("%v: exit code %d\n%s", args, code, errs.String())
		}
	}
}

// A file with an error on each of its lines does not fill the screen.
func TestManyErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "many.blv")
	if err := os.WriteFile(file, []byte("model many\n"+strings.Repeat("data a: vector[q]\n", 20000)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{file}, {"check", file}, {"check", file, "--json"}, {"fmt", file}, {"explain", file}} {
		t.Log(args)
		var out, errs bytes.Buffer
		code := run(context.Background(), args, stdio{bytes.NewReader(nil), &out, &errs})
		// Some 500 bytes an error, on 100 of them, or 1000 for a program.
		if n := out.Len() + errs.Len(); n > 1_000_000 || args[0] != "fmt" && (code != status.ExitModel || !strings.Contains(out.String()+errs.String(), "not shown")) {
			t.Errorf("%v: exit code %d, %d bytes", args, code, n)
		}
	}
}

// Work that a command leaves when it is told to end ends, too: nothing goes on behind
// the back of a program that calls it.
func TestWorkEndsWithItsCommand(t *testing.T) {
	dir := t.TempDir()
	garbage, large := filepath.Join(dir, "garbage.blv"), filepath.Join(dir, "large.blv")
	for file, text := range map[string]string{
		garbage: strings.Repeat("let x = + ( sum [\n", 200_000),
		large: "model large\nparam n: int = 300000\nupper {\n  var x: real in box(0, 1)\n  minimize x^2\n}\nlower {\n  var y: vector[n] in nonneg\n" +
			"  minimize 0.5 * sumsq(y) - x * sum(y)\n  subject to\n    a: forall i in 1..n-1, j in 1..2: y[i] - j * y[i+1] <= 1\n}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", garbage}, {"fmt", garbage}, {garbage}, {"check", large}, {large}} {
		for _, asked := range []int32{10, 200} {
			before := goroutines.NumGoroutine()
			ctx := &weary{patience: asked}
			ctx.Context, ctx.cancel = context.WithCancel(context.Background())
			var out, errs bytes.Buffer
			if code := run(ctx, args, stdio{bytes.NewReader(nil), &out, &errs}); code != status.Interrupted.Exit(false) {
				t.Errorf("%v: exit code %d\n%.300s%.300s", args, code, out.String(), errs.String())
			}
			for goroutines.NumGoroutine() > before { // for ever, where the work goes on that long
				goroutines.Gosched()
			}
			if n := ctx.after.Load(); n > 10 {
				t.Errorf("%v: the work asked %d times whether it was to end, and went on", args, n)
			}
		}
	}
}

// weary is a context that ends when it has been asked a number of times.
type weary struct {
	context.Context
	cancel   context.CancelFunc
	patience int32
	asked    atomic.Int32
	after    atomic.Int32
}

func (w *weary) Err() error {
	if n := w.asked.Add(1); n == w.patience {
		w.cancel()
	} else if n > w.patience {
		w.after.Add(1)
	}
	return w.Context.Err()
}
