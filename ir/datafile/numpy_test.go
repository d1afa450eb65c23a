package datafile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/sbinet/npyio/npz"
	"gonum.org/v1/gonum/mat"

	"bilevelc/lang/diag"
)

// What an independent writer of the format wrote reads back.
func TestNPYOfAnotherWriter(t *testing.T) {
	dense := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6.5})
	for _, c := range []struct {
		value any
		shape []int
		want  []float64
	}{
		{[]float64{1, -2.5, 1e-300}, []int{3}, []float64{1, -2.5, 1e-300}},
		{[]float32{0.1}, []int{1}, []float64{float64(float32(0.1))}},
		{[]int64{-1, 1 << 53}, []int{2}, []float64{-1, 1 << 53}},
		{[]int32{-7}, []int{1}, []float64{-7}},
		{[]int8{-128, 127}, []int{2}, []float64{-128, 127}},
		{[]uint16{65535}, []int{1}, []float64{65535}},
		{[]bool{true, false}, []int{2}, []float64{1, 0}},
		{dense, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6.5}},
		{3.25, nil, []float64{3.25}},
	} {
		var b bytes.Buffer
		if err := npy.Write(&b, c.value); err != nil {
			t.Fatal(err)
		}
		a := good(t, Auto, "v.npy", b.String(), "").Get("v").Array
		if len(a.Shape) != len(c.shape) || len(c.shape) > 0 && !reflect.DeepEqual(a.Shape, c.shape) || !sameBits(a.Dense, c.want) {
			t.Errorf("%T: read %v %v, want %v %v", c.value, a.Shape, a.Dense, c.shape, c.want)
		}
	}
}

func TestNPZOfAnotherWriter(t *testing.T) {
	var b bytes.Buffer
	w := npz.NewWriter(&b)
	for _, e := range []struct {
		name  string
		value any
	}{{"c.npy", []float64{1, 2}}, {"n", []int64{4}}} {
		if err := w.Write(e.name, e.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set := good(t, Auto, "d.npz", b.String(), "")
	if c, n := set.Get("c"), set.Get("n"); c == nil || n == nil || c.Array.Dense[1] != 2 || n.Array.Dense[0] != 4 {
		t.Errorf("read %v", set)
	}
	if set.Get("c").Origin != "d.npz(c.npy)" {
		t.Errorf("origin %q", set.Get("c").Origin)
	}
	if only := good(t, Auto, "d.npz", b.String(), "n"); len(only.Entries) != 1 || only.Entries[0].Name != "n" {
		t.Errorf("n=d.npz read %v", only)
	}
}

// npyFile writes a .npy file by hand: version, header, body.
func npyFile(major byte, header string, body ...byte) string {
	b := []byte(npyMagic)
	b = append(b, major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return string(append(append(b, header...), body...))
}

func npyHead(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }    \n", descr, order, shape)
}

func float64Bytes(order binary.AppendByteOrder, values ...float64) []byte {
	var b []byte
	for _, v := range values {
		b = order.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func TestNPYByHand(t *testing.T) {
	body := float64Bytes(binary.LittleEndian, 1, 2, 3, 4, 5, 6)
	// Column-major 2 x 3: the columns are (1, 2), (3, 4), (5, 6).
	a := good(t, Auto, "A.npy", npyFile(2, npyHead("<f8", "True", "(2, 3)"), body...), "").Get("A").Array
	if !reflect.DeepEqual(a.Shape, []int{2, 3}) || !reflect.DeepEqual(a.Dense, []float64{1, 3, 5, 2, 4, 6}) {
		t.Errorf("Fortran order: read %v %v", a.Shape, a.Dense)
	}
	a = good(t, Auto, "A.npy", npyFile(3, npyHead(">f8", "False", "(2L,)"), float64Bytes(binary.BigEndian, 1.5, -2)...), "").Get("A").Array
	if !reflect.DeepEqual(a.Dense, []float64{1.5, -2}) {
		t.Errorf("big endian: read %v", a.Dense)
	}
	a = good(t, Auto, "A.npy", npyFile(1, npyHead(">i2", "False", "(2,)"), 0xff, 0xfe, 1, 0), "").Get("A").Array
	if !reflect.DeepEqual(a.Dense, []float64{-2, 256}) {
		t.Errorf("big-endian integers: read %v", a.Dense)
	}
	a = good(t, Auto, "A.npy", npyFile(1, npyHead("<f8", "False", "(0, 4)")), "").Get("A").Array
	if !reflect.DeepEqual(a.Shape, []int{0, 4}) {
		t.Errorf("empty: read %v", a.Shape)
	}
}

func TestBadNPY(t *testing.T) {
	one := float64Bytes(binary.LittleEndian, 1)
	for _, c := range []struct {
		label, text string
		code        diag.Code
		says        string
	}{
		{"no magic", "hello", diag.DataNumPy, "magic"},
		{"no version", npyMagic, diag.DataNumPy, "ends inside"},
		{"no length", npyMagic + "\x01\x00\x05", diag.DataNumPy, "ends inside"},
		{"version", npyFile(9, npyHead("<f8", "False", "(1,)"), one...), diag.DataNumPy, "version 9"},
		{"header length", npyMagic + "\x02\x00\xff\xff\xff\xff{", diag.DataNumPy, "ends inside"},
		{"no dictionary", npyFile(1, "hello"), diag.DataNumPy, "dictionary"},
		{"key missing", npyFile(1, "{'descr': '<f8', 'shape': (1,)}", one...), diag.DataNumPy, "dictionary"},
		{"key twice", npyFile(1, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", one...), diag.DataNumPy, "dictionary"},
		{"negative", npyFile(1, npyHead("<f8", "False", "(-1,)"), one...), diag.DataNumPy, "tuple"},
		{"records", npyFile(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", one...), diag.DataNumPy, "records"},
		{"objects", npyFile(1, npyHead("|O", "False", "(1,)"), one...), diag.DataElementType, "Python objects"},
		{"complex", npyFile(1, npyHead("<c16", "False", "(1,)"), one...), diag.DataElementType, "complex"},
		{"half", npyFile(1, npyHead("<f2", "False", "(1,)"), 0, 0), diag.DataElementType, "2 bytes"},
		{"strings", npyFile(1, npyHead("<U4", "False", "(1,)"), one...), diag.DataElementType, "strings"},
		{"rank 3", npyFile(1, npyHead("<f8", "False", "(1, 1, 1)"), one...), diag.DataRank, "3 dimensions"},
		{"truncated", npyFile(1, npyHead("<f8", "False", "(2,)"), one...), diag.DataSize, "(2,)"},
		{"too long", npyFile(1, npyHead("<f8", "False", "()"), append(one, 0)...), diag.DataSize, "9 bytes follow"},
		{"huge claim", npyFile(1, npyHead("<f8", "False", "(1000000000000,)"), one...), diag.DataSize, "claims"},
		{"overflowing claim", npyFile(1, npyHead("<f8", "False", "(4611686018427387904, 4)"), one...), diag.DataSize, "claims"},
		{"empty and huge", npyFile(1, npyHead("<f8", "False", "(0, 4611686018427387904)")), diag.DataSize, "claims"},
		{"unreadable size", npyFile(1, npyHead("<f8", "False", "(99999999999999999999,)"), one...), diag.DataNumPy, "tuple"},
		{"NaN", npyFile(1, npyHead("<f8", "False", "(1, 2)"), float64Bytes(binary.LittleEndian, 1, math.NaN())...), diag.DataNotFinite, "v[1, 2] is NaN"},
		{"infinity in column order", npyFile(1, npyHead("<f8", "True", "(2, 2)"), float64Bytes(binary.LittleEndian, 1, math.Inf(-1), 1, 1)...), diag.DataNotFinite, "v[2, 1] is -Inf"},
		{"inexact", npyFile(1, npyHead("<u8", "False", "(1,)"), 255, 255, 255, 255, 255, 255, 255, 255), diag.DataInexact, "v[1]"},
		{"inexact signed", npyFile(1, npyHead("<i8", "False", "(1,)"), 255, 255, 255, 255, 255, 255, 255, 127), diag.DataInexact, "v[1]"},
	} {
		t.Run(c.label, func(t *testing.T) {
			set, list := Read(Auto, "v.npy", c.text, "")
			if len(list) == 0 {
				t.Fatalf("no error; read %v", set)
			}
			if d := list[0]; d.Code != c.code || !strings.Contains(d.Summary, c.says) || !strings.HasPrefix(d.Summary, "v.npy: ") {
				t.Errorf("got %s %q, want %s %q", d.Code, d.Summary, c.code, c.says)
			}
		})
	}
}

// archive makes a .npz by hand.
func archive(t testing.TB, method uint16, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBadNPZ(t *testing.T) {
	one := npyFile(1, npyHead("<f8", "False", "(1,)"), float64Bytes(binary.LittleEndian, 1)...)
	twice := archive(t, zip.Store, "a.npy", one, "a.npy", one)
	corrupt := []byte(archive(t, zip.Store, "a.npy", one))
	corrupt[len("PK..")+30+len(one)/2] ^= 1 // within the member: its checksum fails
	claims := []byte(archive(t, zip.Deflate, "a.npy", one))
	directory := bytes.LastIndex(claims, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(claims[directory+24:], 0xfffffff0) // uncompressed size
	for _, c := range []struct {
		label, text, name string
		code              diag.Code
		says              string
	}{
		{"not a zip", "PK\x03\x04 and no more", "", diag.DataNumPy, "not a valid .npz"},
		{"twice", twice, "", diag.DataDuplicate, "`a` is given twice"},
		{"checksum", string(corrupt), "", diag.DataNumPy, "checksum"},
		{"claim", string(claims), "", diag.DataSize, "1024 MiB"},
		{"member", archive(t, zip.Store, "a.npy", "hello"), "", diag.DataNumPy, "d.npz(a.npy)"},
		{"no such array", archive(t, zip.Store, "a.npy", one), "b", diag.DataNoName, "no array b"},
	} {
		t.Run(c.label, func(t *testing.T) {
			set, list := Read(Auto, "d.npz", c.text, c.name)
			if len(list) == 0 {
				t.Fatalf("no error; read %v", set)
			}
			if d := list[0]; d.Code != c.code || !strings.Contains(d.Summary, c.says) || !strings.HasPrefix(d.Summary, "d.npz") {
				t.Errorf("got %s %q, want %s %q", d.Code, d.Summary, c.code, c.says)
			}
		})
	}
}
