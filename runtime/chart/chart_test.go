package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// awkward are labels and values that break charts which are made of strings.
var (
	awkwardLabels = []string{"plain", `<script>alert("x")</script>`, `"quotes" & 'more'`, "a\x00b\x1f", "\xff\xfe", "Åsa → Ω",
		strings.Repeat("long ", 40), "", "]]>", "&lt;"}
	awkwardValues = []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e-300, 1e300, math.Copysign(0, -1), 3.25}
)

type drawer struct{ r *rand.Rand }

func (d drawer) label() string { return awkwardLabels[d.r.IntN(len(awkwardLabels))] }
func (d drawer) labels(n int) []string {
	out := make([]string, n)
	for k := range out {
		out[k] = d.label()
	}
	return out
}

// values are tame half of the time.
func (d drawer) values(n int) []float64 {
	out := make([]float64, n)
	wild := d.r.IntN(2) == 0
	for k := range out {
		out[k] = d.r.NormFloat64()
		if wild && d.r.IntN(3) == 0 {
			out[k] = awkwardValues[d.r.IntN(len(awkwardValues))]
		}
	}
	return out
}

// charts are one of each kind.
func (d drawer) charts() []Chart {
	n := d.r.IntN(70)
	x := make([]float64, n)
	for k := range x {
		x[k] = float64(k) * 1.5
	}
	lines := &Lines{Title: d.label(), XTitle: d.label(), YTitle: d.label(), LogY: d.r.IntN(2) == 0, Mark: 3, MarkName: d.label()}
	for range d.r.IntN(10) {
		lines.Series = append(lines.Series, Series{Name: d.label(), X: x, Y: d.values(n)})
	}
	if d.r.IntN(2) == 0 {
		lines.Labels = d.labels(n)
	}
	rows, cols := d.r.IntN(60), 1+d.r.IntN(60)
	heat := &Heat{Title: d.label(), Rows: d.labels(rows), Cols: d.labels(cols)}
	for range rows {
		heat.Values = append(heat.Values, d.values(cols))
	}
	nodes := 1 + d.r.IntN(20)
	net := &Network{Title: d.label(), Nodes: d.labels(nodes)}
	for _, v := range d.values(d.r.IntN(50)) {
		net.Arcs = append(net.Arcs, Arc{From: d.r.IntN(nodes), To: d.r.IntN(nodes), Name: d.label(), Value: v})
	}
	return []Chart{lines, heat, net, &Bars{Title: d.label(), Labels: d.labels(n), Values: d.values(n), Notes: d.labels(n)}}
}

// TestRandomCharts draws charts of anything: each is XML by a strict reader, without
// elements that no chart has, with finite coordinates within its box, and in a
// terminal within its width.
func TestRandomCharts(t *testing.T) {
	allowed := map[string]bool{"svg": true, "style": true, "g": true, "line": true, "rect": true, "text": true, "title": true, "path": true, "circle": true}
	for seed := range uint64(100) {
		for _, c := range (drawer{rand.New(rand.NewPCG(seed, 1))}).charts() {
			name := fmt.Sprintf("seed %d, %T", seed, c)
			var box [2]float64
			dec := xml.NewDecoder(strings.NewReader(Standalone(c)))
			for {
				token, err := dec.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, c.SVG())
				}
				start, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				if !allowed[start.Name.Local] {
					t.Fatalf("%s: <%s>", name, start.Name.Local)
				}
				for _, a := range start.Attr {
					if a.Name.Local == "viewBox" {
						fmt.Sscanf(a.Value, "0 0 %g %g", &box[0], &box[1])
					}
					if !strings.Contains(" x y x1 y1 x2 y2 cx cy width height r fill-opacity ", " "+a.Name.Local+" ") {
						continue
					}
					v, err := strconv.ParseFloat(a.Value, 64)
					if most := math.Max(box[0], box[1]) + 1; err != nil || !finite(v) || math.Abs(v) > most {
						t.Fatalf("%s: %s=%q in a box of %v", name, a.Name.Local, a.Value, box)
					}
				}
			}
			for _, columns := range []int{MinWidth, 80, 200} {
				var b strings.Builder
				if err := c.Text(&b, columns); err != nil {
					t.Fatal(err)
				}
				for k, line := range strings.Split(b.String(), "\n") {
					if n := len([]rune(line)); k > 0 && n > columns && !strings.Contains(line, "long ") {
						t.Fatalf("%s: a line of %d in %d columns: %q", name, n, columns, line)
					}
				}
			}
		}
	}
}

// TestChartsOfManyValues bounds what large values make of a page, and finds their
// extremes in it all the same.
func TestChartsOfManyValues(t *testing.T) {
	const n, mostBytes = 200_000, 3 << 20
	r := rand.New(rand.NewPCG(5, 6))
	x, y := make([]float64, n), make([]float64, n)
	for k := range y {
		x[k], y[k] = float64(k), r.NormFloat64()
	}
	y[n/3], y[n/2] = 50, -60
	heat := &Heat{Title: "heat"}
	for i := range 500 {
		heat.Rows, heat.Cols = append(heat.Rows, strconv.Itoa(i)), append(heat.Cols, strconv.Itoa(i))
		heat.Values = append(heat.Values, y[500*i%1000:][:500])
	}
	lines := &Lines{Title: "lines", Mark: math.NaN(), Series: []Series{{Name: "y", X: x, Y: y}}}
	for _, c := range []Chart{heat, lines} {
		if size := len(c.SVG()); size > mostBytes {
			t.Errorf("%T takes %d bytes", c, size)
		}
	}
	s := lines.thinned(lines.Series[0])
	lo, hi, _ := extent(s.Y)
	if len(s.Y) > 2*pageWidth || lo != -60 || hi != 50 {
		t.Errorf("%d points from %v to %v", len(s.Y), lo, hi)
	}
}

// TestTicks holds ticks to round places inside their scale.
func TestTicks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		lo := r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
		hi := lo + math.Abs(r.NormFloat64())*math.Pow(10, float64(r.IntN(40)-20))
		s := newScale(lo, hi, 0, 100, false, true)
		ticks := s.ticks(5)
		for k, v := range ticks {
			if p := s.at(v); !(p >= -1e-6 && p <= 100+1e-6) {
				t.Fatalf("tick %v of [%v, %v] at %v", v, lo, hi, p)
			}
			if k > 0 && !(v > ticks[k-1]) {
				t.Fatalf("ticks %v", ticks)
			}
		}
		if hi-lo > 1e-6*math.Abs(lo) && (len(ticks) < 2 || len(ticks) > 12) {
			t.Fatalf("%d ticks in [%v, %v]", len(ticks), lo, hi)
		}
	}
}

// TestBarsAreInProportion reads the lengths of bars back from the drawing.
func TestBarsAreInProportion(t *testing.T) {
	b := &Bars{Title: "b", Labels: []string{"one", "two", "minus"}, Values: []float64{1, 2, -3}}
	var lengths []float64
	dec := xml.NewDecoder(strings.NewReader(string(b.SVG())))
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			for _, a := range e.Attr {
				if a.Name.Local == "width" {
					v, _ := strconv.ParseFloat(a.Value, 64)
					lengths = append(lengths, v)
				}
			}
		}
	}
	// Coordinates are rounded to a hundredth of a pixel.
	if len(lengths) != 3 || math.Abs(lengths[1]-2*lengths[0]) > 0.03 || math.Abs(lengths[2]-3*lengths[0]) > 0.04 {
		t.Errorf("lengths %v of the values %v", lengths, b.Values)
	}
}

// TestNetworkLayout puts the nodes of a path in the order of the path.
func TestNetworkLayout(t *testing.T) {
	n := &Network{Nodes: []string{"a", "b", "c", "d", "e"}, Arcs: []Arc{{From: 3, To: 1}, {From: 1, To: 4}, {From: 4, To: 0}, {From: 0, To: 2}}}
	at, _ := n.layout()
	path := []int{3, 1, 4, 0, 2}
	rising := at[path[1]][0] > at[path[0]][0]
	for k := 1; k < len(path); k++ {
		if at[path[k]][0] > at[path[k-1]][0] != rising {
			t.Errorf("the path is folded: %v", at)
		}
	}
}

// What rounding leaves of 0 draws no negative side: a heat map of values from 0 on has
// the legend and the digits of such.
func TestRoundingIsZero(t *testing.T) {
	draw := func(v float64) string {
		h := &Heat{Title: "flow", Rows: []string{"a", "b"}, Cols: []string{"c"}, Values: [][]float64{{v}, {5}}}
		return titles.ReplaceAllString(string(h.SVG()), "")
	}
	if got, want := draw(-7e-15), draw(0); got != want {
		t.Errorf("-7e-15 is drawn as\n%s\n0 as\n%s", got, want)
	}
	if draw(-1e-3) == draw(0) {
		t.Error("-0.001 is drawn as 0")
	}
}

var titles = regexp.MustCompile(`<title>[^<]*</title>|aria-label="[^"]*"`)
