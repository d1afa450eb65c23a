package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Of many that create one file at a time, one wins, and its text is there whole.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	var won atomic.Int64
	won.Store(-1)
	var wait sync.WaitGroup
	for k := range 20 {
		wait.Go(func() {
			err := Create(path, []byte(fmt.Sprintf("%1000d", k)), filepath.Join(dir, fmt.Sprint("next", k)))
			switch {
			case err == nil && !won.CompareAndSwap(-1, int64(k)):
				t.Error("two have won")
			case err != nil && !errors.Is(err, os.ErrExist):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != fmt.Sprintf("%1000d", won.Load()) {
		t.Errorf("%q, %v", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if err := Write(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "new" {
		t.Errorf("%q", text)
	}
}
