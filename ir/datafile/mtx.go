package datafile

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// mtxBanner starts every MatrixMarket file.
const mtxBanner = "%%MatrixMarket"

// mtxReader reads a file of the MatrixMarket exchange format (NIST; Boisvert,
// Pozo, Remington 1996): coordinate files stay sparse, array files are dense
// (a single column is a vector); fields real, double, integer and pattern;
// general, symmetric and skew-symmetric.
type mtxReader struct {
	*reader
	name       string
	coordinate bool
	pattern    bool
	integer    bool
	symmetry   symmetry
	rows, cols int
	pos        int // start of the next line
	words      []field
}

type symmetry uint8

const (
	general symmetry = iota
	symmetric
	skew
)

func (r *reader) matrixMarket(name string) *data.Array {
	switch p := (&mtxReader{reader: r, name: name}); {
	case !p.banner():
		return nil
	case p.coordinate:
		return p.readCoordinate()
	default:
		return p.readArray()
	}
}

// next puts the words of the next line that is no comment and not blank into
// words; false at the end of the file.
func (p *mtxReader) next() bool {
	for p.pos < len(p.text) {
		start, end := p.pos, p.endOfLine(p.pos)
		p.pos = end + 1
		p.words = p.words[:0]
		for i := start; i < end; {
			if c := p.text[i]; isBlank(c) || c == '\r' {
				i++
				continue
			}
			from := i
			for i < end && !isBlank(p.text[i]) && p.text[i] != '\r' {
				i++
			}
			p.words = append(p.words, field{start: from, end: i})
		}
		if len(p.words) > 0 && p.text[p.words[0].start] != '%' {
			return true
		}
	}
	return false
}

func (p *mtxReader) word(k int) string { return p.text[p.words[k].start:p.words[k].end] }

// lineError reports an error that covers the current line.
func (p *mtxReader) lineError(code diag.Code, format string, args ...any) *diag.Diagnostic {
	return p.errorAt(code, p.words[0].start, p.words[len(p.words)-1].end, format, args...)
}

// endError reports that the file ends early.
func (p *mtxReader) endError(format string, args ...any) {
	p.errorAt(diag.DataSize, len(p.text), len(p.text), format, args...)
}

// banner reads the first line.
func (p *mtxReader) banner() bool {
	line, _, _ := strings.Cut(p.text, "\n")
	words := strings.Fields(line)
	const want = "expected %%MatrixMarket matrix (coordinate|array) (real|integer|pattern) (general|symmetric|skew-symmetric)"
	fail := func(code diag.Code, format string, args ...any) bool {
		p.errorAt(code, 0, len(strings.TrimRight(line, "\r")), format, args...).Detail = want
		return false
	}
	if len(words) != 5 || words[0] != mtxBanner || !strings.EqualFold(words[1], "matrix") {
		return fail(diag.DataMatrixMarket, "the first line is not a MatrixMarket banner")
	}
	switch strings.ToLower(words[2]) {
	case "coordinate":
		p.coordinate = true
	case "array":
	default:
		return fail(diag.DataMatrixMarket, "%s is not a MatrixMarket layout", clip(words[2]))
	}
	switch strings.ToLower(words[3]) {
	case "real", "double":
	case "integer":
		p.integer = true
	case "pattern":
		if !p.coordinate {
			return fail(diag.DataMatrixMarket, "a pattern has no values, so it cannot be an array")
		}
		p.pattern = true
	case "complex":
		return fail(diag.DataElementType, "%s holds complex numbers", p.name)
	default:
		return fail(diag.DataMatrixMarket, "%s is not a MatrixMarket field", clip(words[3]))
	}
	switch strings.ToLower(words[4]) {
	case "general":
	case "symmetric":
		p.symmetry = symmetric
	case "skew-symmetric":
		p.symmetry = skew
		if p.pattern {
			return fail(diag.DataMatrixMarket, "a pattern has no signs, so it cannot be skew-symmetric")
		}
	case "hermitian":
		return fail(diag.DataElementType, "%s is hermitian: complex numbers", p.name)
	default:
		return fail(diag.DataMatrixMarket, "%s is not a MatrixMarket symmetry", clip(words[4]))
	}
	p.pos = len(line) + 1
	return true
}

// sizes reads the line of n sizes.
func (p *mtxReader) sizes(n int) ([]int, bool) {
	if !p.next() {
		p.endError("the file ends before its sizes")
		return nil, false
	}
	if len(p.words) != n {
		p.lineError(diag.DataMatrixMarket, "%d sizes where %d are expected", len(p.words), n)
		return nil, false
	}
	out := make([]int, n)
	for k, w := range p.words {
		v, err := strconv.Atoi(p.word(k))
		if err != nil || v < 0 {
			p.errorAt(diag.DataMatrixMarket, w.start, w.end, "%s is not a size", clip(p.word(k)))
			return nil, false
		}
		out[k] = v
	}
	p.rows, p.cols = out[0], out[1]
	if p.symmetry != general && p.rows != p.cols {
		p.lineError(diag.DataMatrixMarket, "a symmetric matrix of %d x %d", p.rows, p.cols)
		return nil, false
	}
	return out, true
}

// readCoordinate reads the places and values of a sparse matrix.
func (p *mtxReader) readCoordinate() *data.Array {
	sizes, ok := p.sizes(3)
	if !ok {
		return nil
	}
	if limit := len(p.text) + emptyAllowance; p.rows > limit || p.cols > limit {
		p.lineError(diag.DataSize, "%s claims to be %d x %d in a file of %d bytes", p.name, p.rows, p.cols, len(p.text))
		return nil
	}
	count := sizes[2]
	// An entry takes at least two digits, a blank and an end of line.
	if least := len(p.text)/4 + 1; count > least {
		p.lineError(diag.DataSize, "%s claims %s in a file of %d bytes", p.name, diag.Count(count, "entry", "entries"), len(p.text))
		return nil
	}
	width := 3
	if p.pattern {
		width = 2
	}
	list := make([]sparse.Entry, 0, count)
	lines := make([]int, 0, count) // offset of the line of each entry
	for k := range count {
		if !p.next() {
			p.endError("%s claims %s, and the file ends after %d", p.name, diag.Count(count, "entry", "entries"), k)
			return nil
		}
		if len(p.words) != width {
			p.lineError(diag.DataMatrixMarket, "%d words where %d are expected in entry %d of %s", len(p.words), width, k+1, p.name)
			continue
		}
		i, okRow := p.index(0, p.rows, "row")
		j, okCol := p.index(1, p.cols, "column")
		if !okRow || !okCol {
			continue
		}
		if !p.stored(i, j) {
			continue
		}
		v := 1.0
		if !p.pattern {
			if v, ok = p.value(p.words[2], i, j); !ok {
				continue
			}
		}
		list = append(list, sparse.Entry{Row: i, Col: j, Val: v})
		lines = append(lines, p.words[0].start)
	}
	if !p.end() || p.errors > 0 {
		return nil
	}
	if p.symmetry != general {
		for _, e := range list {
			if e.Row != e.Col {
				list = append(list, sparse.Entry{Row: e.Col, Col: e.Row, Val: p.mirrored(e.Val)})
			}
		}
	}
	m := sparse.FromEntries(p.rows, p.cols, list)
	if m.NNZ() < len(list) {
		p.duplicates(list, lines)
		return nil
	}
	return data.SparseMatrix(m)
}

// duplicates reports the entries that repeat the place of an earlier one;
// lines[k] is the offset of the line of list[k].
func (p *mtxReader) duplicates(list []sparse.Entry, lines []int) {
	places := map[[2]int]int{}
	for k, line := range lines {
		at := [2]int{list[k].Row, list[k].Col}
		first, seen := places[at]
		if !seen {
			places[at] = line
			continue
		}
		d := p.errorAt(diag.DataDuplicate, line, line+1, "%s is given twice", entry{p.name, at[0], at[1]})
		d.Related = append(d.Related, diag.Related{Span: p.span(first, first+1), Message: "first here"})
	}
}

// readArray reads a dense matrix, column by column.
func (p *mtxReader) readArray() *data.Array {
	if _, ok := p.sizes(2); !ok {
		return nil
	}
	// A value takes at least a digit and an end of line; of a symmetric matrix
	// half is written.
	limit := len(p.text)/2 + 1
	if p.symmetry != general {
		limit *= 4 // n^2 <= 4 n(n-1)/2 for n >= 2
	}
	if _, ok := claimed([]int{p.rows, p.cols}, limit); !ok {
		p.lineError(diag.DataSize, "%s claims to be %d x %d in a file of %d bytes", p.name, p.rows, p.cols, len(p.text))
		return nil
	}
	values := make([]float64, p.rows*p.cols)
	for j := range p.cols {
		from := 0
		switch p.symmetry {
		case symmetric:
			from = j
		case skew:
			from = j + 1
		}
		for i := from; i < p.rows; i++ {
			if !p.next() {
				p.endError("%s claims to be %d x %d, and the file ends before %s", p.name, p.rows, p.cols, entry{p.name, i, j})
				return nil
			}
			if len(p.words) != 1 {
				p.lineError(diag.DataMatrixMarket, "%d words where the one value of %s is expected", len(p.words), entry{p.name, i, j})
				continue
			}
			v, ok := p.value(p.words[0], i, j)
			if !ok {
				continue
			}
			values[i*p.cols+j] = v
			if p.symmetry != general && i != j {
				values[j*p.cols+i] = p.mirrored(v)
			}
		}
	}
	if !p.end() || p.errors > 0 {
		return nil
	}
	if p.cols == 1 && p.symmetry == general {
		return data.Vector(values)
	}
	return data.Matrix(p.rows, p.cols, values)
}

// end reports lines after the last entry.
func (p *mtxReader) end() bool {
	if !p.next() {
		return true
	}
	p.lineError(diag.DataSize, "more entries than %s claims", p.name)
	return false
}

// index reads word k as a place from 1 to size and returns it from 0.
func (p *mtxReader) index(k, size int, what string) (int, bool) {
	v, err := strconv.Atoi(p.word(k))
	if err != nil || v < 1 || v > size {
		d := p.errorAt(diag.DataMatrixMarket, p.words[k].start, p.words[k].end, "%s is not a %s of %s", clip(p.word(k)), what, p.name)
		d.Detail = "expected an integer from 1 to " + strconv.Itoa(size)
		return 0, false
	}
	return v - 1, true
}

// stored reports whether a symmetric file may hold the entry (i, j): only the
// lower triangle is written, and the diagonal of a skew matrix is zero.
func (p *mtxReader) stored(i, j int) bool {
	if p.symmetry == general || i > j || p.symmetry == symmetric && i == j {
		return true
	}
	d := p.lineError(diag.DataMatrixMarket, "%s stands on the wrong side of a symmetric file", entry{p.name, i, j})
	d.Detail = "symmetric files hold the lower triangle, skew-symmetric ones without the diagonal"
	return false
}

func (p *mtxReader) mirrored(v float64) float64 {
	if p.symmetry == skew {
		return -v
	}
	return v
}

// value reads the value of the entry (i, j).
func (p *mtxReader) value(w field, i, j int) (float64, bool) {
	word := p.text[w.start:w.end]
	v, kind := parseNumber(word)
	if kind != finite {
		p.badNumber(kind, entry{p.name, i, j}, w.start, w.end)
		return 0, false
	}
	if p.integer && v != math.Trunc(v) {
		p.errorAt(diag.DataMatrixMarket, w.start, w.end, "%s is %s in a file of integers", entry{p.name, i, j}, clip(word))
		return 0, false
	}
	// Integers below 2^53 are all doubles; from there on, digits may be lost.
	if p.integer && math.Abs(v) >= 1<<53 && !exactInteger(word, v) {
		p.errorAt(diag.DataInexact, w.start, w.end, "%s is %s, an integer that no double holds exactly", entry{p.name, i, j}, clip(word))
		return 0, false
	}
	return v, true
}

// exactInteger reports whether the written integer is v and not a neighbour
// of it.
func exactInteger(word string, v float64) bool {
	written, ok := new(big.Float).SetPrec(uint(64 + 4*len(word))).SetString(word)
	return ok && written.Cmp(big.NewFloat(v)) == 0
}
