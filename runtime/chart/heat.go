package chart

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// Heat is a matrix as shades: of one color from zero away, of two where values have
// both signs. A NaN is a cell without a value.
type Heat struct {
	Title      string
	Rows, Cols []string
	Values     [][]float64 // one row each
}

func (h *Heat) size() (lo, hi, most float64) {
	lo, hi, ok := extent(h.Values...)
	if !ok {
		return 0, 0, 0
	}
	return lo, hi, math.Max(math.Abs(lo), math.Abs(hi))
}

// shade is how strong a value is, from 0 to 1.
func (h *Heat) shade(v, most float64) float64 {
	switch {
	case math.IsInf(v, 0):
		return 1
	case most == 0:
		return 0
	}
	return math.Abs(v) / most
}

// shadeClass is that of the color of a value's sign.
func shadeClass(v float64) string {
	if v < 0 {
		return "fb"
	}
	return "fa"
}

// SVG implements Chart. A page has cells twice as high as wide where there are too many.
func (h *Heat) SVG() template.HTML {
	rows, cols, values := h.Rows, h.Cols, h.Values
	note := ""
	if len(rows) > Apart || len(cols) > 2*Apart {
		rows, cols = rows[:min(len(rows), Apart)], cols[:min(len(cols), 2*Apart)]
		note = fmt.Sprintf("the first %d × %d of %d × %d", len(rows), len(cols), len(h.Rows), len(h.Cols))
	}
	lo, hi, most := h.size()
	left := 4.0
	ch := math.Min(26, math.Max(4, 640/math.Max(1, float64(len(rows)))))
	namedRows := ch > font
	if namedRows {
		left = math.Max(left, each.Largest(rows, func(s string) float64 { return width(cut(s, 24)) + 10 }))
	}
	cw := math.Min(56, (pageWidth-left)/math.Max(1, float64(len(cols))))
	namedCols := cw > font
	longest := each.Largest(cols, func(s string) float64 { return width(cut(s, 14)) })
	turned := longest+6 > cw
	top := 40.0
	if turned && namedCols {
		top = 28 + longest
	}
	c := &canvas{width: pageWidth, height: top + ch*float64(len(rows)) + 34}
	c.text("strong", "start", 0, 14, h.Title)
	if note != "" {
		c.text("soft", "end", pageWidth, 14, note)
	}
	if namedCols {
		for j, s := range cols {
			x := left + cw*(float64(j)+0.5)
			if turned {
				fmt.Fprintf(&c.b, `<text class="soft" transform="translate(%s %s) rotate(-90)">%s</text>`, px(x+4), px(top-5), escape(cut(s, 14)))
			} else {
				c.text("soft", "middle", x, top-6, cut(s, 14))
			}
		}
	}
	framed := namedRows && namedCols
	if !framed {
		c.rect("cell", left, top, cw*float64(len(cols)), ch*float64(len(rows)), 1, "")
	}
	// Digits are in all cells or in none.
	digits := ch >= 16
	for i := range rows {
		for _, v := range values[i][:len(cols)] {
			digits = digits && (math.IsNaN(v) || width(Number(seen(v, most), 3))+4 <= cw)
		}
	}
	for i, name := range rows {
		y := top + ch*float64(i)
		if namedRows {
			c.text("", "end", left-6, y+ch/2+4, cut(name, 24))
		}
		for j, col := range cols {
			v := values[i][j]
			x := left + cw*float64(j)
			if math.IsNaN(v) {
				continue
			}
			if framed {
				c.rect("cell", x, y, cw, ch, 1, "")
			}
			c.rect(shadeClass(seen(v, most)), x, y, cw, ch, h.shade(v, most), name+", "+col+": "+exact(v))
			if digits {
				// Paper around the digits keeps them readable on any shade.
				c.text("halo", "middle", x+cw/2, y+ch/2+4, Number(seen(v, most), 3))
			}
		}
	}
	h.legend(c, left, c.height-18, lo, hi, most)
	return c.svg(fmt.Sprintf("%s: %d rows, %d columns, from %s to %s", h.Title, len(h.Rows), len(h.Cols), short(lo), short(hi)))
}

func (h *Heat) legend(c *canvas, x, y, lo, hi, most float64) {
	steps := []float64{0, 0.25, 0.5, 0.75, 1}
	if lo < 0 {
		steps = []float64{-1, -0.5, 0, 0.5, 1}
	}
	if lo < 0 && hi <= 0 {
		steps = []float64{-1, -0.75, -0.5, -0.25, 0}
	}
	for _, t := range steps {
		c.rect("cell", x, y, 18, 10, 1, "")
		c.rect(shadeClass(t), x, y, 18, 10, math.Abs(t), short(t*most))
		c.text("soft", "start", x+22, y+9, short(t*most))
		x += 34 + width(short(t*most))
	}
}

// Text implements Chart.
func (h *Heat) Text(w io.Writer, columns int) error {
	columns = max(columns, MinWidth)
	lo, hi, most := h.size()
	labels := longest(h.Rows, 20)
	per := 2
	if 2*len(h.Cols) > columns-labels-5 {
		per = 1
	}
	shown := min(len(h.Cols), (columns-labels-5)/per)
	shades := []rune(" ░▒▓█")
	from, to := "", ""
	if shown > 0 {
		from, to = cut(h.Cols[0], 20), cut(h.Cols[shown-1], 20)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: from %s to %s, columns %s to %s\n", diag.Shown(h.Title), short(lo), short(hi), from, to)
	for i, name := range h.Rows {
		if i == Apart {
			fmt.Fprintf(&out, "  ... %d rows in all\n", len(h.Rows))
			break
		}
		fmt.Fprintf(&out, "  %*s ", labels, cut(name, 20))
		for _, v := range h.Values[i][:shown] {
			mark := '·'
			if !math.IsNaN(v) {
				mark = shades[int(math.Round(h.shade(v, most)*4))]
			}
			switch {
			case per == 2 && v < 0:
				fmt.Fprintf(&out, "-%c", mark)
			case per == 2:
				fmt.Fprintf(&out, "%c%c", mark, mark)
			default:
				fmt.Fprintf(&out, "%c", mark)
			}
		}
		if shown < len(h.Cols) {
			out.WriteString(" …")
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}
