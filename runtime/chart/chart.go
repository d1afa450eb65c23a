// Package chart draws numbers: as SVG for pages and notebooks, and as text for
// terminals. A chart is a value; what is drawn depends on it alone, to the byte.
//
// The SVG carries classes in the place of colors, which Style defines for light,
// dark and print, and the exact numbers as titles of its marks, so that it reads
// without a script. Labels are escaped; what is not finite leaves a gap and says so.
package chart

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// Chart is a picture of some numbers.
type Chart interface {
	// SVG is an <svg> element for a page that has Style.
	SVG() template.HTML
	// Text writes the chart in lines of at most width characters, where that is at
	// least MinWidth.
	Text(w io.Writer, width int) error
}

// The measures of a page, in units of its charts. Rows of text are one and a half times the font apart, and a title has two fonts.
const (
	font      = 12.0 // see Style
	pageWidth = 60 * font
	lowHeight = pageWidth * 3 / 8 // of charts over an axis
)

// Apart is how many marks of a kind are told apart next to each other: more are not named, not drawn each for itself, or left out.
const Apart = 80

// MinWidth is the least width that text charts are made for.
const MinWidth = 40

// Standalone is a chart as a document of its own, such as a notebook shows: its SVG
// with the style inside.
func Standalone(c Chart) string {
	svg := string(c.SVG())
	at := strings.IndexByte(svg, '>') + 1
	return svg[:at] + "<style>" + Style + "</style>" + svg[at:]
}

// Style is the CSS of charts: custom properties for light and dark, and the classes
// of marks.
const Style = `
svg.chart{--ink:#1c2430;--soft:#5b6675;--rule:#d9dee5;--paper:#ffffff;--a:#1f6fb2;--b:#c2571a;--c:#2b8a5a;--d:#8b4fb0;--e:#a88a12;--f:#5f6b7a;--g:#b0305c;--h:#17808a;
display:block;width:100%;height:auto;font:12px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;font-variant-numeric:tabular-nums}
svg.chart text{fill:var(--ink);font-size:12px}svg.chart .soft{fill:var(--soft)}svg.chart .strong{font-weight:600}
svg.chart .rule{stroke:var(--rule);stroke-width:1;fill:none}svg.chart .axis{stroke:var(--soft);stroke-width:1;fill:none}
svg.chart .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
svg.chart .la,svg.chart .lb,svg.chart .lc,svg.chart .ld,svg.chart .le,svg.chart .lf,svg.chart .lg,svg.chart .lh{fill:none;stroke-width:1.75;stroke-linejoin:round}
svg.chart .la{stroke:var(--a)}svg.chart .lb{stroke:var(--b)}svg.chart .lc{stroke:var(--c)}svg.chart .ld{stroke:var(--d)}
svg.chart .le{stroke:var(--e)}svg.chart .lf{stroke:var(--f)}svg.chart .lg{stroke:var(--g)}svg.chart .lh{stroke:var(--h)}
svg.chart .dash{stroke-dasharray:5 4}
svg.chart .fa{fill:var(--a)}svg.chart .fb{fill:var(--b)}svg.chart .fc{fill:var(--c)}svg.chart .fd{fill:var(--d)}
svg.chart .fe{fill:var(--e)}svg.chart .ff{fill:var(--f)}svg.chart .fg{fill:var(--g)}svg.chart .fh{fill:var(--h)}
svg.chart .cell{fill:var(--paper);stroke:var(--rule);stroke-width:.5}svg.chart .none{fill:none;stroke:var(--soft);stroke-width:1;stroke-dasharray:2 2}
svg.chart .node{fill:var(--paper);stroke:var(--soft);stroke-width:1.25}
@media (prefers-color-scheme:dark){svg.chart{--ink:#e6eaf0;--soft:#9aa6b5;--rule:#343d49;--paper:#151a21;--a:#62b0ee;--b:#f0925a;--c:#5cc794;--d:#c495e6;--e:#d8bd4a;--f:#a2adba;--g:#ee7ba0;--h:#5cc3cc}}
@media print{svg.chart{--ink:#000;--soft:#444;--rule:#ccc;--paper:#fff;--a:#1f6fb2;--b:#c2571a;--c:#2b8a5a;--d:#8b4fb0;--e:#a88a12;--f:#5f6b7a;--g:#b0305c;--h:#17808a;print-color-adjust:exact;-webkit-print-color-adjust:exact}}
`

// Colors are the letters of the colors of series, in order: more curves are not told apart.
const Colors = "abcdefgh"

func color(series int) string { return string(Colors[series%len(Colors)]) }

// canvas collects the elements of one SVG.
type canvas struct {
	b             strings.Builder
	width, height float64
}

// svg wraps what was drawn.
func (c *canvas) svg(about string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %s %s" style="max-width:%spx" role="img" aria-label="%s">%s</svg>`,
		px(c.width), px(c.height), px(c.width), escape(about), c.b.String()))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

// rect is a box with a title that a browser shows next to the pointer.
func (c *canvas) rect(class string, x, y, w, h, opacity float64, title string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, px(x), px(y), px(w), px(h))
	if opacity < 1 {
		fmt.Fprintf(&c.b, ` fill-opacity="%s"`, strconv.FormatFloat(opacity, 'f', 3, 64))
	}
	fmt.Fprintf(&c.b, `><title>%s</title></rect>`, escape(title))
}

// text is a label; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, words string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, px(x), px(y), escape(words))
}

// px is a coordinate to a hundredth of a pixel.
func px(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0 // never drawn: callers leave out what is not finite
	}
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64)
}

// escape makes text safe between tags and in quoted attributes.
func escape(s string) string { return template.HTMLEscapeString(diag.Shown(s)) }

// Number is a value as charts write it: digits digits, as short as they go.
func Number(v float64, digits int) string {
	return strconv.FormatFloat(v+0, 'g', digits, 64)
}

// numbers are values as an axis names them: with as many digits as tell each from the next.
func numbers(ticks []float64) []string {
	out := make([]string, len(ticks))
	for digits := 4; digits <= 17; digits++ {
		told := true
		for i, v := range ticks {
			out[i] = Number(v, digits)
			told = told && (i == 0 || out[i] != out[i-1])
		}
		if told {
			break
		}
	}
	return out
}

// short is a value next to a mark.
func short(v float64) string { return Number(v, 4) }

// exact is a value in a title.
func exact(v float64) string { return Number(v, 10) }

// cut is a label as it may be shown, of n runes at most.
func cut(s string, n int) string {
	s = diag.Shown(s)
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// longest is the number of runes of the longest of some labels, as cut leaves them.
func longest(labels []string, n int) int {
	return int(each.Largest(labels, func(s string) float64 { return float64(len([]rune(cut(s, n)))) }))
}

// width is about how many pixels a label takes at 12 px, in the widest of the fonts
// that Style names or falls back to.
func width(s string) float64 { return 7.4 * float64(len([]rune(s))) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// extent is the least and the greatest finite value; ok is false where there is none.
func extent(values ...[]float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, list := range values {
		for _, v := range list {
			if finite(v) {
				lo, hi, ok = math.Min(lo, v), math.Max(hi, v), true
			}
		}
	}
	most := math.Max(math.Abs(lo), math.Abs(hi))
	if ok {
		lo, hi = seen(lo, most), seen(hi, most)
	}
	return lo, hi, ok
}

// seen is v as a chart shows it beside values as large as most: 0 where v is what
// rounding leaves of 0, which would put a sign and an axis where there is nothing.
func seen(v, most float64) float64 {
	if math.Abs(v) < 1e-12*most {
		return 0
	}
	return v
}
