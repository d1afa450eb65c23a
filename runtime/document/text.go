package document

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"bilevelc/lang/diag"
	"bilevelc/runtime/status"
)

// TextOptions shape the report for people.
type TextOptions struct {
	// MaxEntries is how many entries of a vector, and rows of a table, are
	// shown; the JSON form has all. 0 means all.
	MaxEntries int
	// Phases adds where the time went, and names all rows and entries that notes are about.
	Phases bool
	// Width is where lines of words are broken; 0 means nowhere.
	Width int
}

// WriteText writes the result for people to read.
func (r *Result) WriteText(w io.Writer, opts TextOptions) error {
	t := &textReport{r: r, opts: opts}
	switch {
	case r.Oracle == "": // it ended before there was a problem (Unfinished)
		fmt.Fprintf(&t.b, "%s: %s (%s)\n", r.Model, r.Status, r.Reason)
	case r.Status == status.Infeasible && !r.HasPoint(): // there is no x and no F to show
		t.status()
		fmt.Fprintf(&t.b, "seed %d, %.3g s\n", r.Seed, r.Time)
	default:
		t.whole()
	}
	_, err := io.WriteString(w, diag.ShownLines(t.b.String()))
	return err
}

// whole writes a result that has an x.
func (t *textReport) whole() {
	r := t.r
	t.heading()
	if t.opts.Width > 0 {
		words := t.b.String()
		t.b.Reset()
		t.b.WriteString(wrapped(words, t.opts.Width))
	}
	free := map[string]string{}
	for _, name := range r.Upper.Free {
		free[name] = " (free)"
	}
	t.marked("upper", r.Upper.Variables, free)
	t.hypergradient()
	t.sensitivity()
	t.lower()
	t.ties()
	t.constraints("upper constraints", r.UpperRows())
	t.constraints("constraints", activeFirst(r.LowerRows()))
	t.values("report", r.Report)
	t.footer()
}

type textReport struct {
	r     *Result
	opts  TextOptions
	b     strings.Builder
	error float64 // of the values that are being written; 0 where no bound is known
}

// status is the line that says how the run ended.
func (t *textReport) status() {
	fmt.Fprintf(&t.b, "%s: %s", t.r.Model, t.r.Status)
	if t.r.Reason != "" && t.r.Reason != t.r.Status.String() {
		fmt.Fprintf(&t.b, " (%s)", t.r.Reason)
	}
	t.b.WriteByte('\n')
}

func (t *textReport) heading() {
	r := t.r
	t.status()
	t.table(func(row func(cells ...string)) {
		row("  F", r.Upper.Objective.Text(), r.Upper.Sense)
		row("  g", r.Lower.Objective.Text(), r.Lower.Sense)
		if r.Stationarity.Measure != "" {
			row("  stationarity", r.Stationarity.Value.Brief(), t.measure())
		}
	})
	if r.Global != nil {
		fmt.Fprintf(&t.b, "  global: %s\n", r.Global.Text(r.Upper.Objective))
	}
	t.meaning()
	if len(r.Lower.Dependent) > 0 {
		fmt.Fprintf(&t.b, "  note: multipliers are not unique: active rows depend on each other (%s)\n", t.names(r.Lower.Dependent))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&t.b, "  note: %s\n", note)
	}
}

// meaning says what a stationary point is worth, where x could not move further,
// and where the gradient is exactly 0.
func (t *textReport) meaning() {
	r := t.r
	if r.Status == status.Solved && r.Method != "" && (r.Global == nil || !r.Global.Proved && math.IsInf(float64(r.Global.Gap), 1)) {
		more := "; --starts looks from more points"
		if len(r.Starts) > 1 {
			more = ""
		}
		fmt.Fprintf(&t.b, "  note: stationary is a local statement: F may be better elsewhere%s\n", more)
	}
	if len(r.Upper.AtBounds) > 0 && !t.evaluation() {
		fmt.Fprintf(&t.b, "  note: at bounds: %s\n", t.names(r.Upper.AtBounds))
	}
	if len(r.Upper.Free) > 0 {
		fmt.Fprintf(&t.b, "  note: free, as nothing depends on them: %s\n", t.names(r.Upper.Free))
	}
	some := func(g float64) bool { return g != 0 }
	if len(r.Upper.Hypergradient) > 0 && r.Stationarity.Strict && !slices.ContainsFunc(r.Upper.Hypergradient.Entries(), some) { // at a kink it is one of several
		fmt.Fprintf(&t.b, "  note: the gradient is exactly zero: an optimum of a smooth stretch of F, or one where it does not react to x\n")
	}
}

// maxNames is how many characters of names a note has: with its words they fit into a line.
const maxNames = 60

// names lists names, as many as fit into a note; with Phases all of them.
func (t *textReport) names(list []string) string {
	length := 0
	for i, name := range list {
		if length += len(name) + len(", "); i > 0 && length > maxNames && !t.opts.Phases && i < len(list)-1 {
			return fmt.Sprintf("%s and %d more", strings.Join(list[:i], ", "), len(list)-i)
		}
	}
	return strings.Join(list, ", ")
}

// wrapped breaks lines of words behind the last blank before a width, in characters; what
// follows is indented to where the line's last column begins.
func wrapped(text string, width int) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		rest := []rune(strings.TrimSuffix(line, "\n"))
		if len(rest) <= width {
			b.WriteString(line)
			continue
		}
		indent := 4
		if gap := strings.LastIndex(string(rest), "   "); gap >= 0 && gap+3 < width/2 {
			indent = utf8.RuneCountInString(string(rest)[:gap+3])
		}
		for len(rest) > width {
			cut := width
			for cut > indent && rest[cut] != ' ' {
				cut--
			}
			if cut == indent { // one word that is longer: it goes on to its end
				for cut = width; cut < len(rest) && rest[cut] != ' '; cut++ {
				}
			}
			b.WriteString(string(rest[:cut]) + "\n")
			if rest = rest[min(cut+1, len(rest)):]; len(rest) > 0 {
				rest = append([]rune(strings.Repeat(" ", indent)), rest...)
			}
		}
		if len(rest) > 0 {
			b.WriteString(string(rest) + "\n")
		}
	}
	return b.String()
}

func (t *textReport) measure() string {
	s := t.r.Stationarity
	text := s.Measure
	if s.Delta > 0 {
		text += ", delta " + s.Delta.Brief()
	}
	if !s.Strict {
		text += "; strict complementarity fails: F may have a kink here"
	}
	return text
}

// hypergradient writes what an evaluation is for; a solution has its measure of
// stationarity in its place. Entries of x at a bound are marked: there only one
// sign of the derivative means that F can be improved.
func (t *textReport) hypergradient() {
	r := t.r
	if !t.evaluation() {
		return
	}
	title := "hypergradient, error " + r.Stationarity.GradientError.Brief()
	if !r.Stationarity.Strict {
		title += "; strict complementarity fails: F may have a kink here"
	}
	if len(r.Upper.AtBounds) > 0 {
		title += "; in brackets: the bound that x is at"
	}
	sides := r.Upper.Sides()
	for name, side := range sides {
		sides[name] = " (" + side + ")"
	}
	t.error = float64(r.Stationarity.GradientError)
	t.marked(title, r.Upper.Hypergradient, sides)
	t.error = 0
}

// sensitivity writes the derivatives of an evaluation, both sides of a kink.
func (t *textReport) sensitivity() {
	for i, e := range t.r.Sensitivity {
		if t.cut(i) {
			fmt.Fprintf(&t.b, "... sensitivity to %d entries in all\n", len(t.r.Sensitivity))
			return
		}
		title := "sensitivity to " + e.Entry
		falls, rises := e.Slopes()
		if e.Left != nil {
			t.rates(title+", from the left", e.Left, falls)
			title += ", from the right"
		}
		t.rates(title, e.Right, rises)
	}
}

func (t *textReport) rates(title string, r *Rates, slope float64) {
	if r.Reason != "" {
		fmt.Fprintf(&t.b, "%s: none; %s\n", title, r.Reason)
		return
	}
	all := append(Values{{Name: "F", Data: []float64{slope}}}, r.Variables...)
	for _, v := range r.Multipliers {
		v.Name = "multiplier " + v.Name
		all = append(all, v)
	}
	t.values(title, all)
}

// evaluation reports that the result is of one point, with its hypergradient.
func (t *textReport) evaluation() bool { return t.r.Method == "" && len(t.r.Upper.Hypergradient) > 0 }

// values writes one line a vector, one a matrix row.
func (t *textReport) values(title string, vs Values) { t.marked(title, vs, nil) }

// marked is values with marks behind entries, by their names.
func (t *textReport) marked(title string, vs Values, marks map[string]string) {
	if len(vs) == 0 {
		return
	}
	fmt.Fprintf(&t.b, "%s\n", title)
	t.table(func(row func(cells ...string)) {
		for _, v := range vs {
			mark := func(i int) string { return marks[EntryName(v, i)] }
			v = v.Rounded()
			if v.Axes != nil || v.keys != nil {
				for i, f := range v.Data {
					if t.cut(i) {
						row("", fmt.Sprintf("... %d entries in all", len(v.Data)))
						break
					}
					row("  "+EntryName(v, i), t.number(f)+mark(i))
				}
				continue
			}
			if len(v.Shape) < 2 {
				row("  "+v.Name, t.list(v.Data, mark))
				continue
			}
			for i, entries := range v.Rows() {
				if t.cut(i) {
					row("", fmt.Sprintf("... %d rows in all", v.Shape[0]))
					break
				}
				row(fmt.Sprintf("  %s[%d, :]", v.Name, i+1),
					t.list(entries, func(j int) string { return mark(i*v.Shape[1] + j) }))
			}
		}
	})
}

// lower writes the lower variables, by follower where they have names.
func (t *textReport) lower() {
	if e := float64(t.r.Lower.ErrorBound); len(t.r.Lower.Units) == 0 && e > 0 && !math.IsInf(e, 1) {
		t.error = e
		defer func() { t.error = 0 }()
	}
	if len(t.r.Lower.Followers) == 0 {
		t.values("lower", t.r.Lower.Variables)
		return
	}
	for _, f := range t.r.Lower.Followers {
		own := slices.Clone(f.Variables)
		for _, v := range f.Objective {
			v.Name = f.Sense + "d objective"
			own = append(own, v)
		}
		t.values("lower "+f.Name, own)
	}
}

func (t *textReport) cut(i int) bool { return t.opts.MaxEntries > 0 && i >= t.opts.MaxEntries }

func (t *textReport) list(entries []float64, mark func(i int) string) string {
	var parts []string
	for i, e := range entries {
		if t.cut(i) {
			parts = append(parts, fmt.Sprintf("... %d entries in all", len(entries)))
			break
		}
		parts = append(parts, t.number(e)+mark(i))
	}
	return strings.Join(parts, "  ")
}

func (t *textReport) footer() {
	r := t.r
	parts := []string{}
	if r.Method != "" {
		parts = append(parts, "method "+r.Method)
	}
	solver := "solver " + r.Lower.Solver
	if r.Lower.Curvature != "" {
		solver += " with " + r.Lower.Curvature + " curvature"
	}
	parts = append(parts, "oracle "+r.Oracle, solver)
	if r.Method != "" {
		parts = append(parts, fmt.Sprintf("%d iterations", r.Iterations))
	}
	if len(r.Starts) > 1 {
		parts = append(parts, fmt.Sprintf("best of %d starts", len(r.Starts)))
	}
	parts = append(parts, fmt.Sprintf("seed %d", r.Seed), fmt.Sprintf("%.3g s", r.Time))
	fmt.Fprintf(&t.b, "%s\n", strings.Join(parts, ", "))
	if p := r.Phases; t.opts.Phases {
		fmt.Fprintf(&t.b, "time: %s s\n", p.Text())
	}
	fmt.Fprintf(&t.b, "calls: %s\n", r.Calls.Text())
	if v := r.Verification; t.opts.Phases && v != nil {
		fmt.Fprintf(&t.b, "calls to verify the result: %s\n", v.Text())
	}
	if r.Budget != nil {
		fmt.Fprintf(&t.b, "budget: predicted %s evaluations of F (%s), took %d\n", r.Budget.Evaluations.Brief(), r.Budget.Basis, r.Budget.Actual)
	}
	if r.Check != nil {
		fmt.Fprintf(&t.b, "gradient check: the oracle and finite differences of F differ by %s (%s relative)\n",
			r.Check.Error.Brief(), r.Check.Relative.Brief())
	}
	if t.r.Lower.Equivalent != nil {
		t.b.WriteString("lower level: one with the same answers was solved in its place, as g is an increasing function of a simpler objective, or equations nearly depend on each other; residuals are about that one\n")
	}
	fmt.Fprintf(&t.b, "lower level: %s; KKT residuals: %s\n", r.Lower.Status, r.Residuals.Text())
}

func (t *textReport) table(fill func(row func(cells ...string))) {
	w := tabwriter.NewWriter(&t.b, 0, 0, 3, ' ', 0)
	fill(func(cells ...string) {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	})
	w.Flush()
}

// number prints as many digits as the error of what is written supports, ten at most. Three
// are left at least: the bound is on the norm of an array, and its small entries may be
// known far better.
func (t *textReport) number(f float64) string {
	const least, most = 3, 10
	digits := most
	if t.error > 0 && f != 0 {
		digits = max(least, min(most, int(math.Floor(math.Log10(math.Abs(f))))-int(math.Ceil(math.Log10(t.error)))+1))
	}
	return strconv.FormatFloat(f+0, 'g', digits, 64)
}
