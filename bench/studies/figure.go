package main

import (
	"image/color"
	"math"
	"strconv"

	"bilevelc/internal/must"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// band is a point of a series: the median, and quartiles as a bar.
type band struct{ x, low, mid, high float64 }

// series is one curve of a figure.
type series struct {
	name  string
	bands []band
	// guide marks a line of theory: dashed, gray, without points.
	guide bool
	// bound marks a bound that belongs to the series before it: dashed, in its
	// color.
	bound bool
}

// figure is a plot with logarithmic axes.
type figure struct {
	name           string // of the file, without extension
	title          string
	xLabel, yLabel string
	reversed       bool // x falls to the right: accuracy increases
	series         []series
}

// guideThrough is the line of slope p through the last point of bands, moved
// by the factor.
func guideThrough(name string, bands []band, p, factor float64) series {
	last := bands[len(bands)-1]
	var out []band
	for _, b := range bands {
		y := factor * last.mid * math.Pow(b.x/last.x, p)
		out = append(out, band{b.x, y, y, y})
	}
	return series{name: name, bands: out, guide: true}
}

// decades marks the powers of ten, or every few of them, and the digits between
// them where the axis is short.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(min, max float64) []plot.Tick {
	first, last := math.Floor(math.Log10(min)), math.Ceil(math.Log10(max))
	every := math.Max(1, math.Ceil((last-first)/8))
	short := math.Log10(max/min) < 2
	var ticks []plot.Tick
	for k := first; k <= last; k++ {
		for digit := 1.0; digit < 10; digit++ {
			v := digit * math.Pow(10, k)
			if v < min || v > max {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 && math.Mod(k-first, every) == 0 || short && (digit == 2 || digit == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
			}
			if digit == 1 || every == 1 {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// palette is that of Okabe and Ito, told apart by the color-blind.
func palette(i int) color.Color {
	colors := []color.RGBA{
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
		{230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
	}
	return colors[i%len(colors)]
}

// write draws the figure as path.png and path.svg.
func (f *figure) write(path string) {
	p := plot.New()
	p.Title.Text = f.title
	p.X.Label.Text, p.Y.Label.Text = f.xLabel, f.yLabel
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	if f.reversed {
		p.X.Scale = plot.InvertedScale{Normalizer: plot.LogScale{}}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid)
	p.Legend.Top = true
	p.Legend.Left = true
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	index := -1
	for _, s := range f.series {
		if !s.guide && !s.bound {
			index++
		}
		f.draw(p, s, index)
	}
	// Room for the legend above the curves.
	p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.05+0.035*float64(len(f.series)))
	for _, extension := range []string{".png", ".svg"} {
		must.Do(p.Save(7*vg.Inch, 5.2*vg.Inch, path+extension))
	}
}

// draw adds one series: a line through the medians, bars over the quartiles.
func (f *figure) draw(p *plot.Plot, s series, index int) {
	var mid plotter.XYs
	bars := plotter.YErrors{}
	for _, b := range s.bands {
		if !(b.mid > 0) || math.IsInf(b.mid, 1) { // not on a logarithmic axis
			continue
		}
		mid = append(mid, plotter.XY{X: b.x, Y: b.mid})
		low := b.low
		if !(low > 0) {
			low = b.mid
		}
		bars = append(bars, struct{ Low, High float64 }{b.mid - low, b.high - b.mid})
	}
	if len(mid) == 0 {
		return
	}
	line := must.Get(plotter.NewLine(mid))
	line.Width = vg.Points(1.5)
	line.Color = palette(max(index, 0))
	if s.guide || s.bound {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		line.Width = vg.Points(1)
		if s.guide {
			line.Color = color.Gray{110}
		}
		p.Add(line)
		p.Legend.Add(s.name, line)
		return
	}
	marks := must.Get(plotter.NewScatter(mid))
	marks.Color, marks.Radius = line.Color, vg.Points(2.5)
	marks.Shape = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.CrossGlyph{}}[index%6]
	whiskers := must.Get(plotter.NewYErrorBars(struct {
		plotter.XYer
		plotter.YErrorer
	}{mid, bars}))
	whiskers.Color = line.Color
	p.Add(line, whiskers, marks)
	p.Legend.Add(s.name, line, marks)
}
