package runtime_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// roadNetwork is a random road network: links of both directions between places that are near each
// other, flows from each origin to some places, and times that grow with the fourth power of
// how full a link is (Bureau of Public Roads 1964).
type roadNetwork struct {
	nodes        int
	from, to     []int
	free, room   []float64
	origin       []int
	demand       [][]float64 // by node and origin: what leaves less what arrives
	destinations [][]float64 // by origin and node: what arrives
}

func newRoads(seed uint64, nodes, origins int) *roadNetwork {
	r := rand.New(rand.NewPCG(seed, 3))
	n := &roadNetwork{nodes: nodes, demand: make([][]float64, nodes)}
	place := make([][2]float64, nodes)
	for i := range place {
		place[i] = [2]float64{r.Float64(), r.Float64()}
		n.demand[i] = make([]float64, origins)
	}
	apart := func(i, j int) float64 { return math.Hypot(place[i][0]-place[j][0], place[i][1]-place[j][1]) }
	link := func(i, j int) {
		for _, l := range [][2]int{{i, j}, {j, i}} {
			n.from, n.to = append(n.from, l[0]), append(n.to, l[1])
			n.free, n.room = append(n.free, 1+10*apart(i, j)*(0.7+0.6*r.Float64())), append(n.room, 2+6*r.Float64())
		}
	}
	for i := 1; i < nodes; i++ { // to the nearest of those before, and to one or two more
		nearest := 0
		for j := range i {
			if apart(i, j) < apart(i, nearest) {
				nearest = j
			}
		}
		link(i, nearest)
		if other := r.IntN(nodes); other != i && other != nearest {
			link(i, other)
		}
	}
	n.destinations = make([][]float64, origins)
	n.origin = r.Perm(nodes)[:origins]
	for o, i := range n.origin {
		n.destinations[o] = make([]float64, nodes)
		for range 3 {
			if j := r.IntN(nodes); j != i {
				q := (3 + 6*r.Float64()) / float64(origins) // so that no marginal cost is above the bound of tolls
				n.destinations[o][j] += q
				n.demand[j][o] -= q
				n.demand[i][o] += q
			}
		}
	}
	return n
}

func (n *roadNetwork) data() runtime.Data {
	inc := make([][]float64, n.nodes)
	for i := range inc {
		inc[i] = make([]float64, len(n.from))
	}
	for l := range n.from {
		inc[n.from[l]][l], inc[n.to[l]][l] = 1, -1
	}
	return runtime.Data{"nodes": n.nodes, "links": len(n.from), "origins": len(n.origin), "inc": inc, "cap": n.room, "free": n.free, "demand": n.demand}
}

// time is the total time of flows, and marginal what one more of each costs.
func (n *roadNetwork) time(flow []float64) (sum float64, marginal []float64) {
	marginal = make([]float64, len(flow))
	for l, v := range flow {
		full := math.Pow(v/n.room[l], 4)
		sum += n.free[l] * v * (1 + 0.15*full)
		marginal[l] = n.free[l] * (1 + 0.75*full)
	}
	return sum, marginal
}

// shortest sends all along the ways of least cost, found by relaxing links until none gets
// shorter (Bellman and Ford), and returns the flows and what they cost.
func (n *roadNetwork) shortest(cost []float64) (flow []float64, sum float64) {
	flow = make([]float64, len(cost))
	for o, start := range n.origin {
		far, by := make([]float64, n.nodes), make([]int, n.nodes)
		for i := range far {
			far[i], by[i] = math.Inf(1), -1
		}
		far[start] = 0
		for changed := true; changed; {
			changed = false
			for l, c := range cost {
				if d := far[n.from[l]] + c; d < far[n.to[l]] {
					far[n.to[l]], by[n.to[l]], changed = d, l, true
				}
			}
		}
		for j, q := range n.destinations[o] {
			if q == 0 {
				continue
			}
			sum += q * far[j]
			for i := j; i != start; i = n.from[by[i]] {
				flow[by[i]] += q
			}
		}
	}
	return flow, sum
}

// optimum brackets the least total time: flows by the method of Frank and Wolfe, and the
// bound of its linear programs.
func (n *roadNetwork) optimum() (low, high float64) {
	_, marginal := n.time(make([]float64, len(n.from)))
	flow, _ := n.shortest(marginal)
	low = math.Inf(-1)
	for range 3000 {
		value, marginal := n.time(flow)
		next, sum := n.shortest(marginal)
		gap := -sum
		for l, v := range flow {
			gap += marginal[l] * v
		}
		if low, high = math.Max(low, value-gap), value; high-low <= 1e-4*high {
			break
		}
		least, most := 0.0, 1.0
		for range 50 {
			t, slope := (least+most)/2, 0.0
			at := make([]float64, len(flow))
			for l, v := range flow {
				at[l] = v + t*(next[l]-v)
			}
			_, marginal := n.time(at)
			for l, v := range flow {
				slope += marginal[l] * (next[l] - v)
			}
			if slope < 0 {
				least = t
			} else {
				most = t
			}
		}
		for l, v := range flow {
			flow[l] = v + least*(next[l]-v)
		}
	}
	return low, high
}

// Tolls on all roads of random networks, of few origins and of many, are found with a certificate.
// With those of marginal costs total time is the system's optimum, a convex program of its own
// (Beckmann 1956). A toll at its bound closes a road, and F is flat where a road is closed: runs
// may end where one is that the optimum uses.
func TestTollsOnRandomRoads(t *testing.T) {
	t.Parallel()
	model, err := runtime.CompileFile("../bench/field/data/hearn.blv")
	if err != nil {
		t.Fatal(err)
	}
	sizes := [][2]int{{8, 8}, {9, 9}, {10, 3}, {12, 9}, {14, 4}}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for seed, size := range sizes {
		n := newRoads(uint64(seed), size[0], size[1])
		low, high := n.optimum()
		problem, err := model.Bind(n.data(), runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := problem.Verify(r)
		if err != nil {
			t.Fatal(err)
		}
		F := float64(r.Upper.Objective)
		t.Logf("%d nodes, %d links, %d origins: F %.8g, the optimum is from %.8g to %.8g, %d calls", n.nodes, len(n.from), len(n.origin), F, low, high, r.Calls.Total())
		if r.Status != runtime.Solved || !v.OK() {
			t.Errorf("%d nodes, %d origins: %v (%s), verified %v", n.nodes, len(n.origin), r.Status, r.Reason, v.OK())
		}
		// Roads that are closed cost five parts in a thousand on a dozen of such networks.
		if !(F >= low*(1-1e-9) && F <= high*1.01) {
			t.Errorf("%d nodes, %d origins: F %.8g, the optimum is from %.8g to %.8g", n.nodes, len(n.origin), F, low, high)
		}
	}
}

// TestTollsOnFewLinks: the revenue of tolls on a fifth of the links. Most flows move with none of them, and where no toll pays F is 0. A solve on the KKT system is a result, as it
// passes its own verification; and no tolls that are drawn bring more where it is proved.
func TestTollsOnFewLinks(t *testing.T) {
	t.Parallel()
	const model = `model revenue
param nodes: int
param links: int
param origins: int
param tolls: int
data inc: matrix[nodes, links]
data demand: matrix[nodes, origins]
data has: matrix[links, tolls]
data free: vector[links]
data cap: vector[links]
upper {
  var toll: vector[tolls] in box(0, 10)
  maximize (has * toll)' * total
}
lower {
  var flow: matrix[links, origins] in nonneg
  let total = flow * ones(origins)
  minimize (free + has * toll)' * total + sum(total .^ 2 ./ cap) + 0.01 * sum(flow .^ 2)
  subject to
    balance: inc * flow == demand
}
`
	for seed := range members.SeedsOf(t, 12, 60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		nodes, origins := 8+rng.IntN(5), 3
		links, tolls := 4*nodes, 4*nodes/5
		free, room := make([]float64, links), make([]float64, links)
		matrix := func(rows, columns int) [][]float64 {
			return each.Below(rows, func(int) []float64 { return make([]float64, columns) })
		}
		inc, demand, has := matrix(nodes, links), matrix(nodes, origins), matrix(links, tolls)
		for l := range links {
			i, j := l%nodes, (l+1)%nodes // a ring of both directions, and others
			if l >= nodes {
				i, j = j, i
			}
			if l >= 2*nodes {
				i = rng.IntN(nodes)
				j = (i + 1 + rng.IntN(nodes-1)) % nodes
			}
			inc[i][l], inc[j][l] = 1, -1
			free[l], room[l] = 1+4*rng.Float64(), 2+8*rng.Float64()
		}
		for o := range origins {
			i := rng.IntN(nodes)
			q := 1 + 3*rng.Float64()
			demand[i][o], demand[(i+1+rng.IntN(nodes-1))%nodes][o] = q, -q
		}
		for k, l := range rng.Perm(links)[:tolls] {
			has[l][k] = 1
		}
		data := runtime.Data{"nodes": nodes, "links": links, "origins": origins, "tolls": tolls, "inc": inc, "demand": demand, "has": has, "free": free, "cap": room}
		p := bindData(t, model, data)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil || r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d: %v, %s (%s)", seed, err, r.Status, r.Reason)
			continue
		}
		if r.Method != runtime.SystemMethod {
			t.Errorf("seed %d: %s", seed, r.Global.Why)
		}
		toll := make([]float64, tolls)
		for range 10 {
			for k := range toll {
				toll[k] = 10 * rng.Float64() * rng.Float64()
			}
			e, err := p.Evaluate(t.Context(), toll)
			if err != nil {
				t.Fatal(err)
			}
			if best := float64(r.Upper.Objective); r.Global != nil && r.Global.Proved && e.F > best+2e-6*(1+best) {
				t.Errorf("seed %d: proved %v, and %v at %v", seed, best, e.F, toll)
			}
		}
	}
}
