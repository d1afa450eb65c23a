package bind

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// TestExpandedTerms: functions that call each other, sums within sums and sums over
// many indices are refused exactly where they expand to more than the limit, counted
// here by the recursion of their sizes, in memory for what the limit allows; functions before any of them is inlined.
func TestExpandedTerms(t *testing.T) {
	const (
		steps  = 1 << 19
		tuples = 1 << 22
	)
	rng := rand.New(rand.NewPCG(33, 10))
	refused, taken := 0, 0
	for trial := range 30 {
		var pre strings.Builder
		expression, size, limit := "x", 1.0, 0.0
		if trial%3 == 0 {
			limit = steps
			fmt.Fprintln(&pre, "fn f0(u) = u * u")
			size = 3 // expressions of the body
			for k := range 4 + rng.IntN(20) {
				k++ // f0 is there
				calls := 1 + rng.IntN(3)
				terms := make([]string, calls)
				for c := range terms {
					terms[c] = fmt.Sprintf("f%d(u + %d)", k-1, c)
				}
				fmt.Fprintf(&pre, "fn f%d(u) = %s\n", k, strings.Join(terms, " + "))
				size = float64(calls)*(size+1+3) + float64(calls-1) // the call, u, the number, their sum; the sums of the calls
				expression = fmt.Sprintf("f%d(x)", k)
			}
		} else {
			limit = tuples
			depth, all := 6+rng.IntN(18), 1.0
			size = 0
			between, open := ": sum(", depth
			if trial%3 == 2 {
				between, open = ", ", 1
			}
			var binders []string
			for k := range depth {
				n := 1 + rng.IntN(4)
				all *= float64(n)
				size += all
				binders = append(binders, fmt.Sprintf("i%d in 1..%d", k, n))
			}
			expression = "sum(" + strings.Join(binders, between) + ": x" + strings.Repeat(")", open)
		}
		text := fmt.Sprintf("model m\n%supper {\n var x: real in box(0, 1)\n minimize %s\n}\nlower {\n var y: real\n minimize (y - x)^2\n}\n",
			pre.String(), expression)
		p := compile(t, "m.blv", text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs := Bind(p, nil, Options{Abstract: true})
		runtime.ReadMemStats(&after)
		most := 200.0
		if limit == steps {
			most = 2
		}
		if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > most && errs.HasErrors() {
			t.Errorf("%.0f MB allocated in all for a model that is refused\n%s", mb, text)
		}
		switch beyond := errs.HasErrors(); {
		case beyond && (errs[0].Code != diag.BindTooLarge || errs[0].Subject.IsZero()):
			t.Errorf("%v\n%s", errs, text)
		case size > limit+20 && !beyond: // what the rest of the model has
			t.Errorf("%v expressions or tuples, and no error\n%s", size, text)
		case size < limit-40 && beyond:
			t.Errorf("%v expressions or tuples, and %v\n%s", size, errs, text)
		case beyond:
			refused++
		default:
			taken++
		}
	}
	if refused < 5 || taken < 5 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}

// What is counted before a function is inlined is no more than what inlining it elaborates, and most of it.
func TestCountedBeforeTheyAreInlined(t *testing.T) {
	var counted, elaborated int
	for seed := range uint64(60) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 33))}
		text := strings.Builder{}
		text.WriteString(randomHead)
		for k := range 20 {
			fmt.Fprintf(&text, "  r%d = %s\n", k, g.scalar(1+g.IntN(4)))
		}
		p := compile(t, "random.blv", text.String()+"}\n")
		b := newBinder(p, &data.Set{}, Options{Seed: seed}, 0, maxEntries)
		if !b.allInputs() || !b.allVariables(b.prob) {
			t.Fatal(b.list)
		}
		b.reporting = true
		for _, item := range p.Report.Items {
			before, least := b.steps, b.top().least(item.Value)
			if b.top().expr(item.Value); least > b.steps-before {
				t.Errorf("%d expressions at least, but %d\n%s", least, b.steps-before, item.Value.Span().Text())
			}
			counted, elaborated = counted+least, elaborated+b.steps-before
		}
	}
	if 2*counted < elaborated {
		t.Errorf("%d expressions at least, of %d", counted, elaborated)
	}
}

// A double sum takes a few lists of its tuples: the indices, the places of what it reads, and the coefficients.
func TestMemoryOfTuples(t *testing.T) {
	const n = 700
	p := compile(t, "m.blv", fmt.Sprintf("model m\nupper {\n var x: vector[%d] in box(0, 1)\n minimize sum(i in 1..%d, j in 1..%d: x[i] * x[j])\n}\nlower {\n var y: real\n minimize (y - x[1])^2\n}\n", n, n, n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, errs := Bind(p, nil, Options{})
	runtime.ReadMemStats(&after)
	if each := float64(after.TotalAlloc-before.TotalAlloc) / (n * n); errs.HasErrors() || each > 140 {
		t.Errorf("%.0f bytes for each tuple, %v", each, errs)
	}
}

// TestConstantsThatAreComputed: products of data with data, functions of it and vectors that double are refused
// exactly where they take more than the limits allow, counted here from their sizes, as one error, before they are computed.
func TestConstantsThatAreComputed(t *testing.T) {
	const (
		one      = 1 << 24 // entries of an array
		entries  = 1 << 25
		products = 1 << 33 // multiply-adds
	)
	rng := rand.New(rand.NewPCG(33, 13))
	refused, taken := 0, 0
	for trial := range 60 {
		var pre, expression string
		beyond := false
		k := 1 + rng.IntN(12)
		switch trial % 6 {
		case 0: // a chain of square matrices, in whatever order
			n := 400 + rng.IntN(1500)
			expression = "sum(" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("ones(%d, %d) * ", n, n), k+1), " * ") + ")"
			beyond = k*n*n*n > products || (k+1)*n*n+k*n*n > entries
		case 1: // functions of functions
			n := 100_000 + rng.IntN(3_000_000)
			expression = "sum(" + strings.Repeat("exp(-", k) + fmt.Sprintf("ones(%d)", n) + strings.Repeat(")", k) + ")"
			beyond = (2*k+1)*n > entries
		case 2: // many arrays
			n := 500_000 + rng.IntN(3_000_000)
			for j := range k {
				expression += fmt.Sprintf(" + sum(ones(%d))", n+j)
			}
			expression = strings.TrimPrefix(expression, " + ")
			beyond = k*n+k*(k-1)/2 > entries
		case 3: // a vector that is put behind itself
			k += 14
			pre, expression = "let v0 = ones(1)\n", fmt.Sprintf("sum(v%d)", k)
			for j := range k {
				pre += fmt.Sprintf("let v%d = [v%d, v%d]\n", j+1, j, j)
			}
			beyond = 1<<k > one || 2<<k-1+1<<k-2 > entries // both halves are put into zeros, and added
		case 4: // sums of many tuples, of which each has its value and its place
			n := 500_000 + rng.IntN(3_000_000)
			for j := range k {
				expression += fmt.Sprintf(" + sum(i in 1..%d: x)", n+j)
			}
			expression = strings.TrimPrefix(expression, " + ")
			beyond = 2*(k*n+k*(k-1)/2) > entries
		case 5: // two matrices of an inner size of their own
			n, m := 2000+rng.IntN(1500), 50+rng.IntN(3000)
			expression = fmt.Sprintf("sum(ones(%d, %d) * ones(%d, %d))", n, m, m, n)
			beyond = n*n*m > products || 2*n*m+n*n > entries
		}
		text := "model m\n" + pre + "upper {\n var x: real in box(0, 1)\n minimize x * (" + expression + ")\n}\nlower {\n var y: real\n minimize (y - x)^2\n}\n"
		p := compile(t, "m.blv", text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs := Bind(p, nil, Options{Abstract: true})
		runtime.ReadMemStats(&after)
		text = text[:min(len(text), 300)]
		switch mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; {
		case beyond != errs.HasErrors():
			t.Errorf("beyond the limits: %v, and %v\n%s", beyond, errs, text)
		case !beyond:
			taken++
		case len(errs) != 1 || errs[0].Code != diag.BindTooLarge || errs[0].Subject.IsZero():
			t.Errorf("%v\n%s", errs, text)
		case mb > 600: // both vectors of the last doubling, their places, and all that was allocated meanwhile
			t.Errorf("%.0f MB allocated in all for a model that is refused\n%s", mb, text)
		default:
			refused++
		}
	}
	if refused < 10 || taken < 10 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}

// TestRowsOverIndices: families of constraints are refused at the first whose rows are
// beyond the limit, which grows with what is supplied; the rows are counted here.
func TestRowsOverIndices(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 12))
	refused, taken := 0, 0
	for range 200 {
		const most = 1000
		supplied := rng.IntN(60)
		values := strings.TrimSuffix(strings.Repeat("1, ", supplied), ", ")
		set, list := datafile.Read(datafile.JSON, "v.json", fmt.Sprintf(`{"n": %d, "v": [%s]}`, supplied, values), "")
		if list.HasErrors() {
			t.Fatal(list)
		}
		left, first := most+4*(supplied+1), "" // the number n, too
		var families strings.Builder
		for k := range 1 + rng.IntN(16) {
			n, m, links := 1+rng.IntN(12), 1+rng.IntN(12), 1+rng.IntN(2)
			y, side := "y[1]", "x + i + j"
			rows := n * m * links
			if rng.IntN(2) == 0 {
				y, side = "y", "x * [1, i, j]"
				rows *= 3
			}
			chain := y + " >= -" + side
			if links == 2 {
				chain = side + " >= " + chain
			}
			if rng.IntN(3) == 0 { // half of the tuples, whatever those are
				fmt.Fprintf(&families, "  c%d: forall i in 1..%d, j in 1..%d if j <= %d: %s\n", k, n, 2*m, m, chain)
			} else {
				fmt.Fprintf(&families, "  c%d: forall i in 1..%d, j in 1..%d: %s\n", k, n, m, chain)
			}
			if left -= rows; left < 0 && first == "" {
				first = fmt.Sprintf("c%d", k)
			}
		}
		text := "model m\nparam n: int\ndata v: vector[n]\nupper {\n var x: real in box(0, 1)\n minimize x + sum(v)\n}\nlower {\n var y: vector[3]\n minimize sumsq(y - x)\n subject to\n" +
			families.String() + "}\n"
		_, errs := run(compile(t, "m", text), set, Options{}, 0, most)
		switch {
		case first == "" && errs.HasErrors(), first != "" && !errs.HasErrors():
			t.Fatalf("%d rows left, and %v\n%s", left, errs, text)
		case first == "":
			taken++
		case errs[0].Code != diag.BindTooLarge || !strings.HasPrefix(errs[0].Subject.Text(), first+":"):
			t.Fatalf("%v, not at %s\n%s", errs, first, text)
		default:
			refused++
		}
	}
	if refused < 40 || taken < 40 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}

// TestRowsOfKinks: what is restated by rows is refused at the first kink whose rows are beyond the limit, with those over indices.
func TestRowsOfKinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 15))
	refused, taken := 0, 0
	for range 100 {
		const most = 1000
		m := 1 + rng.IntN(100)
		left, first, terms := most-m, "", ""
		for k := range 1 + rng.IntN(32) {
			n := 1 + rng.IntN(60)
			kink := fmt.Sprintf("abs(z[1..%d] - %d)", n, k)
			if rng.IntN(2) == 0 {
				kink = fmt.Sprintf("max(z[1..%d], %d)", n, k)
			}
			terms += " + sum(" + kink + ")"
			if left -= 2 * n; left < 0 && first == "" {
				first = kink
			}
		}
		text := fmt.Sprintf("model m\nupper {\n var x: real in box(0, 1)\n minimize x + sum(z)\n}\nlower {\n var z: vector[100]\n minimize sumsq(z - x)%s\n subject to\n  forall i in 1..%d: z[i] <= x\n}\n", terms, m)
		_, errs := run(compile(t, "m", text), &data.Set{}, Options{}, 0, most)
		if refusedAt(t, errs, first, left, text) {
			refused++
		} else {
			taken++
		}
	}
	if refused < 15 || taken < 15 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}

// refusedAt reports whether a model is too large, which it has to be at its part first, and is not where that is none.
func refusedAt(t *testing.T, errs diag.List, first string, left int, text string) bool {
	t.Helper()
	switch {
	case (first != "") != errs.HasErrors():
		t.Fatalf("%d left, and %v\n%s", left, errs, text)
	case first != "" && (errs[0].Code != diag.BindTooLarge || errs[0].Subject.Text() != first):
		t.Fatalf("%v, not at %s\n%s", errs, first, text)
	}
	return first != ""
}

// TestEntriesOfVariables: variables are refused at the first that takes those of both levels beyond the limit, which grows with what is supplied.
func TestEntriesOfVariables(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 14))
	refused, taken := 0, 0
	for range 200 {
		const most = 1000
		supplied := rng.IntN(60)
		set, list := datafile.Read(datafile.JSON, "v.json", fmt.Sprintf(`{"n": %d, "v": [%s]}`, supplied, strings.TrimSuffix(strings.Repeat("1, ", supplied), ", ")), "")
		if list.HasErrors() {
			t.Fatal(list)
		}
		left, first, levels := most+4*(supplied+1), "", [2]string{}
		for k := range 2 + rng.IntN(10) {
			n, m := 1+rng.IntN(40), 1+rng.IntN(12)
			level := min(k, 1)
			if k == 0 {
				m = 1
			}
			levels[level] += fmt.Sprintf("  var z%d: matrix[%d, %d] in box(0, 1)\n", k, n, m)
			if left -= n * m; left < 0 && first == "" {
				first = fmt.Sprintf("matrix[%d, %d]", n, m)
			}
		}
		text := "model m\nparam n: int\ndata v: vector[n]\nupper {\n" + levels[0] + " minimize sum(z0) + sum(v)\n}\nlower {\n" + levels[1] + " minimize sumsq(z1)\n}\n"
		_, errs := run(compile(t, "m", text), set, Options{}, 0, most)
		if refusedAt(t, errs, first, left, text) {
			refused++
		} else {
			taken++
		}
	}
	if refused < 40 || taken < 40 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}

// A matrix that is the same for all tuples multiplies what differs from one to the next in one product, on either side, which takes no more than its factors and its result.
func TestOneMatrixForAllTuples(t *testing.T) {
	const most = 1000 // entries: 15 tuples of 20, a matrix of 400, and not their 6,000 products
	for _, c := range []struct {
		product string
		fits    bool
	}{
		{"A * M[i, :]'", true},
		{"M[i, :] * A", true},
		{"(A * x[1]) * M[i, :]'", true},
		{"(A + i * A) * M[i, :]'", false}, // another matrix for each
	} {
		text := "model products\ndata A: matrix[20, 20] ~ normal(0, 1)\ndata M: matrix[15, 20] ~ normal(0, 1)\nupper {\n var x: vector[2] in box(0, 1)\n minimize sum(i in 1..15: sumsq(" +
			c.product + "))\n}\nlower {\n var y: real\n minimize (y - x[1])^2\n}\n"
		_, errs := run(compile(t, "products", text), &data.Set{}, Options{Seed: 1}, 0, most)
		switch {
		case c.fits && errs.HasErrors():
			t.Errorf("%s: %v", c.product, errs)
		case !c.fits && (!errs.HasErrors() || errs[0].Code != diag.BindTooLarge):
			t.Errorf("%s is no larger than %d entries: %v", c.product, most, errs)
		}
	}
}

// An index that is outside of an array at one of the tuples says at which.
func TestWhereAnIndexIsOutside(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 11))
	for range 20 {
		n, by := 2+rng.IntN(5), 1+rng.IntN(3)
		set, list := datafile.Read(datafile.JSON, "sizes.json", fmt.Sprintf(`{"n": %d, "by": %d}`, n, by), "")
		if list.HasErrors() {
			t.Fatal(list)
		}
		bound := func(term string) diag.List {
			text := "model m\nparam n: int\nparam by: int\ndata v: vector[n] ~ normal(0, 1)\nupper {\n var x: real in box(0, 1)\n minimize x + " + term + "\n}\nlower {\n var y: real\n minimize (y - x)^2\n}\n"
			_, errs := Bind(compile(t, "m", text), set, Options{Seed: 1})
			return errs
		}
		errs := bound("sum(i in 1..n: v[i + by])")
		first := n - by + 1 // the first i for which i + by is beyond n
		if first < 1 {
			first = 1
		}
		if want := fmt.Sprintf("This happens where i = %d.", first); len(errs) == 0 || errs[0].Code != diag.BindIndex || !strings.Contains(errs[0].Detail, want) {
			t.Errorf("%v: %q, not %q", errs, errs[0].Detail, want)
		}
		errs = bound("v[n + by]")
		if want := fmt.Sprintf("`v` has %d entries along this dimension.", n); len(errs) == 0 || errs[0].Detail != want {
			t.Errorf("%v: %q, not %q", errs, errs[0].Detail, want)
		}
	}
}
