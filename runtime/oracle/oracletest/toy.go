package oracletest

import (
	"encoding/json"
	"os"
	"path/filepath"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Reference is an exact lower solution and hypergradient at one x.
type Reference struct {
	X             []float64 `json:"x"`
	Y             []float64 `json:"y"`
	Multipliers   []float64 `json:"multipliers"`
	Value         float64   `json:"value"`
	Hypergradient []float64 `json:"hypergradient"`
	Optimum       float64   `json:"optimum"`
}

// Toy reads an instance of the paper's experiment (Section 6) and its reference
// from a folder: g = 1/2 y'(L'L + I)y + x'Py subject to A y <= b,
// f = c'y + 0.01 |x|^2 + 0.01 |y|^2.
func Toy(folder, name string) (*problem.Problem, *Reference, error) {
	var d struct {
		Dx, Dy, Dh int
		C, B       []float64
		P, L, A    [][]float64
	}
	ref := new(Reference)
	for file, into := range map[string]any{name + ".json": &d, name + ".ref.json": ref} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return nil, nil, err
		}
	}
	n := d.Dx + d.Dy
	g, f, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
	for _, row := range d.L {
		for i, u := range row {
			for j, v := range row {
				g[(d.Dx+i)*n+d.Dx+j] += u * v
			}
		}
	}
	for i := range d.Dy {
		g[(d.Dx+i)*(n+1)]++
	}
	for i, row := range d.P {
		for j, v := range row {
			g[i*n+d.Dx+j], g[(d.Dx+j)*n+i] = v, v
		}
	}
	for i := range n {
		f[i*(n+1)] = 0.02
	}
	copy(c[d.Dx:], d.C)
	rows := &problem.Rows{Kind: make([]problem.Kind, d.Dh), A: sparse.FromDense(d.Dh, d.Dx, make([]float64, d.Dh*d.Dx)),
		Rhs: make([]float64, d.Dh), Name: make([]string, d.Dh)}
	b := make([]float64, 0, d.Dh*d.Dy)
	for i, row := range d.A {
		for _, v := range row {
			b = append(b, -v)
		}
		rows.Rhs[i] = d.B[i]
	}
	rows.B = sparse.FromDense(d.Dh, d.Dy, b)
	p := &problem.Problem{Name: name, Dx: d.Dx, Dy: d.Dy, F: NewQuadratic(d.Dx, d.Dy, f, c, 0),
		G: NewQuadratic(d.Dx, d.Dy, g, make([]float64, n), 0), Rows: rows, X: Free(d.Dx), Start: make([]float64, d.Dx)}
	p.Facts.StrongConvexity, p.Facts.QuadraticInY, p.Facts.FixedHessian = 1, true, true
	return p, ref, nil
}
