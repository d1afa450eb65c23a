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
)

// file is a file of an archive: its text, or that of a file on the disk.
type file struct {
	path       string // in the archive
	from       string
	text       []byte
	executable bool
}

func (f file) read() ([]byte, error) {
	if f.from == "" {
		return f.text, nil
	}
	return os.ReadFile(f.from)
}

func (f file) mode() fs.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// filesBelow are the files of a folder whose names end so, all of them for nil, under a
// path of the archive. Tests and what tools have left are not among them.
func filesBelow(dir, under string, ends []string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{"node_modules", "test", "testdata", "__pycache__"}, entry.Name()) || strings.HasPrefix(entry.Name(), ".") && name != dir {
				return fs.SkipDir
			}
			return nil
		}
		if ends != nil && !slices.Contains(ends, filepath.Ext(name)) {
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		files = append(files, file{path: path.Join(under, filepath.ToSlash(rel)), from: name})
		return err
	})
	return files, err
}

// writeArchive writes files below a folder of the archive's name, as .tar.gz or .zip, and
// returns the archive's file name.
func writeArchive(dir, name string, zipped bool, files []file, made time.Time) (string, error) {
	full := name + ".tar.gz"
	if zipped {
		full = name + ".zip"
	}
	placed := make([]file, len(files))
	for i, f := range files {
		placed[i] = f
		placed[i].path = name + "/" + f.path
	}
	write := writeTar
	if zipped {
		write = writeZip
	}
	return full, into(filepath.Join(dir, full), func(w io.Writer) error { return write(w, placed, made) })
}

// into writes a file.
func into(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func writeTar(w io.Writer, files []file, made time.Time) error {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, f := range files {
		text, err := f.read()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: f.path, Mode: int64(f.mode()), Size: int64(len(text)), ModTime: made}); err != nil {
			return err
		}
		if _, err := t.Write(text); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func writeZip(w io.Writer, files []file, made time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		text, err := f.read()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: made}
		h.SetMode(f.mode())
		part, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := part.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}
