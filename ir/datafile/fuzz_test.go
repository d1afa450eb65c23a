package datafile

import (
	"archive/zip"
	"encoding/binary"
	"math"
	"runtime/metrics"
	"testing"

	"bilevelc/ir/data"
)

// fuzz feeds a reader with mutated files. Whatever the bytes, it must return
// either errors and no arrays, or arrays that are whole and finite; and
// allocate no more than a fixed multiple of the input: the largest ratio is
// eight bytes for a one-byte entry, a few times over while it grows, beside
// the messages.
func fuzz(f *testing.F, format Format) {
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		before := allocated()
		set, list := Read(format, "f", string(text), name)
		const perByte, fixed = 200, 64 << 20 // fixed: the empty rows that a sparse matrix may claim
		if used := allocated() - before; format != NPZ && used > perByte*uint64(len(text))+fixed {
			t.Errorf("%d bytes allocated for %d of input", used, len(text))
		}
		if list.HasErrors() {
			if len(set.Entries) > 0 {
				t.Error("errors and arrays")
			}
			_ = list.Error()
			return
		}
		for _, e := range set.Entries {
			a := e.Array
			if e.Keyed != nil {
				checkFinite(t, e.Name, e.Keyed.Values)
			}
			if e.Table != nil {
				checkTable(t, e.Table)
			}
			if a == nil {
				continue
			}
			if a.Sparse != nil {
				checkFinite(t, e.Name, a.Sparse.Val)
				if a.Sparse.Rows != a.Shape[0] || a.Sparse.Cols != a.Shape[1] || len(a.Sparse.Ptr) != a.Shape[0]+1 {
					t.Errorf("%s: broken sparse matrix", e.Name)
				}
				continue
			}
			if len(a.Dense) != a.Len() {
				t.Errorf("%s: %d entries of shape %v", e.Name, len(a.Dense), a.Shape)
			}
			checkFinite(t, e.Name, a.Dense)
		}
	})
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// checkTable checks that every column is whole and that cells have places.
func checkTable(t *testing.T, table *data.Table) {
	for j, c := range table.Columns {
		if len(c.Cells) != table.Rows {
			t.Fatalf("column %q has %d of %d cells", c.Name, len(c.Cells), table.Rows)
		}
		table.At(-1, j)
		for i := range min(table.Rows, 3) {
			table.At(i, j)
		}
	}
}

func checkFinite(t *testing.T, name string, values []float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s holds %v", name, v)
		}
	}
}

func seed(f *testing.F, texts ...string) {
	for _, text := range texts {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "a")
	}
}

func FuzzJSON(f *testing.F) {
	seed(f, `{"n": 3, "c": [1, -2.5e3], "P": [[1, 2], [3, 4]]}`, `{"a": {"b": [null, "x"]}, "a": 1}`, `[[1], [2, 3]]`,
		`{"s": ["a", 1], "k": {"a": {"b": 2}}, "t": [{"a": 1, "b": "x"}], "d": [[[1], [2]]]}`,
		`{"x": [[[1e999]]], "\u0061": NaN}`, "\ufeff{}", `{"a": "\`)
	fuzz(f, JSON)
}

func FuzzCSV(f *testing.F) {
	seed(f, "a,\"b c\"\n1,2\n3,4\n", "# c\n1;2\r\n\r\n3;4", "1\tx\n,\n", "nan\n1e999\n", "from,to\nA,1\n\"B\",nan\n", "\"1\"\"2\"\n")
	fuzz(f, CSV)
}

func FuzzNPY(f *testing.F) {
	seed(f, npyFile(1, npyHead("<f8", "False", "(1,)"), float64Bytes(binary.LittleEndian, 1)...),
		npyFile(2, npyHead(">i2", "True", "(2, 1)"), 1, 2, 3, 4), npyFile(3, npyHead("|b1", "False", "()"), 1),
		npyFile(1, npyHead("<f8", "False", "(99999999999, 99999999999)")))
	fuzz(f, NPY)
}

func FuzzNPZ(f *testing.F) {
	one := npyFile(1, npyHead("<f4", "False", "(2,)"), 0, 0, 0, 0, 1, 2, 3, 4)
	seed(f, archive(f, zip.Store, "a.npy", one), archive(f, zip.Deflate, "a.npy", one, "b", one), "PK\x05\x06")
	fuzz(f, NPZ)
}

func FuzzMatrixMarket(f *testing.F) {
	seed(f, "%%MatrixMarket matrix coordinate real general\n% c\n2 3 2\n2 1 4\n1 3 -1e0\n",
		"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
		"%%MatrixMarket matrix array integer skew-symmetric\n2 2\n9007199254740993\n",
		"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
		"%%MatrixMarket matrix coordinate real general\n999999999 999999999 999999999\n")
	fuzz(f, MatrixMarket)
}

func FuzzParseSet(f *testing.F) {
	for _, s := range []string{"n=10", "w=[1, 2]", "A=[[1], [2]]", "n=[", "=", "n=nan"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		set, list := ParseSet(arg)
		if list.HasErrors() == (len(set.Entries) == 1) {
			t.Errorf("%d arrays, and %v", len(set.Entries), list)
		}
	})
}
