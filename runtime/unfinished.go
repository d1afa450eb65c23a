package runtime

import (
	"math"
	"path/filepath"
	"strings"

	"bilevelc/runtime/status"
)

// Unfinished is the result of a run that ended before there was a problem to solve:
// while the model at path was read, compiled or bound.
func Unfinished(path string, how status.Status, why string) *Result {
	none := Number(math.NaN())
	r := &Result{Schema: SchemaVersion, Model: strings.TrimSuffix(filepath.Base(path), ".blv"), Status: how, Reason: why,
		Version: Version}
	r.Upper.Objective, r.Lower.Objective, r.Lower.Status = none, none, noPoint
	r.Lower.MinMultiplier, r.Lower.MinSlack, r.Lower.ErrorBound = none, none, none
	r.Residuals = Residuals{none, none, none, none, none, nil}
	r.Stationarity.Value, r.Stationarity.GradientError = none, none
	return r
}
