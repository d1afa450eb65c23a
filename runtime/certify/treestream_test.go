package certify

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// fullTree is the proof of a follower with n rows y_i >= x that branches on each of them everywhere: 2^n leaves, made up while it is read.
type fullTree struct {
	n     int
	stack []int // rows to branch on below nodes that are not read
	rest  []byte
	leaf  []byte
	reads int
	look  func() // at every 512th line
}

func (f *fullTree) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		if len(f.stack) == 0 {
			return 0, io.EOF
		}
		if f.reads++; f.reads%512 == 0 {
			f.look()
		}
		k := f.stack[len(f.stack)-1]
		f.stack = f.stack[:len(f.stack)-1]
		if k < f.n {
			f.stack = append(f.stack, k+1, k+1)
			f.rest = fmt.Appendf(f.rest[:0], "{\"pair\":%d}\n", k)
		} else {
			f.rest = append(f.rest[:0], f.leaf...)
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// readFull verifies the full tree of n pairs, and returns the most memory that was in use on the way.
func readFull(t *testing.T, n int) (most uint64) {
	t.Helper()
	a, b, rows := []sparse.Entry{}, []sparse.Entry{}, &problem.Rows{Rhs: make([]float64, n), Kind: make([]problem.Kind, n)}
	price, at, val := make([]float64, n), make([]string, n), make([]string, n)
	for i := range n {
		a, b = append(a, sparse.Entry{Row: i, Col: 0, Val: 1}), append(b, sparse.Entry{Row: i, Col: i, Val: 1})
		rows.Kind[i], price[i], at[i], val[i] = problem.AtMost, 1, fmt.Sprint(i), "1"
	}
	rows.A, rows.B = sparse.FromEntries(n, 1, a), sparse.FromEntries(n, n, b)
	p := &problem.Problem{Dx: 1, Dy: n, F: affine{[]float64{0}, price, 0}, G: affine{[]float64{0}, make([]float64, n), 1}, Rows: rows,
		X: &problem.Set{Lo: []float64{0}, Hi: []float64{1}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
	tree := &fullTree{n: n, stack: []int{0}, rest: []byte("{\"tree\":1}\n"), leaf: fmt.Appendf(nil, "{\"bound\":{\"lower\":{\"at\":[%s],\"val\":[%s]}}}\n", strings.Join(at, ","), strings.Join(val, ","))}
	tree.look = func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	report, err := VerifyTree(p, tree, "")
	if err != nil || report.Leaves != 1<<n || report.Bound != 0 || report.Depth != n {
		t.Fatalf("%v, %+v", err, report)
	}
	return most
}

// The memory that verification takes does not grow with the number of leaves.
func TestTreesAreReadInBoundedMemory(t *testing.T) {
	few, many := readFull(t, 9), readFull(t, 14)
	if many > few+1<<18 { // what 14 instead of 9 rows take, and the test itself; all the leaves' text would be 1.4 MB
		t.Errorf("%d bytes for 512 leaves, %d for 16384", few, many)
	}
}
