package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// pricing is a leader who prices n goods, and a customer who buys.
const pricing = `
model pricing
data worth: vector[n]
data rival: matrix[n, n]
param n: int
upper {
  var price: vector[n] in box(0, 10)
  maximize price' * amount
}
lower {
  var amount: vector[n] in nonneg
  minimize 0.5 * sumsq(amount) + 0.1 * amount' * rival * amount - (worth - price)' * amount
  subject to
    shelf: sum(amount) <= 7
}
`

func bind(data runtime.Data) *runtime.Problem {
	model, err := runtime.Compile("pricing.blv", pricing)
	if err != nil {
		log.Fatal(err)
	}
	problem, err := model.Bind(data, runtime.BindOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return problem
}

// Data come in the forms that Go programs have them in.
func ExampleData() {
	problem := bind(runtime.Data{
		"n":     2,
		"worth": mat.NewVecDense(2, []float64{8, 6}),
		"rival": runtime.Sparse{Rows: 2, Cols: 2, I: []int{0, 1}, J: []int{0, 1}, V: []float64{1, 1}},
	})
	fmt.Println(problem.Dims())
	// Output: 2 2 3
}

// What is wrong with a model or its data is a list; each entry has a code and a place.
func ExampleModel_Bind_errors() {
	model, err := runtime.Compile("pricing.blv", pricing)
	if err != nil {
		log.Fatal(err)
	}
	_, err = model.Bind(runtime.Data{"n": 2, "worth": []any{8, "six"}, "rival": [][]float64{{1, 0}, {0}}}, runtime.BindOptions{})
	fmt.Println(errors.Is(err, diag.DataRagged))
	var list diag.List
	if errors.As(err, &list) {
		for _, d := range list {
			fmt.Printf("%s at %s\n", d.Code, d.Subject)
		}
	}
	// Output:
	// true
	// E0856 at Data["rival"]:1:20
	// E0854 at Data["worth"]:1:15
}

// New numbers of the same shapes go into a problem that is compiled already.
func ExampleProblem_Update() {
	monday := bind(runtime.Data{"n": 1, "worth": []float64{8}, "rival": [][]float64{{0}}})
	tuesday, err := monday.Update(runtime.Data{"worth": []float64{6}})
	if err != nil {
		log.Fatal(err)
	}
	for _, problem := range []*runtime.Problem{monday, tuesday} {
		result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
		if err != nil {
			log.Fatal(err)
		}
		price, _ := result.Upper.Variables.Get("price")
		fmt.Printf("%.4f\n", price.Data)
	}
	// Output:
	// [4.0000]
	// [3.0000]
}

// A problem may be used by many goroutines.
func ExampleProblem_Solve_concurrent() {
	problem := bind(runtime.Data{"n": 1, "worth": []float64{8}, "rival": [][]float64{{0}}})
	revenue := make([]float64, 4)
	var wait sync.WaitGroup
	for i := range revenue {
		wait.Go(func() {
			result, err := problem.Solve(context.Background(), runtime.Options{Seed: uint64(i)})
			if err != nil || result.Err() != nil {
				log.Fatal(err, result.Err())
			}
			revenue[i] = float64(result.Upper.Objective)
		})
	}
	wait.Wait()
	fmt.Printf("%.4f\n", revenue)
	// Output: [16.0000 16.0000 16.0000 16.0000]
}

// F, the follower's answer and the gradient at a point, warm from call to call.
func ExampleProblem_Evaluate() {
	ctx := context.Background()
	problem := bind(runtime.Data{"n": 2, "worth": []float64{8, 6}, "rival": [][]float64{{0, 0}, {0, 0}}})
	e, err := problem.Evaluate(ctx, []float64{5, 4})
	if err != nil {
		log.Fatal(err)
	}
	grad, _, err := e.Gradient(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("F %.4f, amounts %.4f, gradient %.4f\n", e.F, e.Y, grad)

	_, err = problem.Evaluate(ctx, []float64{1})
	var usage *runtime.UsageError
	fmt.Println(errors.As(err, &usage))
	// Output:
	// F 23.0000, amounts [3.0000 2.0000], gradient [-2.0000 -2.0000]
	// true
}

// A training loop with a loss of the caller's own: the layer gives the answer, and
// takes back the gradient of the loss in it.
func ExampleEvaluation_VJP() {
	ctx := context.Background()
	problem := bind(runtime.Data{"n": 2, "worth": []float64{8, 6}, "rival": [][]float64{{0, 0}, {0, 0}}})
	layer, err := problem.Layer(runtime.Options{})
	if err != nil {
		log.Fatal(err)
	}
	price, goal := []float64{5, 5}, []float64{2, 3}
	for range 40 {
		e, err := layer.Evaluate(ctx, price)
		if err != nil {
			log.Fatal(err)
		}
		slope := make([]float64, len(goal)) // of the loss |amount - goal|^2
		for i, y := range e.Y {
			slope[i] = 2 * (y - goal[i])
		}
		step, _, err := e.VJP(ctx, slope, nil)
		var kink *runtime.KinkError
		if err != nil && !errors.As(err, &kink) {
			log.Fatal(err)
		}
		for i := range price {
			price[i] -= 0.25 * step[i]
		}
	}
	fmt.Printf("%.4f\n", price)
	// Output: [6.0000 3.0000]
}

// How the answer, its multipliers and F change along a direction; one-sided at a kink.
func ExampleEvaluation_JVP() {
	ctx := context.Background()
	problem := bind(runtime.Data{"n": 1, "worth": []float64{8}, "rival": [][]float64{{0}}})
	e, err := problem.Evaluate(ctx, []float64{8}) // the price at which nothing is bought
	if err != nil {
		log.Fatal(err)
	}
	for _, direction := range []float64{1, -1} {
		t, err := e.JVP(ctx, []float64{direction})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%+.0f: amount %.4f, F %.4f\n", direction, t.Y[0]+0, t.F+0)
	}
	fmt.Println(e.Kinks)
	// Output:
	// +1: amount 0.0000, F 0.0000
	// -1: amount 1.0000, F 8.0000
	// [amount.nonneg[1]]
}

// A layer is an objective for gonum's optimizers.
func ExampleLayer_Objective() {
	problem := bind(runtime.Data{"n": 2, "worth": []float64{8, 6}, "rival": [][]float64{{0, 0}, {0, 0}}})
	layer, err := problem.Layer(runtime.Options{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := optimize.Minimize(layer.Objective(context.Background()), []float64{5, 5}, nil, &optimize.NelderMead{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("prices %.2f, revenue %.3f\n", result.X, -result.F)
	// Output: prices [4.00 3.00], revenue 25.000
}
