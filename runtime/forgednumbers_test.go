package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// forgedModel is a small model of random kind: g is smooth, quadratic or linear in y, entries of y feel x or not and are felt by f or not, X is a box with rows or without, or a ball, and the leader may have a constraint that reads
// the follower.
func forgedModel(r *rand.Rand) string {
	nx, ny, kind := 1+r.IntN(3), 1+r.IntN(3), r.IntN(3)
	number := func() float64 { return math.Round(100*(0.2+2*r.Float64())) / 100 * float64(1-2*r.IntN(2)) }
	var f, g, lower []string
	for i := range nx {
		f = append(f, fmt.Sprintf("%v*(x[%d] - %v)^2", math.Abs(number()), i+1, number()))
	}
	for j := range ny {
		y := fmt.Sprintf("y[%d]", j+1)
		switch r.IntN(4) {
		case 0: // f does not feel it
		case 1:
			f = append(f, fmt.Sprintf("%v*%s", number(), y))
		case 2:
			f = append(f, fmt.Sprintf("%v*x[%d]*%s", number(), 1+r.IntN(nx), y))
		default:
			f = append(f, fmt.Sprintf("(%s - %v)^2", y, number()))
		}
		push := fmt.Sprint(number())
		if r.IntN(3) > 0 {
			push = fmt.Sprintf("(%v + %v*x[%d])", number(), number(), 1+r.IntN(nx))
		}
		g = append(g, push+"*"+y)
		switch kind {
		case 0:
			g = append(g, fmt.Sprintf("%v*exp(%s) + 0.5*(%s - %v)^2", math.Abs(number()), y, y, number()))
		case 1:
			g = append(g, fmt.Sprintf("%v*%s^2", math.Abs(number()), y))
		}
	}
	if kind < 2 && ny > 1 && r.IntN(2) == 0 {
		g = append(g, fmt.Sprintf("0.5*(y[1] - %v*y[2])^2", number()))
	}
	if r.IntN(2) == 0 {
		lower = append(lower, fmt.Sprintf("sum(y) <= %v + %v*x[1]", 1+math.Abs(number()), math.Abs(number())*math.Pow(10, float64(-3*r.IntN(4)))))
	} else if ny > 1 && r.IntN(2) == 0 {
		lower = append(lower, fmt.Sprintf("y[1] + %v*y[2] == %v + %v*x[1]", math.Abs(number()), 2+math.Abs(number()), float64(r.IntN(2))*math.Pow(10, float64(-3*r.IntN(4)))))
	}
	answers := " in box(0, 3)"
	if kind < 2 && r.IntN(3) == 0 {
		answers = "" // no row need read an entry of y
	}
	set, upper := "box(-1, 2)", []string{}
	switch r.IntN(4) {
	case 0:
		set = "ball(1)"
	case 1:
		upper = append(upper, fmt.Sprintf("sum(x) <= %v", 0.5*math.Abs(number())))
	case 2:
		upper = append(upper, fmt.Sprintf("sum(y) + x[1] <= %v", 0.5+math.Abs(number())))
	}
	subject := func(rows []string) string {
		if len(rows) == 0 {
			return ""
		}
		return "\n  subject to\n    " + strings.Join(rows, "\n    ")
	}
	return fmt.Sprintf("model forged\nupper {\n  var x: vector[%d] in %s\n  minimize %s%s\n}\nlower {\n  var y: vector[%d]%s\n  minimize %s%s\n}\nsolve { ties = optimistic }\n",
		nx, set, strings.Join(f, " + "), subject(upper), ny, answers, strings.Join(g, " + "), subject(lower))
}

// numbersOf calls visit with each number below v, and with the largest of those beside it.
func numbersOf(v reflect.Value, path string, visit func(path string, number reflect.Value, beside float64)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			numbersOf(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			numbersOf(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		most := 0.0
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Float64 {
				most = math.Max(most, math.Abs(e.Float()))
			}
		}
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Float64 {
				visit(fmt.Sprintf("%s[%d]", path, i), e, most)
			} else {
				numbersOf(e, fmt.Sprintf("%s[%d]", path, i), visit)
			}
		}
	case reflect.Float64:
		visit(path, v, math.Abs(v.Float()))
	}
}

// No number of a certificate passes for another: each that is more than rounding of those beside it is changed by a hundredth, and turned around.
func TestForgedNumbers(t *testing.T) {
	t.Parallel()
	tried, certified, passed := 0, 0, 0
	for seed := range members.Seeds(t, 400) {
		text := forgedModel(rand.New(rand.NewPCG(seed, 91)))
		problem := bindText(t, text)
		r, err := problem.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, text)
		}
		if r.Status != runtime.Solved || r.Certificate == nil || r.Certificate.Strong == nil {
			continue
		}
		certified++
		if !verified(problem, r) {
			t.Fatalf("%d: untouched it does not pass\n%s", seed, text)
		}
		numbersOf(reflect.ValueOf(r.Certificate), "certificate", func(path string, number reflect.Value, beside float64) {
			was := number.Float()
			if math.Abs(was) <= 1e-6*math.Max(beside, 1e-2) { // rounding, or the residual
				return
			}
			for _, forged := range []float64{1.01 * was, 0.99 * was, -was} {
				tried++
				if number.SetFloat(forged); verified(problem, r) {
					passed++
					t.Errorf("%d: %s = %v passes for %v\n%s", seed, path, forged, was, text)
				}
			}
			number.SetFloat(was)
		})
	}
	t.Logf("%d certificates, %d forgeries, %d passed", certified, tried, passed)
	if certified < members.Count(400)/2 {
		t.Errorf("only %d certificates", certified)
	}
}
