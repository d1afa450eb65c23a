package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bilevelc/internal/must"
)

// file is a file of an archive: its text, or that of a file on the disk.
type file struct {
	path       string // in the archive
	from       string
	text       []byte
	executable bool
}

func (f file) read() []byte {
	if f.from == "" {
		return f.text
	}
	return must.Get(os.ReadFile(f.from))
}

func (f file) mode() fs.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// filesBelow are the files of a folder whose names end so, all of them for nil, under a
// path of the archive. Tests and what tools have left are not among them.
func filesBelow(dir, under string, ends []string) (files []file) {
	must.Do(filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		must.Do(err)
		if entry.IsDir() {
			if slices.Contains([]string{"node_modules", "test", "testdata", "__pycache__"}, entry.Name()) || strings.HasPrefix(entry.Name(), ".") && name != dir {
				return fs.SkipDir
			}
			return nil
		}
		if ends == nil || slices.Contains(ends, filepath.Ext(name)) {
			files = append(files, file{path: path.Join(under, filepath.ToSlash(must.Get(filepath.Rel(dir, name)))), from: name})
		}
		return nil
	}))
	return files
}

// writeArchive writes files below a folder of the archive's name, as .tar.gz or .zip, and
// returns the archive's file name.
func writeArchive(dir, name string, zipped bool, files []file, made time.Time) string {
	full, write := name+".tar.gz", writeTar
	if zipped {
		full, write = name+".zip", writeZip
	}
	placed := slices.Clone(files)
	for i, f := range files {
		placed[i].path = name + "/" + f.path
	}
	into(filepath.Join(dir, full), func(w io.Writer) { write(w, placed, made) })
	return full
}

// into writes a file.
func into(name string, write func(io.Writer)) {
	f := must.Get(os.Create(name))
	defer f.Close()
	write(f)
	must.Do(f.Close())
}

func writeTar(w io.Writer, files []file, made time.Time) {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, f := range files {
		text := f.read()
		must.Do(t.WriteHeader(&tar.Header{Name: f.path, Mode: int64(f.mode()), Size: int64(len(text)), ModTime: made}))
		must.Get(t.Write(text))
	}
	must.Do(t.Close())
	must.Do(packed.Close())
}

func writeZip(w io.Writer, files []file, made time.Time) {
	z := zip.NewWriter(w)
	for _, f := range files {
		text := f.read()
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: made}
		h.SetMode(f.mode())
		part := must.Get(z.CreateHeader(h))
		must.Get(part.Write(text))
	}
	must.Do(z.Close())
}
