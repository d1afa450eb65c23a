// Package datafile reads the numbers of a model from files into a data.Set
// and writes them: JSON (one object, name by name, as CmdStan has it), CSV,
// NumPy .npy and .npz, MatrixMarket .mtx, Parquet, the sheets of an .xlsx
// workbook, and the command line's --set.
//
// Input: bytes that nobody vouches for. Output: arrays whose every entry is a
// finite float64, the nearest one to what is written; the elements of sets;
// numbers by label; tables, whose cells are read when a model asks for them;
// or diagnostics that name the file, the array and the place in it (line and
// column of a text, index of an array; indices count from 1, as in the
// language). All errors of a file are reported, up to maxErrors.
//
// Invariants: no input panics; memory stays in proportion to the bytes read,
// whatever sizes a header claims (an .npz archive may expand to at most
// maxExpanded bytes); sparse files stay sparse.
package datafile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Format is a file format.
type Format uint8

// The formats. Auto decides by the extension of the name, or by the content
// where the extension says nothing.
const (
	Auto Format = iota
	JSON
	CSV
	NPY
	NPZ
	MatrixMarket
	Parquet
	XLSX
)

// extensions of the formats, in lower case.
var extensions = map[string]Format{
	".json": JSON,
	".csv":  CSV,
	".tsv":  CSV,
	".npy":  NPY,
	".npz":  NPZ,
	".mtx":  MatrixMarket,

	".parquet": Parquet,
	".xlsx":    XLSX,
}

// Holds reports whether a file is one of data, by its extension.
func Holds(file string) bool {
	_, ok := extensions[strings.ToLower(filepath.Ext(file))]
	return ok
}

// Sum is what several files and texts give together.
type Sum struct {
	Set         data.Set
	Diagnostics diag.List
}

// Add adds what one of them gives.
func (s *Sum) Add(set *data.Set, found diag.List) {
	s.Diagnostics = append(s.Diagnostics, found...)
	if set != nil {
		s.Set.Entries = append(s.Set.Entries, set.Entries...)
	}
}

// Load reads what `--data spec` names: a file, or name=file to bind one array
// under that name. The file `-` is stdin, read as JSON unless its content
// shows another format. The list holds errors where the set is not to be
// used.
//
// Without a name, a file of one array (CSV, .npy, .mtx) is named by its base
// name: X.csv binds X. With one, a file of several (JSON object, .npz) must
// hold that name.
func Load(spec string, stdin io.Reader) (*data.Set, diag.List) {
	name, file := SplitSpec(spec)
	text, err := ReadFile(file, stdin, MaxFile)
	if err != nil {
		var list diag.List
		list.Errorf(diag.DataUnreadable, diag.Span{}, "cannot read the data file %s: %s", file, plainError(err))
		return &data.Set{}, list
	}
	return Read(Auto, file, text, name)
}

// Read reads the text of a file. file is its name for messages (and for
// Auto); name is the array to bind, or "" for all of the file under their own
// names.
func Read(format Format, file, text, name string) (*data.Set, diag.List) {
	if format == Auto {
		format = sniff(file, text)
	}
	r := &reader{file: file, text: text, set: &data.Set{}}
	if code := (map[Format]diag.Code{JSON: diag.DataJSON, CSV: diag.DataCSV})[format]; code != "" && !r.isText(code) {
		return r.finish()
	}
	switch format {
	case JSON:
		readJSON(r, name)
	case CSV:
		readCSVFile(r, name)
	case NPY:
		r.one(name, func(name string) *data.Array { return r.npy(name, r.file, r.text) })
	case NPZ:
		readNPZ(r, name)
	case MatrixMarket:
		r.one(name, r.matrixMarket)
	case Parquet:
		readParquet(r, name)
	case XLSX:
		readXLSX(r, name)
	}
	return r.finish()
}

// SplitSpec takes name=file apart. A spec that does not start with a name of
// the language and = is a file as it stands.
func SplitSpec(spec string) (name, file string) {
	if before, after, ok := strings.Cut(spec, "="); ok && lang.IsName(before) && after != "" {
		return before, after
	}
	return "", spec
}

// Limits on what is read into memory, in bytes. They end what has no end, such as
// /dev/zero or a pipe from it, well before the memory does.
const (
	MaxFile   = 1 << 32 // a file of data, whose size is known before it is read
	maxStream = 1 << 30 // standard input, or a pipe
	maxDevice = 1 << 26 // a terminal, or another device
)

// ReadFile returns the bytes of a file, or of stdin where file is "-", as a string,
// so that no number in it is copied again to be parsed. It reads at most limit
// bytes, and less from what has no size.
func ReadFile(file string, stdin io.Reader, limit int64) (string, error) {
	if file == "-" {
		if stdin == nil {
			return "", errors.New("there is no standard input")
		}
		if f, ok := stdin.(*os.File); ok {
			return readOpen(f, limit)
		}
		return readAll(stdin, 0, min(limit, maxStream))
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readOpen(f, limit)
}

func readOpen(f *os.File, limit int64) (string, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a folder")
	case info.Mode().IsRegular():
		if info.Size() > limit {
			return "", tooLarge(limit)
		}
		return readAll(f, info.Size(), limit)
	case info.Mode()&fs.ModeDevice != 0:
		return readAll(f, 0, min(limit, maxDevice))
	}
	return readAll(f, 0, min(limit, maxStream))
}

// readAll reads up to limit bytes, about size of them; more are an error.
func readAll(r io.Reader, size, limit int64) (string, error) {
	var b strings.Builder
	b.Grow(int(size))
	n, err := io.Copy(&b, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit)
	}
	if err != nil {
		return "", err
	}
	return b.String(), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("it has more than the %d MB that are read", limit>>20)
}

// plainError says what is wrong with a file without repeating its path.
func plainError(err error) string {
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	}
	return err.Error()
}

// sniff decides the format by the extension, else by the first bytes.
func sniff(file, text string) Format {
	if f, ok := extensions[strings.ToLower(filepath.Ext(file))]; ok {
		return f
	}
	switch {
	case strings.HasPrefix(text, npyMagic):
		return NPY
	case strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "PK\x05\x06"):
		return NPZ
	case strings.HasPrefix(text, "PAR1"):
		return Parquet
	case strings.HasPrefix(text, mtxBanner):
		return MatrixMarket
	}
	body := strings.TrimLeft(strings.TrimPrefix(text, byteOrderMark), " \t\r\n")
	if file == "-" || strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		return JSON
	}
	return CSV
}

// byteOrderMark may start a UTF-8 text; it means nothing there.
const byteOrderMark = "\ufeff"

// stem is the name that a file of one array binds without name=.
func stem(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
