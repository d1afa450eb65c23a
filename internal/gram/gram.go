// Package gram multiplies dense matrices: Gram matrices M' M and M M', what models
// write as `L' * L` before anything else happens, and the blocks of dense
// factorizations.
//
// Of a symmetric product only tiles on and above the diagonal are computed. Every
// entry is summed in the same order whatever the number of threads, and whatever
// other columns are computed with it.
package gram

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Block is a rows x cols part of a row-major matrix, rows stride apart.
type Block struct {
	Data               []float64
	Rows, Cols, Stride int
}

// Of sets out to M' M (cols x cols) with trans, to M M' (rows x rows) without;
// M is rows x cols, row-major. The result is symmetric to the last bit.
func Of(out, m []float64, rows, cols int, trans bool) {
	n := rows
	if trans {
		n = cols
	}
	clear(out[:n*n])
	w := work{out: Block{out, n, n, n}, sign: 1, symmetric: true}
	w.sum(Block{m, rows, cols, cols}, trans, Block{}, true)
	Mirror(out, n)
}

// Subtract takes A' B (with trans) or A B from out. out may lie in the same matrix
// as A and B where it shares no entry with them.
func Subtract(out, a Block, trans bool, b Block) {
	w := work{out: out, sign: -1}
	w.sum(a, trans, b, true)
}

// Rows sets out to A B', the products of the rows of two matrices.
func Rows(out, a, b Block) {
	for i := range out.Rows {
		clear(out.Data[i*out.Stride:][:out.Cols])
	}
	w := work{out: out, sign: 1}
	w.sum(a, false, b, false)
}

// SubtractGram takes A' A from the upper triangle of out, and leaves what is below the diagonal alone.
func SubtractGram(out, a Block) { addGram(out, a, -1) }

// AddGram adds A' A, likewise.
func AddGram(out, a Block) { addGram(out, a, 1) }

func addGram(out, a Block, sign float64) {
	w := work{out: out, sign: sign, symmetric: true}
	w.sum(a, true, Block{}, true)
}

// width is the number of columns in a panel, depth the number of terms that
// are summed before entries go back to memory: a panel of 256 x 8 entries
// takes 16 KiB, half of the first-level cache. group panels stay in the
// second-level cache.
const (
	width = 8
	depth = 256
	group = 16
)

// work adds sign times the product of two packed operands to out, in rounds of
// depth terms. Of a symmetric product both are the same.
type work struct {
	out       Block
	sign      float64
	symmetric bool
	k         int // terms of this round
	a, b      []float64
}

// sum runs over the rounds; the terms are the rows of a, with trans, or its columns, and the rows of b, with byRows, or its columns.
func (w *work) sum(a Block, trans bool, b Block, byRows bool) {
	inner := a.Cols
	if trans {
		inner = a.Rows
	}
	if w.out.Rows == 0 || w.out.Cols == 0 || inner == 0 {
		return
	}
	w.a = room(panels(w.out.Rows) * width * min(inner, depth))
	defer release(w.a)
	if !w.symmetric {
		w.b = room(panels(w.out.Cols) * width * min(inner, depth))
		defer release(w.b)
	}
	for k := 0; k < inner; k += depth {
		w.k = min(depth, inner-k)
		pack(w.a, a, w.out.Rows, trans, k, w.k)
		if w.symmetric {
			w.b = w.a
		} else {
			pack(w.b, b, w.out.Cols, byRows, k, w.k)
		}
		w.multiply()
	}
}

// rooms are those of packed operands, of which packing sets every entry.
var rooms sync.Pool

func room(n int) []float64 {
	if r, ok := rooms.Get().(*[]float64); ok && cap(*r) >= n {
		return (*r)[:n]
	}
	return make([]float64, n)
}

func release(r []float64) { rooms.Put(&r) }

func panels(n int) int { return (n + width - 1) / width }

// pack copies terms from to from+k of an operand for n columns of the product into
// panels: panel p, term t, column c at (p*k+t)*width+c, zero past n. With trans the
// terms are the rows of m, without its columns.
func pack(packed []float64, m Block, n int, trans bool, from, k int) {
	for p := range panels(n) {
		to := packed[p*k*width:][:k*width]
		c0, c1 := p*width, min((p+1)*width, n)
		if c1 < c0+width {
			clear(to)
		}
		if trans {
			for t := range k {
				copy(to[t*width:], m.Data[(from+t)*m.Stride+c0:(from+t)*m.Stride+c1])
			}
			continue
		}
		for c := c0; c < c1; c++ {
			for t, v := range m.Data[c*m.Stride+from : c*m.Stride+from+k] {
				to[t*width+c-c0] = v
			}
		}
	}
}

// parallelLeast is the number of products from which a second thread saves more
// than it costs to start.
const parallelLeast = 1 << 20

// multiply adds this round's products to the tiles of out, on and above the
// diagonal where it is symmetric. Threads take columns of tiles in turn; a tile
// belongs to one thread.
func (w *work) multiply() {
	threads, products := runtime.GOMAXPROCS(0), w.out.Rows*w.out.Cols*w.k
	if w.symmetric {
		products /= 2
	}
	if products < parallelLeast {
		threads = 1
	}
	for first := 0; first < panels(w.out.Rows); first += group {
		from := 0
		if w.symmetric {
			from = first
		}
		if threads > 1 {
			shared := *w // w itself stays where it is
			shared.parallel(first, from, threads)
			continue
		}
		for j := from; j < panels(w.out.Cols); j++ {
			w.column(first, j)
		}
	}
}

// parallel are the columns from one on, of the group of rows from first on, by some threads.
func (w *work) parallel(first, from, threads int) {
	var next atomic.Int64
	next.Store(int64(from))
	var done sync.WaitGroup
	for range threads {
		done.Go(func() {
			for j := int(next.Add(1)) - 1; j < panels(w.out.Cols); j = int(next.Add(1)) - 1 {
				w.column(first, j)
			}
		})
	}
	done.Wait()
}

// column are the tiles of column j in the group of rows from first on.
func (w *work) column(first, j int) {
	last := min(first+group, panels(w.out.Rows))
	if w.symmetric {
		last = min(last, j+1)
	}
	for i := first; i < last; i++ {
		w.tile(i, j)
	}
}

// tile adds the product of panels i of a and j of b to out.
func (w *work) tile(i, j int) {
	a, b := w.a[i*w.k*width:][:w.k*width], w.b[j*w.k*width:][:w.k*width]
	var sums [4 * width]float64
	columns := min(width, w.out.Cols-j*width)
	for half := 0; half < width; half += 4 {
		rows := min(4, w.out.Rows-i*width-half)
		if rows <= 0 {
			return
		}
		multiply(&sums, a[half:], b, w.k)
		for r := range rows {
			from := 0
			if w.symmetric && i == j {
				from = half + r
			}
			row := w.out.Data[(i*width+half+r)*w.out.Stride+j*width:][:columns]
			for c := from; c < columns; c++ {
				row[c] += w.sign * sums[r*width+c]
			}
		}
	}
}

// multiplyGo sets sums (4 x 8) to the sums over k terms of a[8t+r] b[8t+c].
func multiplyGo(sums *[4 * width]float64, a, b []float64, k int) {
	*sums = [4 * width]float64{}
	for t := range k {
		row := b[t*width:][:width]
		for r := range 4 {
			v := a[t*width+r]
			for c, u := range row {
				sums[r*width+c] += v * u
			}
		}
	}
}

// Mirror copies the upper triangle of a row-major n x n matrix to the lower one, in
// tiles that stay in cache.
func Mirror(out []float64, n int) {
	const tile = 32
	for i0 := 0; i0 < n; i0 += tile {
		for j0 := i0; j0 < n; j0 += tile {
			for i := i0; i < min(i0+tile, n); i++ {
				for j := max(j0, i+1); j < min(j0+tile, n); j++ {
					out[j*n+i] = out[i*n+j]
				}
			}
		}
	}
}
