package outer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/status"
)

// deaf is a hyperobjective one of whose evaluations never ends, or panics, whatever
// its context.
type deaf struct {
	oracle.Hyperobjective
	left  int
	panic bool
	then  func() // before it
}

func (d *deaf) meet() {
	if d.left--; d.left >= 0 {
		return
	}
	if d.panic {
		panic("broken")
	}
	d.then()
	select {}
}

func (d *deaf) Value(ctx context.Context, x []float64) (*oracle.Point, error) {
	d.meet()
	return d.Hyperobjective.Value(ctx, x)
}

func (d *deaf) Complete(ctx context.Context, pt *oracle.Point) error {
	d.meet()
	return d.Hyperobjective.Complete(ctx, pt)
}

func (d *deaf) Gradient(ctx context.Context, x []float64) (*oracle.Point, error) {
	d.meet()
	return d.Hyperobjective.Gradient(ctx, x)
}

// A run whose context ends returns, with the best point seen and a state to go on
// from, whatever it is at; one in its first evaluation, a value and its gradient,
// returns without a point. This
// test ends, or it fails.
func TestRunsThatDoNotListenAreLeft(t *testing.T) {
	c := oracletest.Toll()
	for _, spec := range All() {
		for _, after := range []int{0, 1, 2, 8, 15} {
			for _, why := range []error{status.Time, context.Canceled} {
				t.Run(fmt.Sprint(spec.Name, " ", after, " ", why), func(t *testing.T) {
					t.Parallel()
					listenless(t, spec, c, after, why)
				})
			}
		}
	}
}

func listenless(t *testing.T, spec Spec, c oracletest.Case, after int, why error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	m, err := spec.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &deaf{Hyperobjective: hyper(t, c.Problem.Clone()), left: after, then: func() { cancel(why) }}
	r, err := Solve(ctx, h, spec.Name, m, Options{Start: c.Problem.Start, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := status.Interrupted
	if errors.Is(why, status.Time) {
		want = status.LimitReached
	}
	if r.Status != want || after == 0 && r.Best != nil || after > 1 && r.Best == nil {
		t.Errorf("%s after %d evaluations: %v (%s), best %v", spec.Name, after, r.Status, r.Reason, r.Best != nil)
	}
	if again, err := r.State(); err != nil || r.Iterations > 0 && again == nil {
		t.Errorf("%s: no state (%v)", spec.Name, err)
	}
}

// A limit inside Begin, at any of its evaluations, is a result like any other.
func TestLimitsInsideBegin(t *testing.T) {
	c := oracletest.Toll()
	for _, spec := range All() {
		for evaluations := 1; evaluations < 16; evaluations++ {
			r := solve(t, c.Problem, spec.Name, nil, Options{Seed: 1, Limits: Limits{Evaluations: evaluations}})
			if r.Status == status.Solved && r.Evaluations <= evaluations {
				break // after few
			}
			if r.Status != status.LimitReached || r.Best == nil || r.Evaluations > evaluations {
				t.Errorf("%s: %v (%s) after %d of %d evaluations", spec.Name, r.Status, r.Reason, r.Evaluations, evaluations)
			}
		}
	}
}

// A panic of one start is an error that names it; the process goes on.
func TestPanicsOfStartsAreErrors(t *testing.T) {
	c := oracletest.Toll()
	count := 0
	ms := &MultiStart{Starts: 4, Threads: 1, Seed: 1, Set: c.Problem.X, Name: "bfgs", Options: Options{Start: c.Problem.Start},
		New: func() (oracle.Hyperobjective, Method, error) {
			count++
			h := &deaf{Hyperobjective: hyper(t, c.Problem.Clone()), left: 1 << 30, panic: true}
			if count == 3 {
				h.left = rand.IntN(10)
			}
			return h, made(t, "bfgs", nil), nil
		}}
	_, _, err := ms.Solve(context.Background())
	var fault *PanicError
	if !errors.As(err, &fault) || fault.Start != 3 || !strings.Contains(err.Error(), "start 3: broken") || len(fault.Stack) == 0 {
		t.Errorf("%v", err)
	}
}
