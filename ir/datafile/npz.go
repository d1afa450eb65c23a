package datafile

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"bilevelc/lang/diag"
)

// maxExpanded bounds the bytes that the members of one .npz archive may
// expand to, and those of the arrays made from them: a compressed file of a
// megabyte can claim a gigabyte, and several members can share the same
// compressed bytes. 1 GiB is a dense matrix of 11585 x 11585.
const maxExpanded = 1 << 30

// readNPZ reads the arrays of an archive of .npy files, or the one called
// name.
func readNPZ(r *reader, name string) {
	archive, err := zip.NewReader(strings.NewReader(r.text), int64(len(r.text)))
	if err != nil {
		r.errorIn(diag.DataNumPy, "not a valid .npz archive: %s", strings.TrimPrefix(err.Error(), "zip: "))
		return
	}
	left := uint64(maxExpanded)
	seen := map[string]bool{}
	var keys []string
	for _, f := range archive.File {
		key := strings.TrimSuffix(f.Name, ".npy")
		if seen[key] {
			r.errorIn(diag.DataDuplicate, "%s is given twice", clip(key))
			continue
		}
		seen[key] = true
		keys = append(keys, key)
		if name != "" && key != name {
			continue
		}
		text, ok := r.member(f, &left)
		if !ok {
			continue
		}
		inner := fmt.Sprintf("%s(%s)", r.file, f.Name)
		// An entry of one byte becomes eight.
		if expanded := 8 * uint64(len(text)); expanded > maxExpanded {
			r.tooLarge(f.Name)
			continue
		}
		if a := r.npy(key, inner, text); a != nil && r.errors == 0 {
			r.set.Add(key, a, inner)
		}
	}
	if name != "" && !seen[name] && r.errors == 0 {
		d := r.errorIn(diag.DataNoName, "the archive has no array %s", name)
		d.Detail = has(keys)
	}
}

// member expands one file of the archive and takes its size off left.
func (r *reader) member(f *zip.File, left *uint64) (string, bool) {
	if f.UncompressedSize64 > *left {
		r.tooLarge(f.Name)
		return "", false
	}
	rc, err := f.Open()
	if err != nil {
		r.errorIn(diag.DataNumPy, "cannot open %s: %s", clip(f.Name), strings.TrimPrefix(err.Error(), "zip: "))
		return "", false
	}
	defer rc.Close()
	var b strings.Builder // grows with what arrives, not with what is claimed
	n, err := io.Copy(&b, io.LimitReader(rc, int64(*left)+1))
	if uint64(n) > *left {
		r.tooLarge(f.Name)
		return "", false
	}
	*left -= uint64(n)
	if err != nil {
		r.errorIn(diag.DataNumPy, "cannot read %s: %s", clip(f.Name), strings.TrimPrefix(err.Error(), "zip: "))
		return "", false
	}
	return b.String(), true
}

func (r *reader) tooLarge(member string) {
	d := r.errorIn(diag.DataSize, "with %s the archive expands beyond %d MiB", clip(member), maxExpanded>>20)
	d.Fix = "give large arrays as .npy files"
}
