package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/internal/must"
)

// The table is made by the command from a folder of models; a point below what is
// published is written down to the last digit.
func TestTable(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "bolib"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Bard1988Ex2", "HuHuangZhang2009"} {
		text, err := os.ReadFile(filepath.Join("data", "bolib", name+".blv"))
		if err == nil {
			err = os.WriteFile(filepath.Join(data, "bolib", name+".blv"), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Of the table that is there rows of other families stay, and those of this one go.
	before := "family,instance\nbolib,Gone1990Ex1\nprices,prices 0\n"
	if err := os.WriteFile(filepath.Join(dir, "field.csv"), []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := command([]string{"-out", dir, "-data", data, "bolib"}, new(bytes.Buffer), here); err != nil {
		t.Fatal(err)
	}
	read := func(name string) [][]string {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := read("field.csv")
	if len(rows) != 4 || rows[1][1] != "prices 0" {
		t.Fatalf("the table: %v", rows)
	}
	rows = rows[1:]
	if rows[1][1] != "Bard1988Ex2" || rows[1][9] != "solved" || rows[1][10] != "yes" {
		t.Errorf("the table: %v", rows)
	}
	// x = 2, y = (7/9, 0): the follower's rows leave y[1] 25/9 - x there, which is less than
	// the 8/9 of smaller x.
	points := read("field_points.csv")
	if len(points) != 2 || points[1][1] != "HuHuangZhang2009" {
		t.Fatalf("better points: %v", points)
	}
	if F, err := strconv.ParseFloat(points[1][2], 64); err != nil || math.Abs(F+8+7./9) > 1e-9 {
		t.Errorf("F = %v, %v", F, err)
	}
}

// All problems of BOLIB in the class, some of them in a plain run, are solved by default settings,
// and no worse than published, but for those that are named.
func TestBolib(t *testing.T) {
	others := map[string]string{
		"NetworkDesignP1": "numerical failure", // the best x is at a pole of g
		"TuyEtal2007Ex3":  "unbounded",         // along a ray whose answers an exact solver confirms
	}
	list := bolib("data")
	if len(list) != 91 {
		t.Errorf("%d problems", len(list))
	}
	for _, in := range members.Some(t, list, 12) {
		var row []string
		if err := must.Try(func() { row, _ = measure(in, time.Minute) }); err != nil {
			t.Errorf("%s: %v", in.name, err)
			continue
		}
		F, err := strconv.ParseFloat(row[5], 64)
		if err != nil {
			t.Fatal(err)
		}
		want := "solved"
		if other, ok := others[in.name]; ok {
			want = other
		}
		if in.name == "DesignCentringP4" && (row[9] == "unbounded" || F < -1e20) {
			want = row[9] // it is, along a curved path, or was followed that far; a local optimum is an answer, too
		}
		if row[9] != want || want == "solved" && row[10] != "yes" {
			t.Errorf("%v: not %s, or not verified", row, want)
		}
		if want == "solved" && F > in.known+digits*math.Max(1, math.Abs(in.known)) {
			t.Errorf("%s: F %v, published %v", in.name, F, in.known)
		}
	}
}

// The instances that are solved in seconds are solved and verified, no worse than
// known: by the optimum of the system for Hearn and Ramana's tolls, by the best point
// of 30 starts for the others.
func TestSolved(t *testing.T) {
	for _, c := range []struct {
		list  func(string) []instance
		name  string
		least float64 // of F, in its own sense, that counts as no worse
		sense float64 // 1: F is minimized, -1: maximized
	}{
		{tolls, "first best", 2253.917939, 1},
		{prices, "0", 4.1985, -1},
		{interdictions, "0", 139102.4, -1},
	} {
		list := c.list("data")
		at := slices.IndexFunc(list, func(in instance) bool { return in.name == c.name })
		row, _ := measure(list[at], 2*time.Minute)
		f, err := strconv.ParseFloat(row[5], 64)
		if err != nil || c.sense*f > c.sense*c.least || row[9] != "solved" || row[10] != "yes" {
			t.Errorf("%v: want solved and verified, F no worse than %g", row, c.least)
		}
	}
}

func TestEveryInstanceBinds(t *testing.T) {
	data := "data"
	for _, f := range families {
		if err := must.Try(func() { f.list(data)[0].bind() }); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	if must.Try(func() { supportVectors(t.TempDir()) }) == nil {
		t.Error("a folder without data is no error")
	}
	missing := filepath.Join(t.TempDir(), "a", "b")
	if err := command([]string{"-out", missing, "-data", "data", "hearn"}, new(bytes.Buffer), func(instance, string, time.Duration) ([]string, []string) {
		return []string{"hearn", "all"}, nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(missing, "field.csv")); err != nil {
		t.Error(err)
	}
	if err := command([]string{"-out", t.TempDir(), "no such family"}, new(bytes.Buffer), here); err == nil {
		t.Error("an unknown family is no error")
	}
}

// The bound is the loss that no follower beats: at the optimum of two samples
// that disagree, known in closed form.
func TestConvexBound(t *testing.T) {
	// One feature that is always 0: only b counts, and t = +1, -1 in equal parts
	// has the least mean of exp(1 - t b) at b = 0, which is e.
	got := convexBound([][]float64{{0}, {0}}, []float64{1, -1})
	if got < 2.718281828459044 || got > 2.718281828459047 {
		t.Errorf("bound %v, want e", got)
	}
}

// Toll setting with a linear follower on grids of 60 roads, two of the four in a plain run: half of them end at the optimum
// that mixed-integer programming knows, the others at local ones of no less than four fifths,
// none above it but by what the regularization lets the follower pay, and all at a point that
// verification accepts.
func TestTollGrids(t *testing.T) {
	list := tollGrids("data")
	list = slices.DeleteFunc(list, func(in instance) bool { return !strings.HasPrefix(in.name, "tollgrid_6_") })
	if len(list) < 4 {
		t.Fatalf("%d grids", len(list))
	}
	list, best := members.Some(t, list, 2), 0
	for _, in := range list {
		row, _ := measure(in, 0)
		F, err := strconv.ParseFloat(row[5], 64)
		if err != nil || row[9] != "solved" || row[10] != "yes" {
			t.Errorf("%s: %v", in.name, row)
			continue
		}
		// tau is 1e-5 of what is at stake.
		if F > in.known*(1+1e-3) || F < 0.8*in.known {
			t.Errorf("%s: F is %v, the optimum %v", in.name, F, in.known)
		}
		if F > in.known*(1-1e-3) {
			best++
		}
		t.Log(in.name, F, in.known, row[11])
	}
	if members.Full() && best < 2 {
		t.Errorf("%d of %d at the optimum", best, len(list))
	}
}

// Ties that are isolated, or that only an f that is not convex sees: the least F and where it is, by hand. In WanWangLv2011 the follower cannot gain anything at x = (1/2, 1/2), where y = 0 is its one answer,
// and F = 7.5 is below the published value.
func TestTiesOfBolib(t *testing.T) {
	list := bolib("data")
	least := map[string]float64{"LucchettiEtal1987": 0, "IshizukaAiyoshi1992a": 0, "WanWangLv2011": 7.5}
	for _, in := range list {
		want, asked := least[in.name]
		if !asked {
			continue
		}
		row, _ := measure(in, time.Minute)
		if F, err := strconv.ParseFloat(row[5], 64); err != nil || math.Abs(F-want) > 1e-8 || row[9] != "solved" || row[10] != "yes" {
			t.Errorf("%s: %v, want %v", in.name, row, want)
		}
		delete(least, in.name)
	}
	if len(least) > 0 {
		t.Errorf("not there: %v", least)
	}
}
