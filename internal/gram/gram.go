// Package gram computes Gram matrices M' M and M M' of dense matrices: what
// models write as `L' * L` before anything else happens, and the one data
// computation that costs more than reading the data.
//
// Only tiles on and above the diagonal are computed; the rest is mirrored, so
// that the result is symmetric to the last bit. Every entry is summed in the
// same order whatever the number of threads.
package gram

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Of sets out to M' M (cols x cols) with trans, to M M' (rows x rows) without;
// M is rows x cols, row-major.
func Of(out, m []float64, rows, cols int, trans bool) {
	n, inner := rows, cols
	if trans {
		n, inner = cols, rows
	}
	clear(out[:n*n])
	if n == 0 || inner == 0 {
		return
	}
	w := work{out: out, n: n, panels: (n + width - 1) / width}
	w.packed = make([]float64, w.panels*width*min(inner, depth))
	for k := 0; k < inner; k += depth {
		w.k = min(depth, inner-k)
		w.pack(m, rows, cols, trans, k)
		w.multiply()
	}
	mirror(out, n)
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

// work is one round of depth terms.
type work struct {
	out       []float64 // n x n
	n, panels int
	k         int       // terms of this round
	packed    []float64 // panel p, term t, column c at (p*k+t)*width+c; zero past n
}

// pack copies terms k to k+w.k of the operand into panels.
func (w *work) pack(m []float64, rows, cols int, trans bool, k int) {
	clear(w.packed)
	for p := range w.panels {
		at := p * w.k * width
		c0, c1 := p*width, min((p+1)*width, w.n)
		if trans {
			for t := range w.k {
				copy(w.packed[at+t*width:], m[(k+t)*cols+c0:(k+t)*cols+c1])
			}
			continue
		}
		for c := c0; c < c1; c++ {
			for t, v := range m[c*cols+k : c*cols+k+w.k] {
				w.packed[at+t*width+c-c0] = v
			}
		}
	}
}

// parallelLeast is the number of products from which a second thread saves more
// than it costs to start.
const parallelLeast = 1 << 20

// multiply adds this round's products to the tiles on and above the diagonal.
// Threads take columns of tiles in turn; a tile belongs to one thread.
func (w *work) multiply() {
	threads := runtime.GOMAXPROCS(0)
	if w.n*w.n/2*w.k < parallelLeast {
		threads = 1
	}
	for first := 0; first < w.panels; first += group {
		var next atomic.Int64
		next.Store(int64(first))
		columns := func() {
			for {
				j := int(next.Add(1)) - 1
				if j >= w.panels {
					return
				}
				for i := first; i < min(first+group, j+1); i++ {
					w.tile(i, j)
				}
			}
		}
		if threads == 1 {
			columns()
			continue
		}
		var done sync.WaitGroup
		for range threads {
			done.Add(1)
			go func() {
				defer done.Done()
				columns()
			}()
		}
		done.Wait()
	}
}

// tile adds the product of panels i and j to out.
func (w *work) tile(i, j int) {
	a, b := w.packed[i*w.k*width:][:w.k*width], w.packed[j*w.k*width:][:w.k*width]
	var sums [4 * width]float64
	columns := min(width, w.n-j*width)
	for half := 0; half < width; half += 4 {
		multiply(&sums, a[half:], b, w.k)
		for r := range min(4, w.n-i*width-half) {
			row := w.out[(i*width+half+r)*w.n+j*width:][:columns]
			for c := range row {
				row[c] += sums[r*width+c]
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

// mirror copies the upper triangle to the lower one, in tiles that stay in
// cache.
func mirror(out []float64, n int) {
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
