package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/report"
)

// browser is a headless Chromium, or a skip where there is none.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed")
	return ""
}

// measuring is put into a copy of a page, which has no script of its own. It says what
// the browser has loaded, how wide the page came out, which texts of charts lie outside
// their charts, and the least contrast of any text against what is behind it (as WCAG
// defines it).
const measuring = `<script>addEventListener("load", () => {
const out = {dark: matchMedia("(prefers-color-scheme: dark)").matches, loaded: performance.getEntriesByType("resource").length,
	wide: document.documentElement.scrollWidth - innerWidth, charts: 0, outside: [], contrast: 99, dim: "", texts: 0};
const lum = c => { const v = c.map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] };
const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
const paper = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c.slice(0, 3) } return [255, 255, 255] };
const judge = (e, color) => { const a = lum(rgb(color)), b = lum(paper(e)), c = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
	out.texts++; if (c < out.contrast) { out.contrast = c; out.dim = e.outerHTML.slice(0, 80) } };
for (const svg of document.querySelectorAll("svg.chart")) { out.charts++;
	const box = svg.viewBox.baseVal;
	for (const text of svg.querySelectorAll("text")) { const b = text.getBBox(), turned = text.hasAttribute("transform");
		if (!turned && (b.x < -2 || b.x + b.width > box.width + 2 || b.y < -2 || b.y + b.height > box.height + 2)) out.outside.push(text.textContent);
		judge(text, getComputedStyle(text).fill) } }
for (const e of document.querySelectorAll("h1,h2,h3,p,dt,dd,li,th,td,summary,code,.line span"))
	if (e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) judge(e, getComputedStyle(e).color);
document.body.dataset.measured = JSON.stringify(out)})</script>`

type measured struct {
	Dark     bool
	Loaded   int
	Wide     float64
	Charts   int
	Outside  []string
	Contrast float64
	Dim      string
	Texts    int
}

// TestPagesInABrowser opens pages of all kinds in a real browser: light and dark, wide
// and narrow, and printed.
func TestPagesInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser many times")
	}
	chromium := browser(t)
	pages := map[string]string{}
	add := func(name string, p *runtime.Problem, opts runtime.Options) {
		t.Helper()
		r, err := p.Solve(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = pageText(t, &report.Page{Result: r, Problem: p})
	}
	example := func(name string) string { return filepath.Join("..", "..", "examples", name, name+".blv") }
	add("market", bound(t, example("market")), runtime.Options{Starts: 4})
	add("toll", bound(t, example("toll")), runtime.Options{})
	add("stopped", bound(t, example("toll")), runtime.Options{MaxIter: 1})
	add("hostile", boundText(t, hostileModel), runtime.Options{})
	add("infeasible", boundText(t, `model infeasible
upper { var x: real in box(0, 1)
  minimize x }
lower { var y: real in nonneg
  minimize (y - x)^2
  subject to
    cap: y <= 1
    need: y >= 2 + x }
`), runtime.Options{})
	add("long", boundText(t, `model long
upper { var x: matrix[30, 40] in box(-2, 2)
  var z: vector[500] in box(-1, 1)
  minimize sum(i in 1..30, j in 1..40: (x[i, j] - 1 / i + 0.1 * j)^2) + sumsq(z - 0.5) + y }
lower { var y: real
  minimize (y - z[1])^2 }
`), runtime.Options{})
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		all := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile")}, args...)
		out, err := exec.Command(chromium, all...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(out)
	}
	form := regexp.MustCompile(`data-measured="([^"]*)"`)
	for name, page := range pages {
		file := filepath.Join(dir, name+".html")
		if strings.Contains(page, measuring) || strings.Contains(page, "<script") {
			t.Fatalf("%s: the page has a script", name)
		}
		probe := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(page, "")
		if probe == page {
			t.Fatalf("%s: the page has no policy against scripts and loading", name)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(probe, "</head>", measuring+"</head>", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []struct {
			flag string
			dark bool
		}{{"--blink-settings=preferredColorScheme=1", false}, {"--blink-settings=preferredColorScheme=0", true}} {
			width := map[bool]int{false: 1200, true: 500}[scheme.dark] // 500 is the narrowest window
			found := form.FindStringSubmatch(run(scheme.flag, fmt.Sprintf("--window-size=%d,900", width), "--dump-dom", "file://"+file))
			if found == nil {
				t.Fatalf("%s: the browser has measured nothing", name)
			}
			var m measured
			if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &m); err != nil {
				t.Fatal(err)
			}
			switch {
			case m.Dark != scheme.dark:
				t.Fatalf("%s: dark is %v, not %v", name, m.Dark, scheme.dark)
			case m.Loaded != 0:
				t.Errorf("%s: the page has loaded %d resources", name, m.Loaded)
			case m.Wide > 0:
				t.Errorf("%s: at %d pixels the page is %v wider than the window", name, width, m.Wide)
			case len(m.Outside) > 0:
				t.Errorf("%s: texts outside their charts: %q", name, m.Outside)
			case m.Contrast < 4.5: // WCAG 2.1, 1.4.3
				t.Errorf("%s, dark %v: contrast %.2f of %s", name, m.Dark, m.Contrast, m.Dim)
			case m.Texts < 20 || m.Charts == 0 && name != "infeasible":
				t.Errorf("%s: %d texts and %d charts: the test sees nothing", name, m.Texts, m.Charts)
			}
		}
	}
	pdf := filepath.Join(dir, "toll.pdf")
	run("--print-to-pdf="+pdf, "file://"+filepath.Join(dir, "toll.html"))
	printed, err := os.ReadFile(pdf)
	if err != nil || !strings.HasPrefix(string(printed), "%PDF-") {
		t.Errorf("printed: %v", err)
	}
	if n := len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(printed, -1)); n < 2 || n > 9 {
		t.Errorf("printed on %d pages", n)
	}
}
