package outer

import (
	"context"
	"testing"
	"time"
)

// A run whose theorem asks for more than anyone waits for is refused where nothing limits it, and nowhere else.
func TestHopelessRuns(t *testing.T) {
	timed, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for what, c := range map[string]struct {
		ctx    context.Context
		budget Budget
		limits Limits
		refuse bool
	}{
		"without a limit":     {t.Context(), Budget{Evaluations: 1e9}, Limits{}, true},
		"that is affordable":  {t.Context(), Budget{Evaluations: 1e6}, Limits{}, false},
		"chosen by hand":      {t.Context(), Budget{Evaluations: 1e9, Chosen: true}, Limits{}, false},
		"with a deadline":     {timed, Budget{Evaluations: 1e9}, Limits{}, false},
		"of some iterations":  {t.Context(), Budget{Evaluations: 1e9}, Limits{Iterations: 5}, false},
		"of some evaluations": {t.Context(), Budget{Evaluations: 1e9}, Limits{Evaluations: 5}, false},
		"of some calls":       {t.Context(), Budget{Evaluations: 1e9}, Limits{Calls: 5}, false},
	} {
		s := &solving{opts: Options{Limits: c.limits}, result: &Result{Predicted: &c.budget}}
		if err := s.hopeless(c.ctx); (err != nil) != c.refuse {
			t.Errorf("a run %s: %v", what, err)
		}
	}
}
