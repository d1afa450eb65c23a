package planted

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime/problem"
)

// The model text, with its data written to JSON and read back, compiles to the
// same problem as the hand-written one: objectives, rows by name, X, start.
func TestModelIsTheSameProblem(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, o := range small() {
		in := instance(t, o)
		set, list := datafile.Read(datafile.JSON, "planted.json", string(datafile.WriteJSON(nil, in.Data)), "")
		for _, s := range []*data.Set{in.Data, set} {
			file, more := parser.ParseFile(diag.NewSource("planted.blv", in.Model))
			list = append(list, more...)
			program, more := check.Check(file)
			list = append(list, more...)
			if list.HasErrors() {
				t.Fatalf("%+v: %v\n%s", o, list, in.Model)
			}
			bound, more := bind.Bind(program, s, bind.Options{})
			if len(more) > 0 {
				t.Fatalf("%+v: %v\n%s", o, more, in.Model)
			}
			p := in.Problem
			x, y := normals(rng, p.Dx), normals(rng, p.Dy)
			for name, c := range map[string]struct {
				node *expr.Node
				want float64
			}{"f": {bound.Upper.Objective, p.F.Value(x, y)}, "g": {bound.Lower.Objective, p.G.Value(x, y)}} {
				got, err := expr.Eval(c.node, x, y)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(got.Dense[0]-c.want) > 1e-10*(1+math.Abs(c.want)) {
					t.Errorf("%+v: %s is %v in the model, %v by hand", o, name, got.Dense[0], c.want)
				}
			}
			if len(bound.Rows) != p.Rows.Len() {
				t.Fatalf("%+v: %d rows in the model, %d by hand", o, len(bound.Rows), p.Rows.Len())
			}
			h := make([]float64, p.Rows.Len())
			p.Rows.Residual(h, x, y)
			for i, row := range bound.Rows {
				got := bound.A.RowDot(i, x) - bound.B.RowDot(i, y) - bound.Rhs[i]
				if row.Name != p.Rows.Name[i] || row.Equal != (p.Rows.Kind[i] == problem.Equal) || math.Abs(got-h[i]) > 1e-10 {
					t.Errorf("%+v: row %s is %v in the model, %s is %v by hand", o, row.Name, got, p.Rows.Name[i], h[i])
				}
			}
			for j := range p.Dx {
				if bound.X.Lo[j] != p.X.Lo[j] || bound.X.Hi[j] != p.X.Hi[j] || bound.Start[j] != p.Start[j] {
					t.Errorf("%+v: X or the start differs in entry %d", o, j)
				}
			}
		}
	}
}
