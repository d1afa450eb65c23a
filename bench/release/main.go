// Command release builds what is given to users, for every platform from any one of them:
//
//	go run ./bench/release -version 0.2.0 -o dist
//
// An archive a platform holds the binary, the one with the queue of sweeps, manual pages, completions, the description of
// the notebook kernel, files for editors, the reference, the pages of docs/ and the
// examples; a wheel a platform the Python package with the binary; checksums.txt their
// SHA-256. It needs Go alone. What it writes depends on the sources, the version and the
// time of the last commit (or SOURCE_DATE_EPOCH), and not on when or where it runs.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is what Go calls one, with the tag that wheels have for it.
type platform struct{ os, arch, wheel string }

// platforms are those of a release. The binary is static, so that a Linux wheel fits both
// families of C libraries, whatever their version; macOS 12 is the first that Go 1.26 runs on.
var platforms = []platform{
	{"linux", "amd64", "manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"linux", "arm64", "manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"darwin", "amd64", "macosx_12_0_x86_64"},
	{"darwin", "arm64", "macosx_12_0_arm64"},
	{"windows", "amd64", "win_amd64"},
	{"windows", "arm64", "win_arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// binary is the name of the command's file.
func (p platform) binary() string { return "bilevelc" + p.ending() }

// queue is the name of the file of the command with the queue of sweeps.
func (p platform) queue() string { return "bilevelc-queue" + p.ending() }

func (p platform) ending() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

func main() {
	log.SetFlags(0)
	version := flag.String("version", "0.1.0-dev", "of the release: MAJOR.MINOR.PATCH, with -dev where it is none")
	out := flag.String("o", "dist", "folder for the archives and wheels")
	only := flag.String("platforms", "", "some of them, such as linux/amd64,darwin/arm64 (default: all)")
	flag.Parse()
	if err := (&maker{root: ".", out: *out, version: *version, flags: []string{"-trimpath"}}).release(*only); err != nil {
		log.Fatal("release: ", err)
	}
}

// maker makes a release of the sources in root.
type maker struct {
	root, out, version string
	flags              []string // of go build
}

// release makes all of it for the platforms that only names, or all.
func (m *maker) release(only string) error {
	root, out, version := m.root, m.out, m.version
	wanted := platforms
	if only != "" {
		wanted = nil
		for _, name := range strings.Split(only, ",") {
			k := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
			if k < 0 {
				return fmt.Errorf("%s is none of %v", name, platforms)
			}
			wanted = append(wanted, platforms[k])
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bilevelc-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made, err := timeOf(root)
	if err != nil {
		return err
	}
	common, err := m.commonFiles(work)
	if err != nil {
		return err
	}
	packageFiles, err := pythonFiles(root)
	if err != nil {
		return err
	}
	var written []string
	for _, p := range wanted {
		binary := filepath.Join(work, p.os+"-"+p.arch, p.binary())
		if err := m.build(binary, p.os, p.arch); err != nil {
			return err
		}
		queue := filepath.Join(work, p.os+"-"+p.arch, p.queue())
		if err := m.build(queue, p.os, p.arch, "-tags", "nats"); err != nil {
			return err
		}
		name := fmt.Sprintf("bilevelc_%s_%s_%s", version, p.os, p.arch)
		files := append([]file{{path: p.binary(), from: binary, executable: true}, {path: p.queue(), from: queue, executable: true}}, common...)
		archive, err := writeArchive(out, name, p.os == "windows", files, made)
		if err != nil {
			return err
		}
		wheel, err := writeWheel(out, root, version, p, binary, packageFiles, made)
		if err != nil {
			return err
		}
		written = append(written, archive, wheel)
		fmt.Println(filepath.Join(out, archive))
		fmt.Println(filepath.Join(out, wheel))
	}
	return checksums(out, written)
}

// build compiles the command, with further flags of go build.
func (m *maker) build(to, goos, arch string, flags ...string) error {
	args := slices.Concat([]string{"build"}, m.flags, flags)
	args = append(args, "-ldflags", "-s -w -buildid= -X main.version="+m.version+" -X bilevelc/runtime.Version="+m.version, "-o", to, "./cmd/bilevelc")
	return run(m.root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch), "go", args...)
}

// run runs a command, which has nothing to say where it succeeds.
func run(dir string, env []string, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, env
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, said)
	}
	return nil
}

// timeOf is the time that all files have.
func timeOf(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		c := exec.Command("git", "log", "-1", "--format=%ct")
		c.Dir = root
		said, err := c.Output()
		if err != nil { // sources without their history
			return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil
		}
		text = strings.TrimSpace(string(said))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// commonFiles are what every archive holds beside the binary. What the command says of
// itself comes from one for this machine.
func (m *maker) commonFiles(work string) ([]file, error) {
	root := m.root
	host := filepath.Join(work, "host", platform{os: runtime.GOOS}.binary())
	if err := m.build(host, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	made := filepath.Join(work, "made")
	for _, dir := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(made, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := run(root, os.Environ(), host, "man", filepath.Join(made, "man")); err != nil {
		return nil, err
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		text, err := exec.Command(host, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(made, "completions", "bilevelc."+shell), text, 0o644); err != nil {
			return nil, err
		}
	}
	// The kernel's description names the program that installs it: here the one on the path.
	if err := run(root, os.Environ(), host, "jupyter", "install", "--prefix", filepath.Join(work, "prefix")); err != nil {
		return nil, err
	}
	spec, err := os.ReadFile(filepath.Join(work, "prefix", "share", "jupyter", "kernels", "bilevelc", "kernel.json"))
	if err != nil {
		return nil, err
	}
	quoted := strconv.Quote(host)
	if !strings.Contains(string(spec), quoted) {
		return nil, fmt.Errorf("the kernel's description does not name %s:\n%s", quoted, spec)
	}
	kernel := filepath.Join(made, "jupyter", "bilevelc", "kernel.json")
	if err := os.MkdirAll(filepath.Dir(kernel), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(kernel, []byte(strings.ReplaceAll(string(spec), quoted, `"bilevelc"`)), 0o644); err != nil {
		return nil, err
	}
	files, err := filesBelow(made, "", nil)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		dir  string
		ends []string
	}{
		{"docs", []string{".md"}},
		{"examples", []string{".blv", ".json", ".csv"}},
		{"editors", []string{".md", ".js", ".json", ".scm"}},
	} {
		more, err := filesBelow(filepath.Join(root, part.dir), part.dir, part.ends)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return append(files, file{path: "README.md", from: filepath.Join(root, "README.md")},
		file{path: "lang/spec.md", from: filepath.Join(root, "lang", "spec.md")}), nil
}

// checksums writes the SHA-256 of files as sha256sum does, in the order of their names.
func checksums(dir string, names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil), name)
	}
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(b.String()), 0o644)
}
