package facts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// What is not read does not move a random objective, to the last bit; and entries that are
// multiplied by zeros of the data alone are found not to be read.
func TestReads(t *testing.T) {
	read, unread := 0, 0
	for seed := range uint64(1500) {
		g := &builder{Rand: rand.New(rand.NewPCG(17, seed)), b: expr.NewBuilder()}
		y := g.b.Var("y", true, 0, expr.VectorShape(size), nowhere)
		x := g.b.Var("x", false, 0, expr.VectorShape(size), nowhere)
		mask := make([]float64, size)
		mask[g.IntN(size)], mask[g.IntN(size)] = 1, 2
		some := g.b.Binary(expr.Mul, g.b.Const("", data.Vector(mask), nowhere), x, nowhere)
		g.vectors, g.numbers = []*expr.Node{y, y, some}, []*expr.Node{g.b.Number(1.5)}
		for range 1 + g.IntN(9) {
			g.grow()
		}
		root := g.b.Dot(g.vectors[len(g.vectors)-1], g.vector(), nowhere)
		root = g.b.Binary(expr.Add, root, g.numbers[len(g.numbers)-1], nowhere)
		at := each.Below(2*size, func(int) float64 { return 0.3 + g.Float64() })
		value := func(at []float64) float64 {
			v, err := expr.Scalar(root, at[:size], at[size:])
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		before := value(at)
		for level, lower := range []bool{false, true} {
			used := make([]bool, size)
			Reads(g.b, root, lower, used)
			for j, is := range used {
				moved := slices.Clone(at)
				moved[level*size+j] = 0.3 + g.Float64()
				if value(moved) != before {
					read++
					if !is {
						t.Fatalf("seed %d: entry %d of level %d moves what does not read it", seed, j, level)
					}
				} else if !is {
					unread++
				}
			}
		}
	}
	if read < 1000 || unread < 1000 {
		t.Errorf("%d read, %d not", read, unread)
	}
	// x[j] of a bilinear form whose coefficients are 0.
	b := expr.NewBuilder()
	x, y := b.Var("x", false, 0, expr.VectorShape(3), nowhere), b.Var("y", true, 0, expr.VectorShape(3), nowhere)
	c := b.Binary(expr.Mul, b.Const("", data.Vector([]float64{0, 2, 0}), nowhere), y, nowhere)
	root := b.Dot(x, c, nowhere)
	for _, lower := range []bool{false, true} {
		used := make([]bool, 3)
		if Reads(b, root, lower, used); !slices.Equal(used, []bool{false, true, false}) {
			t.Errorf("%v", used)
		}
	}
}
