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
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bilevelc/internal/must"
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
func (m *maker) release(only string) (err error) {
	defer must.Catch(&err)
	root, out, version := m.root, m.out, m.version
	wanted := platforms
	if only != "" {
		wanted = nil
		for _, name := range strings.Split(only, ",") {
			k := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
			must.Be(k >= 0, "%s is none of %v", name, platforms)
			wanted = append(wanted, platforms[k])
		}
	}
	must.Do(os.MkdirAll(out, 0o755))
	work := must.Get(os.MkdirTemp("", "bilevelc-release"))
	defer os.RemoveAll(work)
	made := timeOf(root)
	common := m.commonFiles(work)
	packageFiles := pythonFiles(root)
	var written []string
	for _, p := range wanted {
		binary := filepath.Join(work, p.os+"-"+p.arch, p.binary())
		m.build(binary, p.os, p.arch)
		queue := filepath.Join(work, p.os+"-"+p.arch, p.queue())
		m.build(queue, p.os, p.arch, "-tags", "nats")
		name := fmt.Sprintf("bilevelc_%s_%s_%s", version, p.os, p.arch)
		files := append([]file{{path: p.binary(), from: binary, executable: true}, {path: p.queue(), from: queue, executable: true}}, common...)
		archive := writeArchive(out, name, p.os == "windows", files, made)
		wheel := writeWheel(out, root, version, p, binary, packageFiles, made)
		written = append(written, archive, wheel)
		fmt.Println(filepath.Join(out, archive))
		fmt.Println(filepath.Join(out, wheel))
	}
	checksums(out, written)
	return nil
}

// build compiles the command, with further flags of go build.
func (m *maker) build(to, goos, arch string, flags ...string) {
	args := slices.Concat([]string{"build"}, m.flags, flags)
	args = append(args, "-ldflags", "-s -w -buildid= -X main.version="+m.version+" -X bilevelc/runtime.Version="+m.version, "-o", to, "./cmd/bilevelc")
	run(m.root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch), "go", args...)
}

// run runs a command, which has nothing to say where it succeeds.
func run(dir string, env []string, name string, args ...string) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, env
	said, err := c.CombinedOutput()
	must.Be(err == nil, "%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, said)
}

// timeOf is the time that all files have.
func timeOf(root string) time.Time {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		c := exec.Command("git", "log", "-1", "--format=%ct")
		c.Dir = root
		said, err := c.Output()
		if err != nil { // sources without their history
			return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		text = strings.TrimSpace(string(said))
	}
	return time.Unix(must.Get(strconv.ParseInt(text, 10, 64)), 0).UTC()
}

// commonFiles are what every archive holds beside the binary. What the command says of
// itself comes from one for this machine.
func (m *maker) commonFiles(work string) []file {
	root := m.root
	host := filepath.Join(work, "host", platform{os: runtime.GOOS}.binary())
	m.build(host, runtime.GOOS, runtime.GOARCH)
	made := filepath.Join(work, "made")
	for _, dir := range []string{"man", "completions"} {
		must.Do(os.MkdirAll(filepath.Join(made, dir), 0o755))
	}
	run(root, os.Environ(), host, "man", filepath.Join(made, "man"))
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		text, err := exec.Command(host, "completion", shell).Output()
		must.Be(err == nil, "completion %s: %w", shell, err)
		must.Do(os.WriteFile(filepath.Join(made, "completions", "bilevelc."+shell), text, 0o644))
	}
	// The kernel's description names the program that installs it: here the one on the path.
	run(root, os.Environ(), host, "jupyter", "install", "--prefix", filepath.Join(work, "prefix"))
	spec := must.Get(os.ReadFile(filepath.Join(work, "prefix", "share", "jupyter", "kernels", "bilevelc", "kernel.json")))
	quoted := strconv.Quote(host)
	must.Be(strings.Contains(string(spec), quoted), "the kernel's description does not name %s:\n%s", quoted, spec)
	kernel := filepath.Join(made, "jupyter", "bilevelc", "kernel.json")
	must.Do(os.MkdirAll(filepath.Dir(kernel), 0o755))
	must.Do(os.WriteFile(kernel, []byte(strings.ReplaceAll(string(spec), quoted, `"bilevelc"`)), 0o644))
	files := filesBelow(made, "", nil)
	for _, part := range []struct {
		dir  string
		ends []string
	}{
		{"docs", []string{".md"}},
		{"examples", []string{".blv", ".json", ".csv"}},
		{"editors", []string{".md", ".js", ".json", ".scm"}},
	} {
		files = append(files, filesBelow(filepath.Join(root, part.dir), part.dir, part.ends)...)
	}
	return append(files, file{path: "README.md", from: filepath.Join(root, "README.md")},
		file{path: "lang/spec.md", from: filepath.Join(root, "lang", "spec.md")})
}

// checksums writes the SHA-256 of files as sha256sum does, in the order of their names.
func checksums(dir string, names []string) {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(must.Get(os.ReadFile(filepath.Join(dir, name)))), name)
	}
	must.Do(os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(b.String()), 0o644))
}
