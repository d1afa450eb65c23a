package expr

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

// numbers is the Algebra of plain numbers.
type numbers struct{}

func (numbers) Number(v float64) Term    { return v }
func (numbers) Add(a, b Term) Term       { return a.(float64) + b.(float64) }
func (numbers) Sub(a, b Term) Term       { return a.(float64) - b.(float64) }
func (numbers) Mul(a, b Term) Term       { return a.(float64) * b.(float64) }
func (numbers) Div(a, b Term) Term       { return a.(float64) / b.(float64) }
func (numbers) Apply(op Op, u Term) Term { return op.Info().Eval1(u.(float64)) }

// TestFunctionsOfOneArgument: for every row, the derivative and the curves are
// those of the value, by differences, and curves are monotone between their
// turning points.
func TestFunctionsOfOneArgument(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	for op := range Op(len(Primitives)) {
		p := op.Info()
		if p.Class != Elementwise1 || !p.Smooth {
			continue
		}
		// The quotient of a fourth-order difference: error h^4 f''''' / 30 and
		// 2 eps |f| / h, both about 1e-11 for these functions at h = 2e-3.
		slope := func(f func(float64) float64, u float64) float64 {
			const h = 2e-3
			return (8*(f(u+h)-f(u-h)) - (f(u+2*h) - f(u-2*h))) / (12 * h)
		}
		near := func(what string, u, got, want float64) {
			if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
				t.Errorf("%s: %s at %v is %v, want %v", p.Symbol, what, u, got, want)
			}
		}
		for range 300 {
			u := 2 * r.NormFloat64()
			if p.Inside != nil {
				u = 0.5 + math.Abs(u)
			}
			z := p.Eval1(u)
			near("the derivative", u, p.Slope(numbers{}, u, z).(float64), slope(p.Eval1, u))
			if p.Curves == nil {
				continue
			}
			near("the curve of the value", u, p.Curves[0].F(u), z)
			for k := 1; k < 3; k++ {
				near("a curve of a derivative", u, p.Curves[k].F(u), slope(p.Curves[k-1].F, u))
			}
		}
		if p.Curves == nil {
			continue
		}
		for k, c := range p.Curves {
			ends := append([]float64{math.Inf(-1)}, append(append([]float64(nil), c.Turns...), math.Inf(1))...)
			for i, from := range ends[:len(ends)-1] {
				to := ends[i+1]
				previous, sign := c.F(from), 0.0
				for s := -60; s <= 60; s++ {
					u := math.Sinh(float64(s) / 8)
					if u <= from || u >= to {
						continue
					}
					v := c.F(u)
					if v < c.Least || v > c.Greatest {
						t.Errorf("%s, curve %d at %v is %v, outside [%v, %v]", p.Symbol, k, u, v, c.Least, c.Greatest)
					}
					// Equal up to rounding says nothing about the direction.
					if d := v - previous; math.Abs(d) > 1e-13*(1+math.Abs(v)) {
						if sign*d < 0 {
							t.Errorf("%s, curve %d turns at %v, between %v and %v", p.Symbol, k, u, from, to)
						}
						sign = math.Copysign(1, d)
					}
					previous = v
				}
				if last := c.F(to); math.IsNaN(last) || sign*(last-previous) < -1e-13*(1+math.Abs(last)) {
					t.Errorf("%s, curve %d is %v at its end %v", p.Symbol, k, last, to)
				}
			}
		}
	}
}

// TestReferenceNamesPrimitives: the language reference has every function of
// the table.
func TestReferenceNamesPrimitives(t *testing.T) {
	text, err := os.ReadFile("../../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Primitives {
		if p.Name != "" && !strings.Contains(string(text), "`"+p.Name+"(") {
			t.Errorf("lang/spec.md does not speak of %s", p.Name)
		}
	}
}

// TestRowsAreWhole deletes each part of each row: every one that is there is
// needed, or the row says that the operation does without.
func TestRowsAreWhole(t *testing.T) {
	optional := func(p *Primitive, part string) bool {
		return part == "Curves" || part == "Name" || part == "Signature" && p.Name == ""
	}
	deleted := 0
	for _, whole := range Primitives {
		if missing := whole.missing(); missing != "" {
			t.Errorf("%s lacks %s", whole.Symbol, missing)
		}
		for k := range reflect.TypeFor[Primitive]().NumField() {
			part, row := reflect.TypeFor[Primitive]().Field(k), whole
			field := reflect.ValueOf(&row).Elem().Field(k)
			if field.IsZero() || field.Kind() != reflect.Func && field.Kind() != reflect.String || optional(&whole, part.Name) {
				continue
			}
			field.SetZero()
			deleted++
			if row.missing() == "" {
				t.Errorf("%s does without its %s", whole.Symbol, part.Name)
			}
		}
	}
	if deleted < 150 {
		t.Errorf("only %d parts were deleted", deleted)
	}
}
