package runtime_test

import (
	"context"
	"fmt"
	"log"

	"bilevelc/runtime"
)

// A leader sets a price; a follower buys what it is worth to it.
func Example() {
	model, err := runtime.Compile("price.blv", `
model price
param worth: real
upper {
  var price: real in box(0, 10)
  maximize price * amount
}
lower {
  var amount: real in nonneg
  minimize 0.5 * amount^2 - (worth - price) * amount
  subject to
    stock: amount <= 5
}
report {
  surplus = worth * amount - price * amount
}
`)
	if err != nil {
		log.Fatal(err) // every error of the model, with its place
	}
	problem, err := model.Bind(runtime.Data{"worth": 8.0}, runtime.BindOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	price, _ := result.Upper.Variables.Get("price")
	amount, _ := result.Lower.Variables.Get("amount")
	surplus, _ := result.Report.Get("surplus")
	fmt.Println(result.Status)
	fmt.Printf("price %.4f, amount %.4f, revenue %.4f, surplus %.4f\n",
		price.Data[0], amount.Data[0], float64(result.Upper.Objective), surplus.Data[0])
	// Output:
	// solved
	// price 4.0000, amount 4.0000, revenue 16.0000, surplus 16.0000
}
