//go:build tools

package main

import (
	_ "github.com/alecthomas/participle/v2"
	_ "github.com/guptarohit/asciigraph"
	_ "github.com/reeflective/readline"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/sbinet/npyio/npz"
	_ "github.com/spf13/cobra"
	_ "go4.org/unsafe/assume-no-moving-gc"
	_ "golang.org/x/term"
	_ "golang.org/x/tools/txtar"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/plot"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gonum.org/v1/plot/vg/vgsvg"
	_ "gorgonia.org/gorgonia"
	_ "gorgonia.org/tensor"
	_ "pgregory.net/rapid"
)
