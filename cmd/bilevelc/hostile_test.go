package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	goparser "go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"bilevelc/ir/datafile"
)

// hostileParts are what labels, names of files and messages may have, and no terminal,
// page or editor may be given as it is.
var hostileParts = []string{
	"\x1b[2J", "\x1b]0;title\a", "\x00", "\r", "\b\b\b", "\x7f", "\u009b31m", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\n", "\t",
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "`", "*/", "%s%d", `\`, `"`, "'", "]]>", "${x}", "name", "é", "東",
	`"""`, "-->", "<!--", "</textarea></style>", "&lt;", "#", ";", ",", " ", "\\\n", strings.Repeat("long ", 400),
}

func hostileText(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		b.WriteString(hostileParts[rng.IntN(len(hostileParts))])
	}
	return b.String()
}

// actsOnShown finds a character of the text that acts on what shows it, by Unicode's own
// categories.
func actsOnShown(text string) (string, bool) {
	for i, r := range text {
		if r == '\n' || r == '\t' {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-40):min(len(text), i+40)]), true
		}
	}
	return "", false
}

// skeleton is the first word of each line of an MPS or LP file, where it is no name, and how many lines there are; the comments that say how names are spelled are left out.
func skeleton(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		first := strings.Fields(line)
		switch {
		case len(first) == 0 || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "\\ "):
		case !strings.HasPrefix(line, " "):
			b.WriteString("\n" + first[0] + " ")
		case strings.HasPrefix(text, "\\"): // of LP files, whose rows go over several lines
			b.WriteString(strings.Repeat(".", len(regexp.MustCompile(`:\s`).FindAllString(line, -1))))
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}

// sameTables holds the CSV tables of one folder to those of another: the same but for the labels, and what is called by them.
func sameTables(t *testing.T, dir, tameDir string, tame func(string) string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(tameDir, "*.csv"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	read := func(path string) [][]string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(strings.NewReader(string(text)))
		records, err := r.ReadAll()
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
		return records
	}
	for _, path := range paths {
		name := filepath.Base(path)
		a, b := read(filepath.Join(dir, name)), read(path)
		if len(a) != len(b) {
			t.Fatalf("%s has %d records, %d with plain names", name, len(a), len(b))
		}
		for i := range a {
			if len(a[i]) != len(b[i]) {
				t.Fatalf("%s: record %q, %q with plain names", name, a[i], b[i])
			}
			for j := range a[i] {
				if strings.HasPrefix(b[i][j], "tame") && tame(strings.ReplaceAll(a[i][j], "\r\n", "\n")) != b[i][j] && tame(a[i][j]) != b[i][j] {
					t.Errorf("%s: %q for %s", name, a[i][j], b[i][j])
				}
			}
		}
	}
}

var tagPattern = regexp.MustCompile(`^<(/?[a-zA-Z][a-zA-Z0-9]*|!doctype|!DOCTYPE)((?:\s+[a-zA-Z][a-zA-Z0-9:-]*(?:="[^"<>]*")?)*)\s*/?>`)

// tagsOf are the tags of a page with the names of their attributes; each < is to begin one.
func tagsOf(t *testing.T, name, page string) map[string]bool {
	t.Helper()
	tags := map[string]bool{}
	for i := strings.IndexByte(page, '<'); i >= 0; {
		found := tagPattern.FindStringSubmatch(page[i:])
		if found == nil {
			t.Fatalf("%s: no tag begins at %q", name, page[i:min(len(page), i+200)])
		}
		tags[found[1]] = true
		for _, attribute := range regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9:-]*)(?:="[^"]*")?`).FindAllStringSubmatch(found[2], -1) {
			tags[found[1]+" "+attribute[1]] = true
		}
		i += len(found[0])
		next := strings.IndexByte(page[i:], '<')
		if next < 0 {
			break
		}
		i += next
	}
	return tags
}

const hostileModel = `model hostile
set shop
set road(from, to) within shop * shop
data taste: [shop]
upper {
  var price: [shop] in box(0, 6)
  var toll: [road] in box(0, 1)
  maximize sum(s in shop: price[s] * amount[s]) - sumsq(toll)
}
lower {
  var amount: [shop] in nonneg
  var flow: [road] in nonneg
  minimize sum(s in shop: 0.5 * amount[s]^2 - (taste[s] - price[s]) * amount[s]) + sum(r in road: (flow[r] - 1)^2 + toll[r] * flow[r])
  subject to
    shelf: sum(amount) <= 4
    room: forall s in shop: amount[s] <= 2
}
report {
  income = [s in shop: price[s] * amount[s]]
}
`

// TestHostileTexts: whatever labels and names of files say, nothing that acts on a
// terminal, a page or an editor comes out of any command but in documents and tables,
// which are for programs.
func TestHostileTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 33))
	for range 4 {
		dir := t.TempDir()
		var shops []string
		var roads [][]string
		taste := map[string]float64{}
		for len(taste) < 4 {
			label := hostileText(rng)
			if _, twice := taste[label]; !twice {
				taste[label] = 3 + float64(len(taste))
				shops = append(shops, label)
			}
		}
		for k := range shops {
			roads = append(roads, []string{shops[k], shops[(k+1)%len(shops)]})
		}
		text, err := json.Marshal(map[string]any{"shop": shops, "road": roads, "taste": taste})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.NewReplacer("/", "_", "\x00", "_", "=", "_", ":", "_").Replace(hostileText(rng))
		model, data := filepath.Join(dir, name+".blv"), filepath.Join(dir, "data.json")
		write(t, model, hostileModel)
		write(t, data, string(text))
		write(t, filepath.Join(dir, "wrong.json"), strings.Replace(string(text), `"taste":{`, `"taste":{"no\u001b[2Jsuch\u202e":1,`, 1))
		at := func(file string) string { return filepath.Join(dir, file) }
		command := func(stdin string, want int, args ...string) string {
			t.Helper()
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), args, stdio{strings.NewReader(stdin), &stdout, &stderr})
			if want >= 0 && code != want {
				t.Fatalf("%q: exit code %d\n%s%s", args, code, stdout.String(), stderr.String())
			}
			for _, out := range []string{stdout.String(), stderr.String()} {
				if found, bad := actsOnShown(out); bad {
					t.Errorf("%q: %s", args, found)
				}
			}
			return stdout.String()
		}
		// The same with names of letters alone has the same structure in every form of it.
		tame := func(label string) string {
			return fmt.Sprintf("tame%d", slices.Index(shops, label))
		}
		var tameRoads [][]string
		tameTaste := map[string]float64{}
		for _, r := range roads {
			tameRoads = append(tameRoads, []string{tame(r[0]), tame(r[1])})
		}
		for s, v := range taste {
			tameTaste[tame(s)] = v
		}
		var tameShops []string
		for _, s := range shops {
			tameShops = append(tameShops, tame(s))
		}
		tameText, err := json.Marshal(map[string]any{"shop": tameShops, "road": tameRoads, "taste": tameTaste})
		if err != nil {
			t.Fatal(err)
		}
		write(t, at("tame.json"), string(tameText))
		write(t, at("tame.blv"), hostileModel)
		for _, format := range []string{"mps", "lp"} {
			a, b := command("", 0, "export", model, "-d", data, "--to", format), command("", 0, "export", at("tame.blv"), "-d", at("tame.json"), "--to", format)
			if want, got := skeleton(b), skeleton(a); got != want {
				t.Errorf("the %s file has other lines than with plain names:\n%s\nnot\n%s", format, got, want)
			}
		}
		command("", 0, "solve", at("tame.blv"), "-d", at("tame.json"), "--starts", "2", "--report", at("tame-page.html"), "--csv", at("tame-tables"))
		command("", 0, "solve", model, "-d", data, "--starts", "2", "--csv", at("tables"))
		sameTables(t, at("tables"), at("tame-tables"), tame)
		document := command("", 0, "solve", model, "-d", data, "--json", "--starts", "2")
		write(t, at("result.json"), document)
		var solved struct {
			Upper struct{ Variables json.RawMessage }
		}
		if err := json.Unmarshal([]byte(document), &solved); err != nil {
			t.Fatal(err)
		}
		write(t, at("point.json"), string(solved.Upper.Variables))
		command("", 0, "solve", model, "-d", data, "--starts", "2", "--plot", "--all", "--report", at("page.html"), "--trace", at("trace"))
		command("", 0, "check", model, "-d", data, "--explain")
		command("", -1, "check", model, "-d", at("wrong.json"), "--json")
		command("", 4, "check", model, "-d", at("wrong.json"))
		command("", 2, "solve", model+"x", "-d", data)
		command("", 4, "solve", model, "-d", data+name)
		command("", 0, "eval", model, "-d", data, "--at", at("point.json"), "--sensitivity", "--plot")
		command("", 0, "eval", model, "-d", data, "--at", at("point.json"), "--json")
		command("", -1, "eval", model, "-d", data, "--at", at("result.json"))
		command("", 0, "verify", at("result.json"), "--model", model, "-d", data)
		command("", -1, "verify", at("point.json"), "--model", model, "-d", data)
		command("", 0, "report", at("result.json"), "--model", model, "-d", data, "-o", at("page2.html"))
		command("", 0, "build", model, "-d", data, "-o", at("built"))
		command("", 0, "sweep", model, "-d", data, "--over", "seed=1..2", "--dir", at("s"))
		command("", 0, "sweep", "status", at("s"))
		command("", 0, "sweep", "report", at("s"), "-o", at("sweep.html"))
		command(":load "+model+"\n:data "+data+"\n:solve\nprice\nflow\ngrad F\n:plot price\n:vars\nprice[\"nosuch\x1b[2J\"]\n", -1, "repl")
		pages, err := filepath.Glob(at("*.html"))
		if err != nil || len(pages) != 4 {
			t.Fatal(pages, err)
		}
		plain, err := os.ReadFile(at("tame-page.html"))
		if err != nil {
			t.Fatal(err)
		}
		known := tagsOf(t, "tame-page.html", string(plain))
		for _, page := range []string{"page.html", "page2.html", "sweep.html"} {
			text, err := os.ReadFile(at(page))
			if err != nil {
				t.Fatal(err)
			}
			for tag := range tagsOf(t, page, string(text)) {
				if element, attribute, _ := strings.Cut(tag, " "); !known[tag] && !slices.Contains(strings.Fields("rect /rect li /li g /g path circle polyline title /title"), element) && page != "sweep.html" ||
					strings.HasPrefix(attribute, "on") || element == "script" || element == "img" || element == "iframe" {
					t.Errorf("%s has %s, and no page with plain names has", page, tag)
				}
			}
		}
		command("", 2, "sweep", "table", at("s"), "-o", at("t.xlsx"))
		for format, kind := range map[string]datafile.Format{"csv": datafile.CSV, "parquet": datafile.Parquet} {
			command("", 0, "sweep", "table", at("s"), "-o", at("t."+format))
			text, err := os.ReadFile(at("t." + format))
			if err != nil {
				t.Fatal(err)
			}
			set, list := datafile.Read(kind, "t."+format, string(text), "")
			if list.HasErrors() || len(set.Entries) != 1 || set.Entries[0].Table == nil || set.Entries[0].Table.Rows != 2 {
				t.Errorf("the table of a sweep as %s does not read: %v", format, list)
				continue
			}
			for _, c := range set.Entries[0].Table.Columns {
				if found, bad := actsOnShown(c.Name); bad {
					t.Errorf("%s: %s", format, found)
				}
			}
		}
		sources, err := filepath.Glob(at("built/*"))
		if err != nil || len(sources) == 0 {
			t.Fatal(sources, err)
		}
		for _, path := range append(pages, sources...) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found, bad := actsOnShown(string(text)); bad {
				t.Errorf("%s: %s", filepath.Base(path), found)
			}
			if strings.HasSuffix(path, ".go") {
				file, err := goparser.ParseFile(token.NewFileSet(), path, text, 0)
				if err != nil {
					t.Error(err)
				} else if len(file.Decls) == 0 {
					t.Errorf("%s declares nothing", path)
				}
			}
			for _, tag := range []string{"<script>alert", "<img src=x"} {
				if strings.Contains(string(text), tag) && strings.HasSuffix(path, ".html") {
					t.Errorf("%s has %s", filepath.Base(path), tag)
				}
			}
		}
	}
}
