package datafile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// npyMagic starts every .npy file; the version (major, minor) follows it.
const npyMagic = "\x93NUMPY"

// npyHeader is what the header of a .npy file says: the format of NumPy
// Enhancement Proposal 1, versions 1 to 3.
type npyHeader struct {
	descr   string // such as <f8
	fortran bool   // column-major
	shape   []int
	size    int // bytes before the entries
}

// npy decodes the bytes of a .npy file: an array of rank 0, 1 or 2 of float32, float64,
// bool or any integer type, of either byte order, row- or column-major. file is its name
// for messages.
//
// The reader is the project's own: a file may claim any size, and the entries
// are checked against the bytes that are there before anything is allocated.
func (r *reader) npy(name, file, text string) *data.Array {
	h, problem := parseNPYHeader(text)
	if problem != "" {
		r.npyError(diag.DataNumPy, file, "not a valid .npy file: %s", problem)
		return nil
	}
	elem, problem := elementType(h.descr)
	if problem != "" {
		d := r.npyError(diag.DataElementType, file, "%s holds %s", name, problem)
		d.Detail = "expected float64, float32, bool or an integer type"
		return nil
	}
	if len(h.shape) > 2 {
		d := r.npyError(diag.DataRank, file, "%s has %d dimensions", name, len(h.shape))
		d.Detail = "arrays have at most two dimensions"
		return nil
	}
	body := text[h.size:]
	count, ok := claimed(h.shape, len(body)/elem.size)
	if !ok || len(body) != count*elem.size {
		r.npyError(diag.DataSize, file, "%s claims the shape %s, %d bytes each, and %d bytes follow the header",
			name, shapeString(h.shape), elem.size, len(body))
		return nil
	}
	values := make([]float64, count)
	for k := range values {
		v, exact := elem.decode(body[k*elem.size:])
		values[k] = v
		if exact && !math.IsNaN(v) && !math.IsInf(v, 0) {
			continue
		}
		at := h.place(name, k)
		if exact {
			r.npyError(diag.DataNotFinite, file, "%s is %v; every entry must be finite", at, v)
		} else {
			d := r.npyError(diag.DataInexact, file, "%s is an integer that no double holds exactly", at)
			d.Detail = "integers are exact up to 2^53 = 9007199254740992"
		}
	}
	if h.fortran && len(h.shape) == 2 {
		return data.Matrix(h.shape[1], h.shape[0], values).Transposed()
	}
	return &data.Array{Shape: h.shape, Dense: values}
}

func (r *reader) npyError(code diag.Code, file, format string, args ...any) *diag.Diagnostic {
	return r.report(code, diag.Span{}, "%s: %s", file, fmt.Sprintf(format, args...))
}

// place is the index of the k-th stored entry.
func (h *npyHeader) place(name string, k int) entry {
	switch {
	case len(h.shape) == 0:
		return entry{name, -1, -1}
	case len(h.shape) == 1:
		return entry{name, k, -1}
	case h.fortran:
		return entry{name, k % h.shape[0], k / h.shape[0]}
	}
	return entry{name, k / h.shape[1], k % h.shape[1]}
}

// emptyAllowance bounds a dimension beyond what the bytes of its file can
// fill: rows and columns without entries take no bytes of a file, but one
// word each of a sparse matrix, and every loop over them takes time.
const emptyAllowance = 1 << 20

// claimed is the number of entries of a shape, false where it is above limit
// (or would overflow), or where an empty array has an absurd dimension.
func claimed(shape []int, limit int) (int, bool) {
	count := 1
	for _, d := range shape {
		if d > limit+emptyAllowance {
			return 0, false
		}
		if d == 0 {
			count = 0
		}
	}
	for _, d := range shape {
		if count > 0 && count > limit/d {
			return 0, false
		}
		count *= d
	}
	return count, true
}

// parseNPYHeader reads magic, version, header length and the header, a
// Python dictionary with the keys descr, fortran_order and shape. problem
// says what is wrong.
func parseNPYHeader(text string) (h npyHeader, problem string) {
	rest, ok := strings.CutPrefix(text, npyMagic)
	if !ok {
		return h, "it does not start with the NumPy magic bytes"
	}
	if len(rest) < 2 {
		return h, "it ends inside its header"
	}
	major := rest[0]
	rest = rest[2:]
	var length int
	switch {
	case major == 1 && len(rest) >= 2:
		length = int(rest[0]) | int(rest[1])<<8
		rest = rest[2:]
	case (major == 2 || major == 3) && len(rest) >= 4:
		length = int(binary.LittleEndian.Uint32([]byte(rest[:4])))
		rest = rest[4:]
	case major < 1 || major > 3:
		return h, fmt.Sprintf("unknown version %d of the format", major)
	default:
		return h, "it ends inside its header"
	}
	if length > len(rest) {
		return h, "it ends inside its header"
	}
	h.size = len(text) - len(rest) + length
	return h, h.read(rest[:length])
}

// pyToken matches the parts of Python's literals that a header consists of.
var pyToken = regexp.MustCompile(`'[^']*'|"[^"]*"|[0-9]+|[A-Za-z]+|\S`)

// asJSON spells the parts that JSON spells otherwise.
var asJSON = strings.NewReplacer("(", "[", ")", "]", "True", "true", "False", "false")

// read takes a dictionary of descr, fortran_order and shape, which is one of JSON but for its
// spelling. problem says what is wrong.
func (h *npyHeader) read(dictionary string) (problem string) {
	tokens := pyToken.FindAllString(dictionary, -1)
	var spelt []byte
	keys := 0
	for i, t := range tokens {
		switch {
		case t[0] == '\'' || t[0] == '"':
			spelt = data.AppendText(spelt, t[1:len(t)-1])
		case t == "," && i+1 < len(tokens) && strings.Contains("})", tokens[i+1]), t == "L": // Python 2 wrote long integers so
		default:
			if t == ":" {
				keys++
			}
			spelt = append(spelt, asJSON.Replace(t)...)
		}
	}
	var parts struct {
		Descr   json.RawMessage `json:"descr"`
		Fortran *bool           `json:"fortran_order"`
		Shape   json.RawMessage `json:"shape"`
	}
	switch err := json.Unmarshal(spelt, &parts); {
	case err != nil || keys != 3 || parts.Descr == nil || parts.Fortran == nil || parts.Shape == nil:
		return "its header is not a dictionary of descr, fortran_order and shape"
	case json.Unmarshal(parts.Descr, &h.descr) != nil:
		return "its entries are records, not numbers"
	case json.Unmarshal(parts.Shape, &h.shape) != nil || slices.ContainsFunc(h.shape, func(n int) bool { return n < 0 }):
		return "its shape is not a tuple of sizes"
	}
	h.fortran = *parts.Fortran
	return ""
}

// element is a number type of NumPy.
type element struct {
	size   int
	decode func(b string) (v float64, exact bool)
}

// elementType reads a type code such as <f8. problem names a type that holds
// no real numbers, or none that a double can take.
func elementType(descr string) (e element, problem string) {
	order, kind := byte('|'), descr
	if descr != "" && strings.IndexByte("<>=|", descr[0]) >= 0 {
		order, kind = descr[0], descr[1:]
	}
	bits := func(b string, size int) uint64 {
		var u uint64
		for i := range size {
			k := i
			if order != '>' {
				k = size - 1 - i
			}
			u = u<<8 | uint64(b[k])
		}
		return u
	}
	switch kind {
	case "f8":
		return element{8, func(b string) (float64, bool) { return math.Float64frombits(bits(b, 8)), true }}, ""
	case "f4":
		return element{4, func(b string) (float64, bool) { return float64(math.Float32frombits(uint32(bits(b, 4)))), true }}, ""
	case "b1":
		return element{1, func(b string) (float64, bool) { return float64(min(b[0], 1)), true }}, ""
	case "i1", "i2", "i4", "i8":
		size := int(kind[1] - '0')
		shift := 64 - 8*size
		return element{size, func(b string) (float64, bool) {
			i := int64(bits(b, size)<<shift) >> shift
			v := float64(i)
			return v, v < 1<<63 && int64(v) == i // 2^63 itself does not convert back
		}}, ""
	case "u1", "u2", "u4", "u8":
		size := int(kind[1] - '0')
		return element{size, func(b string) (float64, bool) {
			u := bits(b, size)
			v := float64(u)
			return v, v < 1<<64 && uint64(v) == u
		}}, ""
	}
	switch {
	case kind == "f2" || kind == "f16" || kind == "f12":
		return e, "floats of " + kind[1:] + " bytes"
	case strings.HasPrefix(kind, "c"):
		return e, "complex numbers"
	case strings.HasPrefix(kind, "O"):
		return e, "Python objects"
	case strings.HasPrefix(kind, "S"), strings.HasPrefix(kind, "U"), strings.HasPrefix(kind, "a"):
		return e, "strings"
	case strings.HasPrefix(kind, "M"), strings.HasPrefix(kind, "m"):
		return e, "dates or times"
	}
	return e, "entries of the type " + clip(descr)
}

// shapeString writes a shape as NumPy does: (3, 4), (3,), ().
func shapeString(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + diag.Join(shape, ", ", strconv.Itoa) + ")"
}
