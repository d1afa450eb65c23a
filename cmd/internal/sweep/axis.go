package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
)

// Axis is one thing that a sweep varies. Name is a param or data of the model, or one
// of Settings.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// mostValues bounds the values of one axis, and mostJobs the jobs of a sweep, each of
// which is a file: far above what is of use, and below what a folder or a slip of the
// hand would make.
const (
	mostValues = 1_000_000
	mostJobs   = 1_000_000
)

// ParseAxis reads NAME=VALUES. VALUES are
//
//	1:10:1        from 1 to 10 in steps of 1, both ends included
//	1..20         the whole numbers from 1 to 20
//	a,b,c         a list; [..] with commas inside counts as one value
func ParseAxis(text string) (axis Axis, err error) {
	defer must.Catch(&err)
	name, values, ok := strings.Cut(text, "=")
	name, values = strings.TrimSpace(name), strings.TrimSpace(values)
	must.Be(ok && name != "" && values != "", "%q is not NAME=VALUES, such as cap=1:10:1, seed=1..20 or method=pgd,goldstein", text)
	axis.Name = name
	err = must.Try(func() { axis.Values = expand(values) })
	must.Be(err == nil, "%s: %w", name, err)
	axis.check()
	return axis, nil
}

func expand(text string) []string {
	if from, to, ok := strings.Cut(text, ".."); ok && !strings.Contains(text, ",") {
		return wholes(from, to)
	}
	if parts := strings.Split(text, ":"); len(parts) == 3 && !strings.Contains(text, ",") {
		return steps(parts)
	}
	var list []string
	depth, begin := 0, 0
	for i, r := range text {
		switch {
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == ',' && depth == 0:
			list = append(list, strings.TrimSpace(text[begin:i]))
			begin = i + 1
		}
	}
	return append(list, strings.TrimSpace(text[begin:]))
}

func wholes(from, to string) []string {
	a, err := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
	b, err2 := strconv.ParseInt(strings.TrimSpace(to), 10, 64)
	must.Be(err == nil && err2 == nil, "%s..%s is not a range of whole numbers, such as 1..20", from, to)
	must.Be(a <= b, "%d..%d is empty", a, b)
	must.Be(uint64(b)-uint64(a) < mostValues, "%d..%d has more than the %d values that an axis may have", a, b, mostValues)
	return each.Below(int(b-a)+1, func(k int) string { return strconv.FormatInt(a+int64(k), 10) })
}

// steps lists from + k step. The last value counts where it is beyond the end by
// rounding alone.
func steps(parts []string) []string {
	var v [3]float64
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		must.Be(err == nil && !math.IsNaN(f) && !math.IsInf(f, 0), "%s is not FROM:TO:STEP in numbers", strings.Join(parts, ":"))
		v[i] = f
	}
	count := math.Floor((v[1]-v[0])/v[2]*(1+1e-12) + 1e-9)
	must.Be(v[2] != 0 && count >= 0, "from %v to %v in steps of %v there is nothing", v[0], v[1], v[2])
	must.Be(count < mostValues, "from %v to %v in steps of %v are more than the %d values that an axis may have", v[0], v[1], v[2], mostValues)
	// Decimal steps are meant as decimals: 1:2:0.1 has 1.3, not 1.3000000000000003.
	digits := max(decimals(parts[0]), decimals(parts[2]))
	return each.Below(int(count)+1, func(k int) string {
		f := v[0] + float64(k)*v[2]
		if digits < exponent {
			f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	})
}

// exponent stands for the digits of a number that is written with one.
const exponent = 1 << 30

// decimals is the digits behind the point.
func decimals(text string) int {
	if strings.ContainsAny(text, "eE") {
		return exponent
	}
	_, behind, _ := strings.Cut(strings.TrimSpace(text), ".")
	return len(behind)
}

func (a Axis) check() {
	must.Be(len(a.Values) > 0, "%s has no values", a.Name)
	must.Be(len(a.Values) <= mostValues, "%s has more than the %d values that an axis may have", a.Name, mostValues)
	seen := map[string]bool{}
	for _, v := range a.Values {
		must.Be(v != "", "%s has an empty value", a.Name)
		must.Be(!seen[v], "%s has the value %s twice", a.Name, v)
		seen[v] = true
		if a.Name == "seed" || a.Name == "start" {
			least := uint64(0)
			if a.Name == "start" {
				least = 1
			}
			n, err := strconv.ParseUint(v, 10, 63)
			must.Be(err == nil && n >= least, "%s is a whole number of at least %d, not %s", a.Name, least, v)
		}
	}
}

// Draw is an axis of which each job has a random value.
type Draw struct {
	Name     string
	Law      string // uniform, loguniform, normal or integer
	Low, Top float64
}

// ParseDraw reads NAME=LAW(A,B): uniform(A,B), loguniform(A,B), integer(A,B) between
// the two, normal(A,B) of mean A and standard deviation B.
func ParseDraw(text string) (d Draw, err error) {
	defer must.Catch(&err)
	name, law, ok := strings.Cut(text, "=")
	kind, rest, open := strings.Cut(strings.TrimSpace(law), "(")
	args := strings.Split(strings.TrimSuffix(rest, ")"), ",")
	d = Draw{Name: strings.TrimSpace(name), Law: kind}
	hold := func(so bool) {
		must.Be(so, "%q is not NAME=LAW(A,B) with one of the laws uniform, loguniform, integer and normal", text)
	}
	hold(ok && open && strings.HasSuffix(rest, ")") && len(args) == 2 && d.Name != "" && !slices.Contains([]string{"method", "oracle", "solver", "data"}, d.Name))
	for i, to := range []*float64{&d.Low, &d.Top} {
		f, err := strconv.ParseFloat(strings.TrimSpace(args[i]), 64)
		hold(err == nil && !math.IsNaN(f) && !math.IsInf(f, 0))
		*to = f
	}
	bad := d.Top < d.Low
	switch d.Law {
	case "uniform":
	case "loguniform":
		bad = bad || d.Low <= 0
	case "integer":
		bad = bad || d.Low != math.Trunc(d.Low) || d.Top != math.Trunc(d.Top) || math.Max(-d.Low, d.Top) > 1<<52
	case "normal":
		bad = d.Top < 0
	default:
		hold(false)
	}
	must.Be(!bad, "%s: %s(%v, %v) has no values", d.Name, d.Law, d.Low, d.Top)
	must.Be(d.Name != "seed" && d.Name != "start" || d.Law == "integer" && d.Low >= 0, "%s is drawn by integer(A,B)", d.Name)
	return d, nil
}

// value draws one.
func (d Draw) value(rng *rand.Rand) string {
	f := 0.0
	switch d.Law {
	case "uniform":
		f = d.Low + (d.Top-d.Low)*rng.Float64()
	case "loguniform":
		f = math.Exp(math.Log(d.Low) + (math.Log(d.Top)-math.Log(d.Low))*rng.Float64())
	case "normal":
		f = d.Low + d.Top*rng.NormFloat64()
	case "integer":
		f = d.Low + float64(rng.Int64N(int64(d.Top-d.Low)+1))
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
