package exchange

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime/tolerance"
)

// Bilevel is a linear bilevel program as MibS and BOBILib hold it (coin-or/MibS, "MibS input file format"): a program of all
// columns and rows with the leader's objective, and an auxiliary file that says which columns and rows are the follower's, and its
// objective, which it minimizes. Bounds of the follower's columns are the follower's.
type Bilevel struct {
	*Program
	Lower    []bool    // of each column: the follower decides it
	LowerRow []bool    // of each row: the follower keeps it
	Goal     []float64 // the follower's costs, of each column; 0 on the leader's
}

// ReadBilevel reads the pair of files. Columns of the follower are not integer.
func ReadBilevel(mps, aux *diag.Source) (b *Bilevel, list diag.List) {
	if err := must.Try(func() { b = readBilevel(mps, aux) }); err != nil {
		return nil, err.(diag.List)
	}
	return b, nil
}

func readBilevel(mps, aux *diag.Source) *Bilevel {
	p, places := parseMPS(mps)
	r := &auxReader{src: aux, b: &Bilevel{Program: p, Lower: make([]bool, len(p.Columns)), LowerRow: make([]bool, len(p.Rows)), Goal: make([]float64, len(p.Columns))},
		column: map[string]int{}, row: map[string]int{}, count: map[string]int{}}
	for j := range p.Columns {
		r.column[p.Columns[j].Name] = j
	}
	for i := range p.Rows {
		r.row[p.Rows[i].Name] = i
	}
	r.read()
	var list diag.List
	for j, c := range p.Columns {
		if !r.b.Lower[j] || !c.Integer {
			continue
		}
		d := list.Errorf(diag.IntegerFollower, places[j], "the follower's variable `%s` is integer", c.Name)
		d.Detail = "the follower's answer is described by its KKT conditions, which hold for continuous variables only: " +
			"they say nothing about the best of whole numbers"
		must.Do(list)
	}
	p.endIntegers()
	for j, c := range p.Columns {
		if c.Integer && (infinite(c.Lo) || infinite(c.Hi)) {
			d := list.Errorf(diag.BindIntegerEnds, places[j], "the integer variable `%s` has an end that neither its bounds nor the rows give", c.Name)
			d.Detail, d.Fix = "the search for the best whole numbers goes through those between two bounds", "write both in BOUNDS"
			must.Do(list)
		}
	}
	return r.b
}

// endIntegers gives integer columns without ends those that the rows leave them, by the least and the most that the other terms of a row come to
// (Savelsbergh 1994, section 1.1). Ends that a column has stay as they are.
func (p *Program) endIntegers() {
	lo, hi := make([]float64, len(p.Columns)), make([]float64, len(p.Columns))
	open := 0
	for j, c := range p.Columns {
		lo[j], hi[j] = c.Lo, c.Hi
		if c.Integer && (infinite(c.Lo) || infinite(c.Hi)) {
			open++
		}
	}
	for found := open > 0; found; {
		found = false
		for i, row := range p.Rows {
			found = p.endsBy(i, row, lo, hi) || found
		}
	}
	for j := range p.Columns {
		if c := &p.Columns[j]; c.Integer {
			if infinite(c.Lo) {
				c.Lo = math.Ceil(lo[j])
			}
			if infinite(c.Hi) {
				c.Hi = math.Floor(hi[j])
			}
		}
	}
}

// endsBy gives the columns of a row that have no ends those that the row leaves them; false where it leaves none. What the others come to is what all do
// without the column's own term, where no other is without end.
func (p *Program) endsBy(i int, row Row, lo, hi []float64) (found bool) {
	cols, vals := p.A.Row(i)
	term := func(k int) (least, most float64) {
		if vals[k] == 0 {
			return 0, 0
		}
		a, b := vals[k]*lo[cols[k]], vals[k]*hi[cols[k]]
		return math.Min(a, b), math.Max(a, b)
	}
	var least, most, terms float64 // of the terms that have an end
	freeLeast, freeMost := 0, 0    // how many have none
	add := func(v float64, sum *float64, free *int) {
		if infinite(v) {
			*free++
		} else {
			*sum, terms = *sum+v, terms+math.Abs(v)
		}
	}
	for k := range cols {
		low, high := term(k)
		add(low, &least, &freeLeast)
		add(high, &most, &freeMost)
	}
	others := func(own, sum float64, free int) float64 { // NaN where one has no end
		switch {
		case free == 0:
			return sum - own
		case free == 1 && infinite(own):
			return sum
		}
		return math.NaN()
	}
	for k, j := range cols {
		if vals[k] == 0 || !infinite(lo[j]) && !infinite(hi[j]) {
			continue
		}
		low, high := term(k)
		low, high = (row.Lo-others(high, most, freeMost))/vals[k], (row.Hi-others(low, least, freeLeast))/vals[k]
		if vals[k] < 0 {
			low, high = high, low
		}
		ended := func(v float64) bool { return !infinite(v) && !math.IsNaN(v) }
		rounding := tolerance.Sign * math.Max(1, terms/math.Abs(vals[k]))
		if infinite(lo[j]) && ended(low) {
			lo[j], found = low-math.Max(rounding, tolerance.Sign*math.Abs(low)), true
		}
		if infinite(hi[j]) && ended(high) {
			hi[j], found = high+math.Max(rounding, tolerance.Sign*math.Abs(high)), true
		}
	}
	return found
}

type auxReader struct {
	src         *diag.Source
	b           *Bilevel
	column, row map[string]int
	count       map[string]int // of N and M, as stated
	chosen      []int          // the follower's columns, in the order of the file
	costs       []float64      // of the older format, in that order
	sense       float64
	rows        int
}

// read takes both forms: sections that begin with @ and name columns and rows, and the older one with a key a line (N, M, LC, LR, LO, OS)
// and places that count from 0, or names. Files with keys and sections in one are among those of MibS, too.
func (r *auxReader) read() {
	tag := ""
	r.sense = 1
	fieldsOf(r.src, "#", func(f []field, _ bool) bool {
		key := f[0].text
		hold(key != "IC" && key != "IB", f[0].at, "`%s` is of an interdiction problem, of which the MPS file holds the follower alone: that form is not read", key)
		return !strings.HasPrefix(key, "@")
	})
	fieldsOf(r.src, "#", func(f []field, _ bool) bool {
		key := f[0].text
		switch {
		case strings.HasPrefix(key, "@"):
			tag = strings.ToUpper(key)
			if tag == "@CONSTSBEGIN" || tag == "@CONSTSEND" { // so in some
				tag = "@CONSTR" + tag[len("@CONST"):]
			}
			hold(strings.Contains(" @NUMVARS @NUMCONSTRS @VARSBEGIN @VARSEND @CONSTRSBEGIN @CONSTRSEND @NAME @MPS @LP ", " "+tag+" "), f[0].at,
				"a section `%s` that auxiliary files of bilevel programs do not have", key)
		case tag == "@NUMVARS":
			r.count["N"] = int(r.whole(f[0]))
		case tag == "@NUMCONSTRS":
			r.count["M"] = int(r.whole(f[0]))
		case tag == "@VARSBEGIN":
			j, ok := r.column[key]
			hold(ok, f[0].at, "the MPS file has no column `%s`", key)
			r.take(f[0], j)
			if len(f) > 1 {
				r.b.Goal[j] = r.sense * r.number(f[1])
			}
		case tag == "@CONSTRSBEGIN":
			i, ok := r.row[key]
			hold(ok, f[0].at, "the MPS file has no row `%s`", key)
			r.takeRow(f[0], i)
		case tag != "":
		default:
			r.keyed(f)
		}
		return true
	})
	end := diag.Span{Source: r.src, Start: len(r.src.Text), End: len(r.src.Text)}
	for k, c := range r.costs {
		hold(k < len(r.chosen), end, "%d costs of the follower (LO), but %d columns (LC)", len(r.costs), len(r.chosen))
		r.b.Goal[r.chosen[k]] = r.sense * c
	}
	var list diag.List
	if n, stated := r.count["N"]; stated && n != len(r.chosen) {
		list.Errorf(diag.DataMPS, end, "the follower has %d variables by their number, and %d by their list", n, len(r.chosen))
	}
	if m, stated := r.count["M"]; stated && m != r.rows {
		list.Errorf(diag.DataMPS, end, "the follower has %d constraints by their number, and %d by their list", m, r.rows)
	}
	if len(r.chosen) == 0 || len(r.chosen) == len(r.b.Columns) {
		list.Errorf(diag.DataMPS, end, "the follower has %d of the %d variables: each level needs one", len(r.chosen), len(r.b.Columns))
	}
	must.Do(list.Err())
}

// keyed reads a line of the older form.
func (r *auxReader) keyed(f []field) {
	hold(len(f) >= 2, f[0].at, "expected a key and a number, such as `LC 3`")
	switch f[0].text {
	case "N", "M":
		r.count[f[0].text] = int(r.whole(f[1]))
	case "LC":
		r.take(f[1], r.place(f[1], r.column, len(r.b.Columns), "columns"))
	case "LR":
		r.takeRow(f[1], r.place(f[1], r.row, len(r.b.Rows), "rows"))
	case "LO":
		r.costs = append(r.costs, r.number(f[1]))
	case "OS":
		r.sense = r.number(f[1])
		hold(r.sense == 1 || r.sense == -1, f[1].at, "the sense of the follower (OS) is 1 or -1")
	default:
		hold(false, f[0].at, "`%s` is no key of a bilevel program: N, M, LC, LR, LO or OS", f[0].text)
	}
}

// place is a column or row by its place, or by its name.
func (r *auxReader) place(f field, named map[string]int, n int, what string) int {
	if v, err := strconv.ParseInt(f.text, 10, 32); err == nil && v >= 0 && v < int64(n) {
		return int(v)
	}
	at, ok := named[f.text]
	hold(ok, f.at, "the MPS file has %d %s, counted from 0, and none with the name `%s`", n, what, f.text)
	return at
}

func (r *auxReader) take(f field, j int) {
	hold(!r.b.Lower[j], f.at, "the column `%s` is listed twice", r.b.Columns[j].Name)
	r.b.Lower[j] = true
	r.chosen = append(r.chosen, j)
}

func (r *auxReader) takeRow(f field, i int) {
	hold(!r.b.LowerRow[i], f.at, "the row `%s` is listed twice", r.b.Rows[i].Name)
	r.b.LowerRow[i] = true
	r.rows++
}

func (r *auxReader) number(f field) float64 {
	v, err := strconv.ParseFloat(f.text, 64)
	hold(err == nil && v-v == 0, f.at, "`%s` is no number", f.text)
	return v
}

func (r *auxReader) whole(f field) int64 {
	v, err := strconv.ParseInt(f.text, 10, 32)
	hold(err == nil, f.at, "`%s` is no whole number", f.text)
	return v
}

// WriteBilevel writes the pair of files; file is the name of the MPS file, which the other one holds.
func WriteBilevel(mps, aux io.Writer, b *Bilevel, file string) error {
	if err := WriteMPS(mps, b.Program); err != nil {
		return err
	}
	names, _ := b.spell(mpsSpelling(), mpsSpelling())
	w := bufio.NewWriter(aux)
	variables, rows := 0, 0
	var columns, constraints strings.Builder
	for j, lower := range b.Lower {
		if lower {
			variables++
			fmt.Fprintf(&columns, "%s %s\n", names.columns[j], number(b.Goal[j]))
		}
	}
	for i, lower := range b.LowerRow {
		if lower {
			rows++
			fmt.Fprintf(&constraints, "%s\n", names.rows[i])
		}
	}
	fmt.Fprintf(w, "@NUMVARS\n%d\n@NUMCONSTRS\n%d\n@VARSBEGIN\n%s@VARSEND\n@CONSTRSBEGIN\n%s@CONSTRSEND\n@NAME\n%s\n@MPS\n%s\n",
		variables, rows, columns.String(), constraints.String(), mpsSpelling().of(b.Name), file)
	return w.Flush()
}
