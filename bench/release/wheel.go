package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bilevelc/internal/must"
)

// pythonFiles are the package's files.
func pythonFiles(root string) []file {
	return filesBelow(filepath.Join(root, "python", "bilevelc"), "bilevelc", []string{".py", ".typed"})
}

// writeWheel writes the Python package with the binary for a platform as a wheel, the format
// of PEP 427, and returns its file name.
func writeWheel(dir, root, version string, p platform, binary string, files []file, made time.Time) string {
	version = pythonVersion(version)
	metadata := metadataOf(root, version)
	info := "bilevelc-" + version + ".dist-info/"
	var all []file
	for _, f := range files {
		if f.path == "bilevelc/__init__.py" {
			f = versioned(f, version)
		}
		all = append(all, f)
	}
	var tags strings.Builder
	for _, tag := range strings.Split(p.wheel, ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
	}
	all = append(all,
		file{path: "bilevelc/bin/" + p.binary(), from: binary, executable: true},
		file{path: info + "METADATA", text: metadata},
		file{path: info + "WHEEL", text: []byte("Wheel-Version: 1.0\nGenerator: bilevelc bench/release\nRoot-Is-Purelib: false\n" + tags.String())})
	var record strings.Builder
	for _, f := range all {
		text := f.read()
		sum := sha256.Sum256(text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	all = append(all, file{path: info + "RECORD", text: []byte(record.String())})
	name := fmt.Sprintf("bilevelc-%s-py3-none-%s.whl", version, p.wheel)
	into(filepath.Join(dir, name), func(w io.Writer) { writeZip(w, all, made) })
	return name
}

// pythonVersion spells a version as PEP 440 has it.
func pythonVersion(version string) string {
	return strings.NewReplacer("-dev", ".dev0", "-rc.", "rc", "-rc", "rc").Replace(strings.TrimPrefix(version, "v"))
}

// versioned is the package's first file with the version of the release.
func versioned(f file, version string) file {
	text := f.read()
	line := regexp.MustCompile(`(?m)^__version__ = ".*"$`)
	must.Be(line.Match(text), "%s has no version", f.from)
	return file{path: f.path, text: line.ReplaceAll(text, []byte(`__version__ = "`+version+`"`))}
}

// metadataOf is what a wheel says of the package, from python/pyproject.toml and the page
// beside it.
func metadataOf(root, version string) []byte {
	project := must.Get(os.ReadFile(filepath.Join(root, "python", "pyproject.toml")))
	readme := must.Get(os.ReadFile(filepath.Join(root, "python", "README.md")))
	find := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + ` = (.*)$`).FindSubmatch(project)
		must.Be(m != nil, "python/pyproject.toml has no line that sets %s", key)
		return string(m[1])
	}
	list := func(key string) (items []string) {
		for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(find(key), -1) {
			items = append(items, m[1])
		}
		return items
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Metadata-Version: 2.1\nName: bilevelc\nVersion: %s\nSummary: %s\nRequires-Python: %s\n", version,
		strings.Trim(find("description"), `"`), strings.Trim(find("requires-python"), `"`))
	for _, d := range list("dependencies") {
		fmt.Fprintf(&b, "Requires-Dist: %s\n", d)
	}
	for _, extra := range []string{"pandas", "torch"} {
		fmt.Fprintf(&b, "Provides-Extra: %s\n", extra)
		for _, d := range list(extra) {
			fmt.Fprintf(&b, "Requires-Dist: %s; extra == '%s'\n", d, extra)
		}
	}
	fmt.Fprintf(&b, "Description-Content-Type: text/markdown\n\n%s", readme)
	return b.Bytes()
}
