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

// Bars are labelled values next to each other: as rows while their labels fit, as
// columns beyond that.
type Bars struct {
	Title  string
	Labels []string
	Values []float64
	Notes  []string // behind values: "lower", at that bound; nil or as many as values
}

func (b *Bars) note(k int) string {
	if b.Notes == nil || b.Notes[k] == "" {
		return ""
	}
	return " (" + cut(b.Notes[k], 8) + ")"
}

// SVG implements Chart.
func (b *Bars) SVG() template.HTML {
	height := 1.5 * font
	if height*float64(len(b.Values)) > pageWidth {
		return b.columns()
	}
	left := 10 + each.Largest(b.Labels, func(s string) float64 { return width(cut(s, 32)) })
	lo, hi, ok := extent(b.Values)
	lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	if !ok {
		lo, hi = 0, 1
	}
	room := each.LargestBelow(len(b.Values), func(k int) float64 { return width(short(b.Values[k])+b.note(k)) + 8 })
	start := left
	if lo < 0 {
		start += room
	}
	s := newScale(lo, hi, start, pageWidth-room, false, false)
	c := &canvas{width: pageWidth, height: 2*font + height*float64(len(b.Values)) + 4}
	c.text("strong", "start", 0, 14, b.Title)
	zero := s.at(0)
	for k, v := range b.Values {
		y := 2*font + height*float64(k)
		title := b.Labels[k] + ": " + exact(v) + b.note(k)
		c.text("", "end", left-8, y+13, cut(b.Labels[k], 32))
		if !finite(v) {
			c.text("soft", "start", zero+4, y+13, short(v)+b.note(k))
			continue
		}
		from, to := math.Min(zero, s.at(v)), math.Max(zero, s.at(v))
		c.rect("fa", from, y+3, math.Max(to-from, 0.5), height-6, 1, title)
		if v < 0 {
			c.text("soft", "end", from-4, y+13, short(v)+b.note(k))
		} else {
			c.text("soft", "start", to+4, y+13, short(v)+b.note(k))
		}
	}
	c.line("axis", zero, 22, zero, c.height-2)
	return c.svg(fmt.Sprintf("%s: %d values from %s to %s", b.Title, len(b.Values), short(lo), short(hi)))
}

// columns are bars that stand, without labels of their own.
func (b *Bars) columns() template.HTML {
	lo, hi, ok := extent(b.Values)
	c := &canvas{width: pageWidth, height: lowHeight}
	c.text("strong", "start", 0, 14, b.Title)
	if !ok {
		c.text("soft", "start", 0, 40, "no finite values")
		return c.svg(b.Title + ": no finite values")
	}
	lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	s := newScale(lo, hi, lowHeight-28, 28, false, false)
	left := math.Max(24, each.Largest(s.ticks(5), func(v float64) float64 { return 14 + width(short(v)) }))
	for _, v := range s.ticks(5) {
		c.line("rule", left, s.at(v), pageWidth, s.at(v))
		c.text("soft", "end", left-6, s.at(v)+4, short(v))
	}
	n := float64(len(b.Values))
	each := (pageWidth - left) / n
	for k, v := range b.Values {
		if !finite(v) {
			continue
		}
		x := left + each*float64(k)
		top, bottom := math.Min(s.at(0), s.at(v)), math.Max(s.at(0), s.at(v))
		c.rect("fa", x+each*0.1, top, math.Max(each*0.8, 0.4), math.Max(bottom-top, 0.5), 1, b.Labels[k]+": "+exact(v)+b.note(k))
	}
	c.line("axis", left, s.at(0), pageWidth, s.at(0))
	every := max(1, int(math.Ceil(n/8)))
	for k := 0; k < len(b.Labels); k += every {
		label := cut(b.Labels[k], 10)
		c.text("soft", "middle", math.Min(left+each*(float64(k)+0.5), pageWidth-width(label)/2), lowHeight-10, label)
	}
	return c.svg(fmt.Sprintf("%s: %d values from %s to %s", b.Title, len(b.Values), short(lo), short(hi)))
}

// curve is more bars than a terminal has lines for, as a line.
func (b *Bars) curve() *Lines {
	x := each.Below(len(b.Values), func(k int) float64 { return float64(k + 1) })
	return &Lines{Title: b.Title, Labels: b.Labels, Mark: math.NaN(), Series: []Series{{Name: b.Title, X: x, Y: b.Values}}}
}

// Text implements Chart.
func (b *Bars) Text(w io.Writer, columns int) error {
	columns = max(columns, MinWidth)
	if len(b.Values) > Apart {
		return b.curve().Text(w, columns)
	}
	labels := longest(b.Labels, columns/4)
	lo, hi, _ := extent(b.Values)
	lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	if !finite(lo) || !finite(hi) {
		lo, hi = 0, 0
	}
	behind := 0
	for k, v := range b.Values {
		behind = max(behind, len([]rune(Number(v, 6)+b.note(k))))
	}
	room := math.Max(0, float64(columns-labels-behind-6))
	below := 0 // characters left of zero
	if hi > lo {
		below = int(math.Round(room * (-lo / (hi - lo))))
	}
	var out strings.Builder
	fmt.Fprintln(&out, diag.Shown(b.Title))
	for k, v := range b.Values {
		fmt.Fprintf(&out, "  %*s ", labels, cut(b.Labels[k], columns/4))
		length := 0.0
		if finite(v) && hi > lo {
			length = room * (math.Abs(v) / (hi - lo))
		}
		if v < 0 {
			full := min(below, int(math.Round(length)))
			fmt.Fprintf(&out, "%*s│", below, strings.Repeat("█", full))
		} else {
			fmt.Fprintf(&out, "%*s│%s", below, "", block(length))
		}
		fmt.Fprintf(&out, " %s%s\n", Number(v, 6), b.note(k))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// block is a bar of a length in characters, to an eighth.
func block(length float64) string {
	const eighths = " ▏▎▍▌▋▊▉"
	whole := int(length)
	out := strings.Repeat("█", whole)
	if part := int((length - float64(whole)) * 8); part > 0 {
		out += string([]rune(eighths)[part])
	}
	return out
}
