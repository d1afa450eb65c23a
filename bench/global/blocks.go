package main

import (
	"math/rand/v2"

	"bilevelc/internal/each"
)

// blocks are programs of n independent blocks, quadratic followers of six variables, whose variables and rows stand in a random order (bl); with a budget of the leader for all of them (bu).
var blocks = []class{{"bl", 5, 0, 4}, {"bl", 10, 0, 4}, {"bl", 20, 0, 4}, {"bl", 40, 0, 2}, {"bu", 5, 0, 4}, {"bu", 10, 0, 4}, {"bu", 20, 0, 2}}

// blocked joins n programs of the class ql.
func (in *instance) blocked(rng *rand.Rand, n int, budget bool) {
	parts := each.Below(n, func(int) *instance { return one(rng, "ql", 6, 0) })
	nx, ny, m := len(parts[0].C), len(parts[0].D), len(parts[0].RB)
	px, py, pm := rng.Perm(n*nx), rng.Perm(n*ny), rng.Perm(n*m)
	// vec puts the blocks' vectors at their places, mat their matrices.
	vec := func(of func(p *instance) []float64, at []int) []float64 {
		out := make([]float64, len(at))
		for k, p := range parts {
			for i, v := range of(p) {
				out[at[k*len(of(p))+i]] = v
			}
		}
		return out
	}
	mat := func(of func(p *instance) [][]float64, rows, cols []int) [][]float64 {
		out := matrix(len(rows), len(cols), func(int, int) float64 { return 0 })
		for k, p := range parts {
			for i, row := range of(p) {
				for j, v := range row {
					out[rows[k*len(of(p))+i]][cols[k*len(row)+j]] = v
				}
			}
		}
		return out
	}
	in.nonneg = true
	in.C, in.Lo, in.Hi = vec(func(p *instance) []float64 { return p.C }, px), vec(func(p *instance) []float64 { return p.Lo }, px), vec(func(p *instance) []float64 { return p.Hi }, px)
	in.D, in.LQ, in.RB = vec(func(p *instance) []float64 { return p.D }, py), vec(func(p *instance) []float64 { return p.LQ }, py), vec(func(p *instance) []float64 { return p.RB }, pm)
	in.Q, in.P = mat(func(p *instance) [][]float64 { return p.Q }, py, py), mat(func(p *instance) [][]float64 { return p.P }, px, py)
	in.B, in.A = mat(func(p *instance) [][]float64 { return p.B }, pm, py), mat(func(p *instance) [][]float64 { return p.A }, pm, px)
	if budget { // half way from the least to the middle of the box
		in.U, in.RU = [][]float64{vector(n*nx, func(int) float64 { return 1 })}, []float64{-float64(n * nx)}
	}
}
