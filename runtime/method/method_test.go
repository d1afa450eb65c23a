package method

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

type sample struct {
	Tolerance float64 `setting:"tolerance" doc:"relative residual" min:"0" max:"1"`
	Memory    int     `setting:"memory" doc:"pairs kept" min:"1"`
	Steps     string  `setting:"steps" doc:"kind of step" words:"plain,adam"`
	Central   bool    `setting:"central" doc:"central differences"`
	hidden    int
}

func defaults() *sample { return &sample{Tolerance: 1e-8, Memory: 10, Steps: "plain", hidden: 3} }

func TestDescribe(t *testing.T) {
	got := Describe(defaults())
	if len(got) != 4 {
		t.Fatalf("%d settings, want 4: %v", len(got), got)
	}
	want := []string{"0 to 1", "at least 1", "plain or adam", "true or false"}
	for i, s := range got {
		if s.Range() != want[i] {
			t.Errorf("%s: range %q, want %q", s.Name, s.Range(), want[i])
		}
	}
	if got[0].Default != 1e-8 || got[1].Default != 10 || got[2].Default != "plain" || got[3].Default != false {
		t.Errorf("defaults: %v", got)
	}
}

func TestApply(t *testing.T) {
	s := defaults()
	if err := Apply(s, Values{"tolerance": 1, "memory": 5.0, "steps": "adam", "central": "true"}); err != nil {
		t.Fatal(err)
	}
	if want := (&sample{Tolerance: 1, Memory: 5, Steps: "adam", Central: true, hidden: 3}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct {
		values Values
		says   string
	}{
		{Values{"tolerance": 2.0}, "out of range: 0 to 1"},
		{Values{"tolerance": "x"}, `"x" is not of type real`},
		{Values{"memory": 2.5}, "2.5 is not of type int"},
		{Values{"memory": 0}, "at least 1"},
		{Values{"steps": "momentum"}, "plain or adam"},
		{Values{"tolerence": 0.1}, "did you mean tolerance?"},
		{Values{"zzz": 0.1}, "no such setting"},
	} {
		err := Apply(defaults(), c.values)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: error %v, want %q", c.values, err, c.says)
		}
	}
}

func TestRegistry(t *testing.T) {
	r := Registry[int]{Kind: "solver"}
	r.Register("pgd", 2)
	r.Register("alm", 1)
	if got := r.All(); !reflect.DeepEqual(got, []int{1, 2}) {
		t.Errorf("All: %v", got)
	}
	if v, err := r.Lookup("alm"); err != nil || v != 1 {
		t.Errorf("Lookup: %v, %v", v, err)
	}
	if _, err := r.Lookup("xyz"); err == nil || !strings.Contains(err.Error(), "there are alm, pgd") {
		t.Errorf("Lookup of a name too far: %v", err)
	}
	if _, err := r.Lookup("aml"); err == nil || !strings.Contains(err.Error(), "did you mean alm?") {
		t.Errorf("Lookup of a near name: %v", err)
	}
}
