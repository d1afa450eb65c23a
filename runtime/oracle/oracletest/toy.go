package oracletest

import (
	"encoding/json"
	"os"
	"path/filepath"

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
// from a folder.
func Toy(folder, name string) (*problem.Problem, *Reference, error) {
	ref := new(Reference)
	text, err := os.ReadFile(filepath.Join(folder, name+".ref.json"))
	if err == nil {
		err = json.Unmarshal(text, ref)
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := compiled(filepath.Join(folder, "toy.blv"), filepath.Join(folder, name+".json"))
	if err == nil {
		p.Name, p.Facts.StrongConvexity = name, 1
	}
	return p, ref, err
}
