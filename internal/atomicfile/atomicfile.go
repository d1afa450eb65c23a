// Package atomicfile writes files that are never seen in part.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Write puts text into a file such that at every moment, through a crash and a full
// disk, the file holds all of the old text or all of the new: by way of a new file in
// the same folder, which takes its place once it is on the disk. A device or a pipe is
// written to as it stands.
func Write(path string, text []byte) error {
	return Stream(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Stream is Write of a text that is written piece by piece; where that fails, the file stays what it was.
func Stream(path string, write func(io.Writer) error) (err error) {
	mode := os.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, mode)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	// One name, so that a run that is killed many times leaves one such file.
	return through(path, path+".tmp", write, mode)
}

// Replace is Write of a file that other processes may write at a time: the last one wins. The text goes
// through the file next, on the same disk, which is this process's own.
func Replace(path string, text []byte, next string) error {
	return through(path, next, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}, 0o666)
}

// through writes a new file, which takes the place of another one once it is on the disk.
func through(path, next string, write func(io.Writer) error, mode os.FileMode) error {
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := onDisk(next, write, os.O_EXCL, mode); err != nil {
		if at := (*os.PathError)(nil); errors.As(err, &at) && at.Path == next {
			at.Path = path // the name that the caller knows
		}
		return err
	}
	if err := os.Rename(next, path); err != nil {
		_ = os.Remove(next)
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// Create is Write of a file that is not there, for processes that may write the same
// one at a time: the first one wins, and the others get an error that is
// os.ErrExist. The text goes through the file next, on the same disk, which is this
// process's own.
func Create(path string, text []byte, next string) (err error) {
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	if err := onDisk(next, write, os.O_TRUNC, 0o666); err != nil {
		return err
	}
	defer os.Remove(next)
	if err := os.Link(next, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// onDisk has a text written into a new or emptied file, which is gone again where that
// fails after it was opened.
func onDisk(path string, write func(io.Writer) error, how int, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, mode)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// SyncFolder puts renamings in a folder on the disk. Systems and file systems that cannot say
// so do it on their own.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil // a folder that can be written to but not listed
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}
