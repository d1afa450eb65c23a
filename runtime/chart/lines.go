package chart

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// Series is one curve: Y over X, of the same length, X ascending. A Y that is not
// finite is a gap.
type Series struct {
	Name string
	X, Y []float64
	Dash bool
}

// Lines are curves over a common axis.
type Lines struct {
	Title  string
	XTitle string
	YTitle string
	Series []Series
	LogY   bool // values that are not positive are then gaps
	// Labels, where not nil, are what stands at x = 1, 2, ...: the elements of an
	// ordered set.
	Labels []string
	// Dots marks every value; Points leaves out the line between them.
	Dots, Points bool
	// Mark, where not NaN, is a place on the x axis that is pointed out.
	Mark     float64
	MarkName string
}

// class is that of a curve.
func (s *Series) class(i int) string {
	if s.Dash {
		return "l" + color(i) + " dash"
	}
	return "l" + color(i)
}

func (l *Lines) drawn(y float64) bool { return finite(y) && (!l.LogY || y > 0) }

func (l *Lines) extents() (x0, x1, y0, y1 float64, ok bool) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, s := range l.Series {
		for k, y := range s.Y {
			if l.drawn(y) && finite(s.X[k]) {
				x0, x1, y0, y1, ok = math.Min(x0, s.X[k]), math.Max(x1, s.X[k]), math.Min(y0, y), math.Max(y1, y), true
			}
		}
	}
	return x0, x1, y0, y1, ok
}

// SVG implements Chart.
func (l *Lines) SVG() template.HTML {
	x0, x1, y0, y1, ok := l.extents()
	c := &canvas{width: pageWidth, height: lowHeight}
	if !ok {
		c.height = 40
		c.text("soft", "start", 0, 24, l.Title+": no finite values")
		return c.svg(l.Title + ": no finite values")
	}
	legend := len(l.Series) > 1
	top, bottom := 26.0, lowHeight-38
	if legend {
		top = 44
	}
	ys := newScale(y0, y1, bottom, top, l.LogY, true)
	yticks := ys.ticks(5)
	names := numbers(yticks)
	left := math.Max(24, each.Largest(names, func(name string) float64 { return 14 + width(name) }))
	xs := newScale(x0, x1, left, pageWidth-16, false, false)
	c.text("strong", "start", 0, 14, l.Title)
	if l.YTitle != "" {
		c.text("soft", "end", pageWidth, 14, l.YTitle)
	}
	for k, v := range yticks {
		c.line("rule", left, ys.at(v), pageWidth-16, ys.at(v))
		c.text("soft", "end", left-6, ys.at(v)+4, names[k])
	}
	l.xaxis(c, xs, bottom)
	if finite(l.Mark) && l.Mark >= x0 && l.Mark <= x1 {
		c.line("none", xs.at(l.Mark), top, xs.at(l.Mark), bottom)
		c.text("soft halo", "middle", math.Min(xs.at(l.Mark), pageWidth-16-width(l.MarkName)/2), top+10, l.MarkName)
	}
	if legend {
		l.legend(c, left)
	}
	for i, s := range l.Series {
		l.curve(c, i, s, xs, ys)
	}
	return c.svg(fmt.Sprintf("%s, from %s to %s", l.Title, short(y0), short(y1)))
}

// legend names the curves as far as they have colors and there is room.
func (l *Lines) legend(c *canvas, at float64) {
	for i, s := range l.Series {
		name := cut(s.Name, 28)
		room, more := pageWidth, fmt.Sprintf("and %d more", len(l.Series)-i)
		if i < len(l.Series)-1 {
			room -= width(more)
		}
		if i == len(Colors) || at+36+width(name) > room {
			c.text("soft", "start", at, 34, more)
			return
		}
		if len(s.Y) == 1 {
			fmt.Fprintf(&c.b, `<circle class="f%s" cx="%s" cy="30" r="2.75"/>`, color(i), px(at+8))
		} else {
			c.line(s.class(i), at, 30, at+16, 30)
		}
		c.text("", "start", at+21, 34, name)
		at += 36 + width(name)
	}
}

func (l *Lines) xaxis(c *canvas, xs scale, bottom float64) {
	c.line("axis", xs.from, bottom, xs.to, bottom)
	if l.Labels != nil {
		longest := math.Max(1, each.Largest(l.Labels, func(s string) float64 { return width(cut(s, 12)) + 12 }))
		every := max(1, int(math.Ceil(longest*float64(len(l.Labels))/(xs.to-xs.from))))
		for k := 0; k < len(l.Labels); k += every {
			if x := xs.at(float64(k + 1)); x >= xs.from && x <= xs.to {
				label := cut(l.Labels[k], 12)
				c.text("soft", "middle", math.Min(x, pageWidth-width(label)/2), bottom+16, label)
			}
		}
	} else {
		ticks := xs.ticks(8)
		names := numbers(ticks)
		for k, v := range ticks {
			c.line("axis", xs.at(v), bottom, xs.at(v), bottom+4)
			label := names[k]
			c.text("soft", "middle", math.Min(xs.at(v), pageWidth-width(label)/2), bottom+16, label)
		}
	}
	if l.XTitle != "" {
		c.text("soft", "end", xs.to, bottom+33, l.XTitle)
	}
}

// thinned leaves out values of a curve that nobody could see: of many those that are least and greatest over a unit of the page.
func (l *Lines) thinned(s Series) Series {
	n := len(s.Y)
	stretches := int(pageWidth)
	if n <= 2*stretches {
		return s
	}
	out := Series{Name: s.Name, Dash: s.Dash}
	for b := range stretches {
		from, to := b*n/stretches, (b+1)*n/stretches
		least, greatest := -1, -1
		for k := from; k < to; k++ {
			switch y := s.Y[k]; {
			case !l.drawn(y):
			case least < 0:
				least, greatest = k, k
			case y < s.Y[least]:
				least = k
			case y > s.Y[greatest]:
				greatest = k
			}
		}
		if least < 0 { // a gap
			least, greatest = from, from
		}
		for _, k := range []int{min(least, greatest), max(least, greatest)} {
			if len(out.X) == 0 || s.X[k] > out.X[len(out.X)-1] {
				out.X, out.Y = append(out.X, s.X[k]), append(out.Y, s.Y[k])
			}
		}
	}
	return out
}

func (l *Lines) curve(c *canvas, i int, s Series, xs, ys scale) {
	s = l.thinned(s)
	open := false
	var path strings.Builder
	for k, y := range s.Y {
		if !l.drawn(y) || !finite(s.X[k]) {
			open = false
			continue
		}
		verb := "L"
		if !open {
			verb, open = "M", true
		}
		fmt.Fprintf(&path, "%s%s %s", verb, px(xs.at(s.X[k])), px(ys.at(y)))
	}
	if !l.Points {
		fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`, s.class(i), path.String())
		if len(s.Y) > 2*Apart || s.Dash {
			return
		}
	}
	radius := "1.75"
	if l.Dots || l.Points && len(s.Y) <= 2*Apart || len(s.Y) == 1 {
		radius = "2.75"
	}
	for k, y := range s.Y {
		if l.drawn(y) && finite(s.X[k]) {
			fmt.Fprintf(&c.b, `<circle class="f%s" cx="%s" cy="%s" r="%s"><title>%s</title></circle>`, color(i),
				px(xs.at(s.X[k])), px(ys.at(y)), radius, escape(l.point(s, k)))
		}
	}
}

func (l *Lines) point(s Series, k int) string {
	at := exact(s.X[k])
	if n := int(s.X[k]); l.Labels != nil && n >= 1 && n <= len(l.Labels) {
		at = l.Labels[n-1]
	}
	return fmt.Sprintf("%s at %s: %s", s.Name, at, exact(s.Y[k]))
}

// Text implements Chart.
func (l *Lines) Text(w io.Writer, columns int) error {
	x0, x1, y0, y1, ok := l.extents()
	if !ok {
		_, err := fmt.Fprintf(w, "%s: no finite values\n", diag.Shown(l.Title))
		return err
	}
	columns = max(columns, MinWidth)
	room := columns - 20 // beside the scale, and half of the last label below
	var data [][]float64
	var names []string
	for i, s := range l.Series {
		if i == len(charsets) {
			break
		}
		data = append(data, l.resample(s, x0, x1, room))
		names = append(names, cut(s.Name, columns-6))
	}
	format := func(v float64) string {
		if l.LogY {
			return fmt.Sprintf("%10.2g", math.Pow(10, v))
		}
		return fmt.Sprintf("%10s", short(v))
	}
	title := diag.Shown(l.Title)
	if l.YTitle != "" {
		title += " (" + diag.Shown(l.YTitle) + ")"
	}
	if y0 == y1 { // the library has no scale for a constant
		_, err := fmt.Fprintf(w, "%s: %s everywhere from %s to %s\n", title, exact(y0), short(x0), short(x1))
		return err
	}
	options := []asciigraph.Option{asciigraph.Height(12), asciigraph.YAxisValueFormatter(format)}
	if x1 > x0 {
		options = append(options, asciigraph.XAxisRange(x0, x1), asciigraph.XAxisTickCount(l.ticks()), asciigraph.XAxisValueFormatter(l.tick))
	}
	if len(data) > 1 {
		options = append(options, asciigraph.SeriesChars(charsets[:len(data)]...))
		for i, name := range names {
			title += fmt.Sprintf("\n  %s %s", []string{"─", "*", "+", "o"}[i], name)
		}
	}
	if n := len(l.Series) - len(data); n > 0 {
		title += fmt.Sprintf("\n  and %d more", n)
	}
	text := title + "\n" + asciigraph.PlotMany(data, options...) + "\n"
	if l.XTitle != "" {
		text += fmt.Sprintf("%*s\n", columns-2, cut(l.XTitle, columns-2))
	}
	_, err := io.WriteString(w, text)
	return err
}

// charsets are those of the curves that a terminal tells apart.
var charsets = []asciigraph.CharSet{asciigraph.DefaultCharSet, asciigraph.CreateCharSet("*"), asciigraph.CreateCharSet("+"), asciigraph.CreateCharSet("o")}

// ticks is how many places of the x axis a terminal names.
func (l *Lines) ticks() int {
	if l.Labels != nil {
		return max(2, min(5, len(l.Labels)))
	}
	return 5
}

func (l *Lines) tick(v float64) string {
	if n := int(math.Round(v)); l.Labels != nil && n >= 1 && n <= len(l.Labels) {
		return cut(l.Labels[n-1], 10)
	}
	return short(v)
}

// resample gives a curve's values at n equally spaced places, on straight lines
// between its own; NaN in gaps.
func (l *Lines) resample(s Series, x0, x1 float64, n int) []float64 {
	out := make([]float64, n)
	value := func(k int) float64 {
		switch y := s.Y[k]; {
		case !l.drawn(y):
			return math.NaN()
		case l.LogY:
			return math.Log10(y)
		default:
			return y
		}
	}
	for i := range out {
		x := x0
		if n > 1 {
			x += (x1 - x0) * float64(i) / float64(n-1)
		}
		k, here := slices.BinarySearch(s.X, x)
		switch {
		case here:
			out[i] = value(k)
		case k == 0, k == len(s.X):
			out[i] = math.NaN()
			if k == len(s.X) && k > 0 && x <= s.X[k-1]*(1+1e-12) {
				out[i] = value(k - 1)
			}
		default:
			share := (x - s.X[k-1]) / (s.X[k] - s.X[k-1])
			out[i] = value(k-1)*(1-share) + value(k)*share
		}
	}
	return out
}
