package runtime

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Outlook is what a result document says beyond its own point: of all x, and of the
// follower's other answers. It is read from the document, whose fields it has.
type Outlook struct {
	Global *struct {
		Proved bool   `json:"proved"`
		Bound  Number `json:"bound"`
		Gap    Number `json:"gap"`
		Nodes  int64  `json:"nodes"`
		Why    string `json:"why"`
	} `json:"global"`
	Lower struct {
		Ties *struct {
			Rule   string  `json:"rule"`
			Unique bool    `json:"unique"`
			Answer *bool   `json:"unique_answer"` // the parts of Unique; nil where the upper level reads no multipliers
			Prices *bool   `json:"unique_multipliers"`
			Best   *Number `json:"best"`
			Worst  *Number `json:"worst"`
			Safe   *struct {
				Variables Values `json:"variables"`
				Objective Number `json:"objective"`
				Distance  Number `json:"distance"`
			} `json:"safe"`
		} `json:"ties"`
	} `json:"lower"`
}

// Outlook reads the document of the result.
func (r *Result) Outlook() (*Outlook, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return outlookOf(text)
}

func outlookOf(document []byte) (*Outlook, error) {
	o := &Outlook{}
	return o, json.Unmarshal(document, o)
}

// Words says what "solved", "proved", "biactive", "tie" and "safe point" mean for this
// result, a sentence each, with the section of the documentation.
func (r *Result) Words() ([]string, error) {
	o, err := r.Outlook()
	if err != nil {
		return nil, err
	}
	return r.words(o), nil
}

func (r *Result) words(o *Outlook) []string {
	f := number(float64(r.Upper.Objective))
	return []string{
		r.solvedWords(f) + " (docs/results.md#what-solved-means-and-does-not)",
		o.provedWords(r, f) + " (docs/results.md#proved)",
		r.biactiveWords() + " (docs/results.md#biactive)",
		o.tieWords(r, f) + " (docs/results.md#ties)",
		o.safeWords() + " (docs/results.md#safe-point)",
	}
}

func (r *Result) solvedWords(f string) string {
	better := "lowers"
	if r.Upper.Sense == "maximize" {
		better = "raises"
	}
	switch {
	case !r.HasPoint():
		return fmt.Sprintf("Solved: no; the run ended as %s and has no point.", r.Status)
	case r.Method == "":
		return "Solved: nothing was; F = " + f + " is an evaluation at the x that was given."
	case r.Status != Solved:
		return fmt.Sprintf("Solved: no; the run ended as %s, and F = %s is the best that it found.", r.Status, f)
	}
	within := ""
	if r.Stationarity.Delta > 0 {
		within = fmt.Sprintf(" seen over the points within %s of it", brief(float64(r.Stationarity.Delta)))
	}
	return fmt.Sprintf("Solved: at this x, where F = %s, no small move %s F to first order (the measure%s is %s), which says nothing of x far away.",
		f, better, within, brief(float64(r.Stationarity.Value)))
}

func (o *Outlook) provedWords(r *Result, f string) string {
	better := "lower"
	if r.Upper.Sense == "maximize" {
		better = "higher"
	}
	g := o.Global
	switch {
	case g == nil:
		return "Proved: no; nobody has looked for a bound on F over all x, so F may be " + better + " elsewhere."
	case g.Proved:
		return fmt.Sprintf("Proved: yes; no x that the constraints allow has F %s than %s, which is within %s of %s, relative to it, after %d nodes.",
			better, number(float64(g.Bound)), brief(float64(g.Gap)), f, g.Nodes)
	}
	why := ""
	if g.Why != "" {
		why = " because " + strings.TrimSuffix(g.Why, ".")
	}
	if b := float64(g.Bound); math.IsInf(b, 0) || math.IsNaN(b) {
		return fmt.Sprintf("Proved: no%s; after %d nodes there is no bound on F.", why, g.Nodes)
	}
	return fmt.Sprintf("Proved: no%s; after %d nodes no x has F %s than %s, so that a gap of %s remains, relative to F.",
		why, g.Nodes, better, number(float64(g.Bound)), brief(float64(g.Gap)))
}

func (r *Result) biactiveWords() string {
	n := len(r.Lower.Weak)
	if !r.HasPoint() {
		return "Biactive: there is no point at which rows could be."
	}
	if n == 0 {
		return "Biactive: no row of the follower has both slack and multiplier 0, so that F is smooth at this x where its objectives are."
	}
	rows := (&textReport{r: r}).names(r.Lower.Weak)
	if n == 1 {
		return "Biactive: the row " + rows + " holds with multiplier 0, so that two branches of F meet at this x, which may be a kink."
	}
	return fmt.Sprintf("Biactive: %d rows hold with multiplier 0 (%s), so that branches of F meet at this x, which may be a kink.", n, rows)
}

func (o *Outlook) tieWords(r *Result, f string) string {
	t := o.Lower.Ties
	switch {
	case !r.HasPoint():
		return "Tie: there is no answer of the follower."
	case t == nil:
		return "Tie: no; the follower's objective is taken to curve in all of its variables, so that it has one answer to each x."
	case t.Unique && t.Prices != nil:
		return "Tie: no; the follower has one answer at this x, and the multipliers that the upper level reads take one value."
	case t.Unique:
		return "Tie: no; the follower may have several answers that are as good for it, but has one at this x."
	}
	ends := ""
	value := func(v *Number) string {
		if v == nil || math.IsNaN(float64(*v)) {
			return ""
		}
		return number(float64(*v))
	}
	if best, worst := value(t.Best), value(t.Worst); best != "" && worst != "" {
		ends = fmt.Sprintf(", with which F goes from %s to %s", best, worst)
	} else if worst != "" {
		ends = fmt.Sprintf(", with the worst of which F is %s", worst)
	}
	if t.Prices != nil && !*t.Prices {
		what := "the multipliers that the upper level reads are not unique at this x"
		if t.Answer != nil && !*t.Answer {
			what = "the follower has other answers at this x that are as good for it, and multipliers that the upper level reads are not unique"
		}
		return fmt.Sprintf("Tie: yes; %s%s, and F = %s takes those that the rule (%s) picks.", what, ends, f, t.Rule)
	}
	return fmt.Sprintf("Tie: yes; the follower has other answers at this x that are as good for it%s, and F = %s takes the one that its rule (%s) picks.", ends, f, t.Rule)
}

func (o *Outlook) safeWords() string {
	if o.Lower.Ties == nil || o.Lower.Ties.Unique {
		return "Safe point: this one is, as the follower has one answer here."
	}
	s := o.Lower.Ties.Safe
	if s == nil {
		return "Safe point: none was found near by at which the follower has one answer, so that F is not safe from its choice."
	}
	return fmt.Sprintf("Safe point: moving x by %s at most leaves the follower one answer, and F is then %s whatever it prefers.",
		brief(float64(s.Distance)), number(float64(s.Objective)))
}
