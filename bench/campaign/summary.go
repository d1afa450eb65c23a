package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// summary counts what the cases came to.
type summary struct {
	mu       sync.Mutex
	began    time.Time
	Cases    int              `json:"cases"`
	False    int              `json:"false"` // cases with a false statement
	Seconds  float64          `json:"seconds"`
	Families map[string]int   `json:"families"`
	Outcomes map[string]int   `json:"outcomes"`
	Findings map[string]*kind `json:"findings"`
	// Times are the seconds of the solves of each family of systems.
	Times map[string][]float64 `json:"-"`
}

// kind is one kind of finding.
type kind struct {
	Soft    bool     `json:"soft,omitempty"`
	Count   int      `json:"count"`
	Seeds   []uint64 `json:"seeds"` // the first few
	Example string   `json:"example"`
}

func newSummary() *summary {
	return &summary{began: time.Now(), Families: map[string]int{}, Outcomes: map[string]int{}, Findings: map[string]*kind{}, Times: map[string][]float64{}}
}

// add counts a case, and stores the model of one with a false statement.
func (s *summary) add(r *report, out string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Cases++
	s.Seconds = time.Since(s.began).Seconds()
	s.Families[r.Family]++
	if r.Seconds > 0 {
		s.Times[r.Family] = append(s.Times[r.Family], r.Seconds)
	}
	for _, o := range r.Outcomes {
		s.Outcomes[o]++
	}
	wrong := false
	for _, f := range r.Findings {
		name := f.Kind
		if f.Reason != "" {
			name += ": " + f.Reason
		}
		k := s.Findings[name]
		if k == nil {
			k = &kind{Soft: f.Soft, Example: f.Detail}
			s.Findings[name] = k
		}
		k.Count++
		if len(k.Seeds) < 12 && !slices.Contains(k.Seeds, r.Seed) {
			k.Seeds = append(k.Seeds, r.Seed)
		}
		wrong = wrong || !f.Soft
	}
	if !wrong {
		return
	}
	s.False++
	if out != "" {
		store(r, out)
	}
}

// store writes the model of a false statement, named by kind and seed.
func store(r *report, out string) {
	var b strings.Builder
	first := ""
	for _, f := range r.Findings {
		if !f.Soft && first == "" {
			first = f.Kind
		}
		fmt.Fprintf(&b, "// seed %d, %s: %s\n", r.Seed, f.Kind, strings.ReplaceAll(f.Detail, "\n", " "))
	}
	text := r.Wrong
	if text == "" {
		text = r.Text // it ended the process
	}
	b.WriteString(text)
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(first, " ", "_"), r.Seed)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "campaign:", err)
		}
	}
	write(name+".blv", b.String())
	if r.Small == "" {
		return
	}
	b.Reset()
	fmt.Fprintf(&b, "// Shrunk from seed %d.\n", r.Seed)
	for _, f := range r.SmallFindings {
		fmt.Fprintf(&b, "// %s: %s\n", f.Kind, strings.ReplaceAll(f.Detail, "\n", " "))
	}
	b.WriteString(r.Small)
	write(name+"-small.blv", b.String())
}

// progress says how far a campaign has come, for who follows it or has to end it early.
func (s *summary) progress(w io.Writer, t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(w, "%s %d: %d cases, %d with a false statement\n", cmp.Or(t.file, "before seed"), t.from, s.Cases, s.False)
}

func (s *summary) print(w io.Writer) {
	fmt.Fprintf(w, "%d cases in %.0f s, %d with a false statement\n", s.Cases, s.Seconds, s.False)
	counts := func(title string, m map[string]int) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(w, "  %7d  %s\n", m[k], k)
		}
	}
	counts("programs", s.Families)
	if len(s.Times) > 0 {
		fmt.Fprintf(w, "\nmilliseconds a solve: median, most\n")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Times)) {
		t := slices.Sorted(slices.Values(s.Times[k]))
		fmt.Fprintf(w, "  %7.2f %9.2f  %s\n", 1e3*t[len(t)/2], 1e3*t[len(t)-1], k)
	}
	counts("outcomes", s.Outcomes)
	for _, soft := range []bool{false, true} {
		title := "\nfalse"
		if soft {
			title = "\nnot false, but not what one wants"
		}
		fmt.Fprintln(w, title)
		keys := make([]string, 0, len(s.Findings))
		for k, v := range s.Findings {
			if v.Soft == soft {
				keys = append(keys, k)
			}
		}
		slices.SortFunc(keys, func(a, b string) int { return s.Findings[b].Count - s.Findings[a].Count })
		for _, k := range keys {
			v := s.Findings[k]
			fmt.Fprintf(w, "  %7d  %s   seeds %v\n           %s\n", v.Count, k, v.Seeds, v.Example)
		}
	}
}
