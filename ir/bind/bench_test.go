package bind

import (
	"strings"
	"testing"

	"bilevelc/ir/data"
)

// BenchmarkBindToy binds toy.blv at d_y = 1000 to arrays in memory, its text
// parsed and checked anew.
func BenchmarkBindToy(b *testing.B) {
	const dx, dy, dh = 100, 1000, 200
	set := &data.Set{}
	set.Add("dy", data.Scalar(dy), "bench")
	set.Add("c", data.Vector(normal(1, dy)), "bench")
	set.Add("P", data.Matrix(dx, dy, normal(2, dx*dy)), "bench")
	set.Add("L", data.Matrix(dy, dy, normal(3, dy*dy)), "bench")
	set.Add("A", data.Matrix(dh, dy, normal(4, dh*dy)), "bench")
	set.Add("b", data.Vector(normal(5, dh)), "bench")
	b.ResetTimer()
	for range b.N {
		mustBind(b, readModel(b, "toy.blv"), set)
	}
}

// BenchmarkBindScale binds a model with sums and families of 10,000 terms.
func BenchmarkBindScale(b *testing.B) {
	for range b.N {
		mustBind(b, compile(b, "scale.blv", strings.Clone(scaleModel)), nil)
	}
}
