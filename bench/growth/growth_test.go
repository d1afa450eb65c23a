package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGrowth measures the smallest problems and checks what is written.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := command([]string{"-out", dir, "d_x"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"growth.csv", "growth_fits.csv", "growth.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	table, _ := os.ReadFile(filepath.Join(dir, "growth.csv"))
	if lines := strings.Count(string(table), "\n"); lines != 1+3*3+3*2 || !strings.Contains(string(table), "sparse") {
		t.Errorf("%d lines:\n%s", lines, table)
	}
	if err := command([]string{"-out", dir, "-stored"}, &out); err != nil {
		t.Error(err)
	}
	again, _ := os.ReadFile(filepath.Join(dir, "growth.csv"))
	if !bytes.Equal(table, again) {
		t.Errorf("stored measurements are not those measured:\n%s", again)
	}
	if err := command([]string{"-out", dir, "-most", "60", "d_y, dense"}, &out); err != nil {
		t.Error(err)
	}
	more, _ := os.ReadFile(filepath.Join(dir, "growth.csv"))
	if lines := strings.Count(string(more), "\n"); lines != 1+3*3+3*2+3 || !strings.Contains(string(more), string(table[bytes.IndexByte(table, '\n'):])) {
		t.Errorf("a run of another axis leaves %d lines:\n%s", lines, more)
	}
	if err := command([]string{"-out", t.TempDir(), "-most", "100", "d_x, solved"}, &out); err != nil {
		t.Errorf("one point alone: %v", err)
	}
	if err := command([]string{"-out", dir, "nothing"}, &out); err == nil {
		t.Error("an axis that does not exist is measured")
	}
}

// TestSlope: points of a power law give its power.
func TestSlope(t *testing.T) {
	var x, y []float64
	for _, v := range []float64{1, 3, 10} {
		x, y = append(x, math.Log(v)), append(y, 1.5*math.Log(v)+2)
	}
	if s := slope(x, y); math.Abs(s-1.5) > 1e-12 {
		t.Errorf("slope %v", s)
	}
}
