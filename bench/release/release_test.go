package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What is released for this machine is whole, and runs from where a user unpacks it.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	host := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	out := t.TempDir()
	if err := (&maker{root: "../..", out: out, version: "1.2.3"}).release(host.String()); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(out, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var archive, wheel string
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(text)) != sum {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasSuffix(name, ".whl") {
			wheel = name
		} else {
			archive = name
		}
	}
	folder := t.TempDir()
	unpack(t, filepath.Join(out, archive), folder)
	top := filepath.Join(folder, "bilevelc_1.2.3_"+host.os+"_"+host.arch)
	for _, name := range []string{"README.md", "lang/spec.md", "docs/python.md", "man/bilevelc.1", "man/bilevelc-solve.1", "completions/bilevelc.bash",
		"completions/bilevelc.powershell", "jupyter/bilevelc/kernel.json", "editors/vscode/package.json", "editors/tree-sitter/grammar.js", "examples/toll/toll.blv"} {
		if info, err := os.Stat(filepath.Join(top, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	kernel, err := os.ReadFile(filepath.Join(top, "jupyter", "bilevelc", "kernel.json"))
	if err != nil || !strings.Contains(string(kernel), "\"bilevelc\",\n    \"jupyter\"") {
		t.Errorf("%s (%v)", kernel, err)
	}
	binary := filepath.Join(top, host.binary())
	if said := output(t, nil, binary, "--version"); strings.TrimSpace(said) != "bilevelc 1.2.3" {
		t.Errorf("%q", said)
	}
	if said := output(t, nil, filepath.Join(top, host.queue()), "--version"); strings.TrimSpace(said) != "bilevelc 1.2.3" {
		t.Errorf("%q", said)
	}
	// The one starts the other: it is what refuses to be open to all.
	serve := exec.Command(binary, "sweep", filepath.Join(top, "examples", "toll", "toll.blv"), "--over", "seed=1..2", "--dir", filepath.Join(folder, "s"), "--serve", "--listen", "0.0.0.0:0")
	if said, err := serve.CombinedOutput(); err == nil || !strings.Contains(string(said), "is open to other machines") {
		t.Errorf("%v: %s", err, said)
	}
	if said := output(t, nil, binary, filepath.Join(top, "examples", "toll", "toll.blv"), "--quiet"); !strings.Contains(said, "8.95271504") {
		t.Errorf("%q", said)
	}

	site := t.TempDir()
	unpack(t, filepath.Join(out, wheel), site)
	record, err := os.ReadFile(filepath.Join(site, "bilevelc-1.2.3.dist-info", "RECORD"))
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(record)) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		listed++
		if strings.HasSuffix(fields[0], "/RECORD") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(site, fields[0]))
		sum := sha256.Sum256(text)
		if err != nil || fields[1] != "sha256="+base64.RawURLEncoding.EncodeToString(sum[:]) || fields[2] != fmt.Sprint(len(text)) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if listed < 10 {
		t.Errorf("%d files in the wheel", listed)
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Log("the wheel was not imported: there is no Python with numpy")
		return
	}
	const program = "import bilevelc, sys; m = bilevelc.Model(sys.argv[1]); print(bilevelc.find_binary(), bilevelc.__version__, m._running().version, round(m.solve().F, 6))"
	env := append(os.Environ(), "PYTHONPATH="+site, "BILEVELC=", "PYTHONDONTWRITEBYTECODE=1")
	said := output(t, env, python, "-c", program, filepath.Join(top, "examples", "toll", "toll.blv"))
	if want := filepath.Join(site, "bilevelc", "bin", host.binary()) + " 1.2.3 1.2.3 8.952715"; strings.TrimSpace(said) != want {
		t.Errorf("%q, not %q", said, want)
	}
}

func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = env
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return string(text)
}

// Archives of both kinds hold what is put into them, with its modes, and are the same when
// they are made again.
func TestArchives(t *testing.T) {
	files := []file{{path: "a/bin", text: []byte("program"), executable: true}, {path: "b.txt", text: []byte("text")}}
	for _, zipped := range []bool{false, true} {
		var made [2][]byte
		for k := range made {
			dir := t.TempDir()
			name := writeArchive(dir, "top", zipped, files, time.Unix(1_700_000_000, 0).UTC())
			var err error
			if made[k], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			unpack(t, filepath.Join(dir, name), dir)
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(dir, "top", f.path))
				info, _ := os.Stat(filepath.Join(dir, "top", f.path))
				if err != nil || string(text) != string(f.text) || runtime.GOOS != "windows" && info.Mode().Perm() != f.mode() {
					t.Errorf("%s: %q %v", f.path, text, err)
				}
			}
		}
		if string(made[0]) != string(made[1]) {
			t.Error("not the same twice")
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{"0.1.0-dev": "0.1.0.dev0", "1.2.3": "1.2.3", "v2.0.0-rc.1": "2.0.0rc1"} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: %s, not %s", version, got, want)
		}
	}
}

// unpack is another program's way through an archive: by its directory, or to its end.
func unpack(t *testing.T, archive, to string) {
	t.Helper()
	write := func(name string, mode os.FileMode, r io.Reader) {
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, text, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix(archive, ".gz") {
		z, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			write(f.Name, f.Mode(), r)
			r.Close()
		}
		return
	}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		write(h.Name, os.FileMode(h.Mode), r)
	}
}
