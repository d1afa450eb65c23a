package main

import "gonum.org/v1/gonum/floats"

func dot(a, b []float64) float64                { return floats.Dot(a, b) }
func norm(v []float64) float64                  { return floats.Norm(v, 2) }
func distance(a, b []float64) float64           { return floats.Distance(a, b, 2) }
func scale(v []float64, c float64)              { floats.Scale(c, v) }
func add(dst []float64, c float64, v []float64) { floats.AddScaled(dst, c, v) }
