package chart

import (
	"fmt"
	"html/template"
	"io"
	"math"

	"bilevelc/internal/each"
)

// Arc goes from one node to another, both counted from 0.
type Arc struct {
	From, To int
	Name     string
	Value    float64
}

// Network is values on the arcs of a directed graph: the wider an arc the greater its
// value.
type Network struct {
	Title string
	Nodes []string
	Arcs  []Arc
}

// Fits reports that a page can show a network of so many nodes and arcs, four a node.
func Fits(nodes, arcs int) bool { return nodes <= 2*Apart && arcs <= 8*Apart }

// SVG implements Chart. Names of three letters at most fit into nodes; margins have room for longer ones above, and for arcs that bend.
func (n *Network) SVG() template.HTML {
	at, height := n.layout()
	c := &canvas{width: pageWidth, height: height}
	c.text("strong", "start", 0, 14, n.Title)
	finiteArcs := each.Where(n.Arcs, func(a Arc) bool { return finite(a.Value) })
	most := each.Largest(finiteArcs, func(a Arc) float64 { return math.Abs(a.Value) })
	radius := font
	if len(n.Nodes) > Apart/2 {
		radius = 5
	}
	type label struct {
		x, y  float64
		words string
	}
	var labels []label
	for _, a := range n.Arcs {
		from, to := at[a.From], at[a.To]
		dx, dy := to[0]-from[0], to[1]-from[1]
		d := math.Hypot(dx, dy)
		if d == 0 {
			continue // a loop carries nothing between nodes
		}
		ux, uy := dx/d, dy/d
		// Each arc bends to its own right, so that one and its opposite stay apart.
		bend := math.Min(26, 0.12*d)
		mx, my := (from[0]+to[0])/2-uy*bend, (from[1]+to[1])/2+ux*bend
		class, size := "a", 0.75
		switch {
		case !finite(a.Value), a.Value == 0, most == 0:
			class = ""
		default:
			size = 1 + 5*math.Abs(a.Value)/most
			if a.Value < 0 {
				class = "b"
			}
		}
		// The arc ends where the circle of the node begins, along its own direction.
		sx, sy := towards(from, mx, my, radius)
		head := 5 + size
		ex, ey := towards(to, mx, my, radius+head)
		tx, ty := towards(to, mx, my, radius)
		title := escape(a.Name + ": " + exact(a.Value))
		line := "l" + class
		if class == "" {
			line = "none"
		}
		fmt.Fprintf(&c.b, `<path class="%s" style="stroke-width:%s" d="M%s %sQ%s %s %s %s"><title>%s</title></path>`,
			line, px(size), px(sx), px(sy), px(mx), px(my), px(ex), px(ey), title)
		if class != "" {
			hx, hy := tx-ex, ty-ey
			l := math.Hypot(hx, hy)
			hx, hy = hx/l, hy/l
			half := 2 + 0.75*size
			fmt.Fprintf(&c.b, `<path class="f%s" d="M%s %sL%s %sL%s %sZ"/>`, class, px(tx), px(ty),
				px(ex-hy*half), px(ey+hx*half), px(ex+hy*half), px(ey-hx*half))
		}
		if len(n.Arcs) <= Apart && class != "" {
			labels = append(labels, label{(sx+2*mx+ex)/4 - uy*4, (sy+2*my+ey)/4 + ux*4 + 4, Number(a.Value, 3)})
		}
	}
	for _, l := range labels {
		c.text("halo", "middle", l.x, l.y, l.words)
	}
	for k, name := range n.Nodes {
		fmt.Fprintf(&c.b, `<circle class="node" cx="%s" cy="%s" r="%s"><title>%s</title></circle>`,
			px(at[k][0]), px(at[k][1]), px(radius), escape(name))
		switch {
		case radius < font:
		case len([]rune(name)) <= 3:
			c.text("", "middle", at[k][0], at[k][1]+4, name)
		default:
			c.text("halo strong", "middle", at[k][0], at[k][1]-radius-4, cut(name, 18))
		}
	}
	return c.svg(fmt.Sprintf("%s: a network of %d nodes and %d arcs", n.Title, len(n.Nodes), len(n.Arcs)))
}

// towards is the point at a distance from a on the way to (x, y).
func towards(a [2]float64, x, y, distance float64) (float64, float64) {
	d := math.Hypot(x-a[0], y-a[1])
	if d == 0 {
		return a[0], a[1]
	}
	t := math.Min(1, distance/d)
	return a[0] + t*(x-a[0]), a[1] + t*(y-a[1])
}

// layout places the nodes so that their distances are as near as can be to those in
// the graph: stress majorization (Gansner, Koren, North 2004), from nodes on a circle.
func (n *Network) layout() (at [][2]float64, height float64) {
	count := len(n.Nodes)
	apart := n.distances()
	at = make([][2]float64, count)
	for k := range at {
		// Where opposite nodes of the circle are the same, a spiral tells them apart.
		angle, radius := 2*math.Pi*float64(k)/float64(max(1, count)), 1+0.3*float64(k)/float64(max(1, count))
		at[k] = [2]float64{radius * math.Cos(angle), radius * math.Sin(angle)}
	}
	for range 300 {
		moved := 0.0
		for i := range at {
			var x, y, weights float64
			for j := range at {
				if i == j {
					continue
				}
				w := 1 / (apart[i][j] * apart[i][j])
				dx, dy := at[i][0]-at[j][0], at[i][1]-at[j][1]
				d := math.Max(1e-9, math.Hypot(dx, dy))
				x += w * (at[j][0] + apart[i][j]*dx/d)
				y += w * (at[j][1] + apart[i][j]*dy/d)
				weights += w
			}
			if weights == 0 {
				continue
			}
			x, y = x/weights, y/weights
			moved = math.Max(moved, math.Hypot(x-at[i][0], y-at[i][1]))
			at[i] = [2]float64{x, y}
		}
		if moved < 1e-4 {
			break
		}
	}
	return fit(at)
}

// distances are the numbers of arcs between nodes, either way; nodes of different
// parts are as far apart as the longest path and two more.
func (n *Network) distances() [][]float64 {
	count := len(n.Nodes)
	near := make([][]int, count)
	for _, a := range n.Arcs {
		near[a.From], near[a.To] = append(near[a.From], a.To), append(near[a.To], a.From)
	}
	apart := make([][]float64, count)
	longest := 0.0
	for i := range apart {
		apart[i] = each.Below(count, func(int) float64 { return math.Inf(1) })
		apart[i][i] = 0
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			k := queue[0]
			longest = math.Max(longest, apart[i][k])
			for _, j := range near[k] {
				if math.IsInf(apart[i][j], 1) {
					apart[i][j] = apart[i][k] + 1
					queue = append(queue, j)
				}
			}
		}
	}
	for i := range apart {
		for j, d := range apart[i] {
			if math.IsInf(d, 1) {
				apart[i][j] = longest + 2
			}
		}
	}
	return apart
}

// fit turns points so that they are wide, and moves them onto the canvas.
func fit(at [][2]float64) (placed [][2]float64, height float64) {
	if len(at) == 0 {
		return at, 6 * font
	}
	var mx, my float64
	for _, p := range at {
		mx, my = mx+p[0]/float64(len(at)), my+p[1]/float64(len(at))
	}
	var xx, xy, yy float64
	for _, p := range at {
		x, y := p[0]-mx, p[1]-my
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	angle := math.Atan2(2*xy, xx-yy) / 2
	cos, sin := math.Cos(angle), math.Sin(angle)
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for k, p := range at {
		x, y := p[0]-mx, p[1]-my
		at[k] = [2]float64{x*cos + y*sin, -x*sin + y*cos}
		for d := range 2 {
			lo[d], hi[d] = math.Min(lo[d], at[k][d]), math.Max(hi[d], at[k][d])
		}
	}
	title, margin := 2*font, 3*font
	size := [2]float64{pageWidth - 2*margin, 2*lowHeight - 2*margin - title}
	share := lowHeight / 2 // of an arc, where there are few
	for d := range 2 {
		if extent := hi[d] - lo[d]; extent > 1e-9 {
			share = math.Min(share, size[d]/extent)
		}
	}
	// Arcs bend by less than the margin on top of it.
	height = title + 3*margin + share*(hi[1]-lo[1])
	for k, p := range at {
		at[k] = [2]float64{pageWidth/2 + share*(p[0]-(lo[0]+hi[0])/2), title + (height-title)/2 + share*(p[1]-(lo[1]+hi[1])/2)}
	}
	return at, height
}

// Text implements Chart: the arcs as bars.
func (n *Network) Text(w io.Writer, columns int) error {
	b := &Bars{Title: n.Title}
	for _, a := range n.Arcs {
		b.Labels = append(b.Labels, n.Nodes[a.From]+" → "+n.Nodes[a.To])
		b.Values = append(b.Values, a.Value)
	}
	return b.Text(w, columns)
}
