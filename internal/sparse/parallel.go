package sparse

import (
	"encoding/binary"
	"iter"
	"math"
)

// Parallel gives the rows that are multiples of each other, group by group, each ascending:
// rows of matrices side by side with entries in the same columns, whose ratios to the first
// one agree to seven digits; whether they agree in all is for the caller to look at. Rows
// without an entry in the first matrix are in no group, nor those that in leaves out. A group
// is to be read before the next one. The time is linear.
func Parallel(in func(i int) bool, side ...*CSR) iter.Seq[[]int] {
	first := side[0]
	return func(yield func([]int) bool) {
		// Rows of one entry, of which there may be millions, are lists within these arrays,
		// the others in a map.
		type list struct{ first, last int } // rows from 1; 0: none
		single, next := make([]list, first.Cols), make([]int, first.Rows)
		seen := map[string]*list{}
		var others []*list // of the map, in the order in which they were met
		var key []byte
		for i := range first.Rows {
			cols, _ := first.Row(i)
			if len(cols) == 0 || !in(i) {
				continue
			}
			like, entries := &single[cols[0]], 0
			for _, m := range side {
				entries += m.Ptr[i+1] - m.Ptr[i]
			}
			if entries > 1 {
				key = pattern(key[:0], i, side)
				if like = seen[string(key)]; like == nil {
					like = new(list)
					seen[string(key)] = like
					others = append(others, like)
				}
			}
			if like.first == 0 {
				like.first = i + 1
			} else {
				next[like.last-1] = i + 1
			}
			like.last = i + 1
		}
		var group []int
		gives := func(l *list) bool {
			group = group[:0]
			for i := l.first; i != 0; i = next[i-1] {
				group = append(group, i-1)
			}
			return len(group) == 0 || yield(group)
		}
		for j := range single {
			if !gives(&single[j]) {
				return
			}
		}
		for _, l := range others {
			if !gives(l) {
				return
			}
		}
	}
}

// pattern appends what rows have in common that are multiples of each other: the columns, and
// the entries over the first.
func pattern(key []byte, i int, side []*CSR) []byte {
	_, lead := side[0].Row(i)
	for _, m := range side {
		cols, vals := m.Row(i)
		key = binary.AppendUvarint(key, uint64(len(cols)))
		for k, j := range cols {
			key = binary.AppendUvarint(key, uint64(j))
			key = binary.LittleEndian.AppendUint32(key, math.Float32bits(float32(vals[k]/lead[0])))
		}
	}
	return key
}
