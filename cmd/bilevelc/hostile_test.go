package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostileParts are what labels, names of files and messages may have, and no terminal,
// page or editor may be given as it is.
var hostileParts = []string{
	"\x1b[2J", "\x1b]0;title\a", "\x00", "\r", "\b\b\b", "\x7f", "\u009b31m", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\n", "\t",
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "`", "*/", "%s%d", `\`, `"`, "'", "]]>", "${x}", "name", "é", "東",
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
			json := strings.Contains(strings.Join(args, " "), "--json")
			for _, out := range []string{stdout.String(), stderr.String()} {
				if found, bad := actsOnShown(out); bad && !json {
					t.Errorf("%q: %s", args, found)
				}
			}
			return stdout.String()
		}
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
		command("", 4, "check", model, "-d", at("wrong.json"))
		command("", 2, "solve", model+"x", "-d", data)
		command("", 4, "solve", model, "-d", data+name)
		command("", 0, "eval", model, "-d", data, "--at", at("point.json"), "--sensitivity", "--plot")
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
		if err != nil || len(pages) != 3 {
			t.Fatal(pages, err)
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
			for _, tag := range []string{"<script>alert", "<img src=x"} {
				if strings.Contains(string(text), tag) && strings.HasSuffix(path, ".html") {
					t.Errorf("%s has %s", filepath.Base(path), tag)
				}
			}
		}
	}
}
