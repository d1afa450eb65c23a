package main

import (
	"path/filepath"
	"slices"
	"strconv"

	"bilevelc/bench/csvfile"
	"bilevelc/internal/must"
)

// Measurements take hours, what is made of them a moment: their tables are read
// back here, so that a summary is corrected without measuring again.

// either measures, or reads what was measured.
func either[R any](o options, measure, stored func(options) []R) []R {
	if o.stored != "" {
		return stored(o)
	}
	return measure(o)
}

// reader reads a row of a table by the names of its columns.
type reader map[string]string

func (r reader) text(name string) string {
	v, ok := r[name]
	must.Be(ok, "there is no column %s", name)
	return v
}

func (r reader) float(name string) float64 {
	v, err := strconv.ParseFloat(r.text(name), 64)
	must.Be(err == nil, "column %s: %w", name, err)
	return v
}

func (r reader) int(name string) int64 { return int64(r.float(name)) }
func (r reader) bool(name string) bool { return r.text(name) == "true" }

// readStored makes a measurement of each row of a table.
func readStored[R any](o options, name string, of func(reader) R) (out []R) {
	path := filepath.Join(o.stored, name+".csv")
	rows := csvfile.ByName(path)
	must.Be(len(rows) > 0, "%s holds no measurements", path)
	err := must.Try(func() {
		for _, row := range rows {
			out = append(out, of(row))
		}
	})
	must.Be(err == nil, "%s: %w", path, err)
	return out
}

func storedAlpha(o options) []alphaRow {
	return readStored(o, "alpha", func(r reader) alphaRow {
		return alphaRow{oracle: r.text("oracle"), condition: r.float("condition"), alpha: r.float("alpha"), seed: uint64(r.int("seed")),
			lower: r.int("lower_calls"), calls: r.int("oracle_calls"), error: r.float("error")}
	})
}

func storedDual(o options) []dualRow {
	return readStored(o, "dual", func(r reader) dualRow {
		return dualRow{estimator: r.text("estimator"), what: r.text("moved"), e: r.float("e"), seed: uint64(r.int("seed")), margin: r.float("margin"),
			sameRows: r.bool("rows_right"), error: r.float("error"), extra: r.float("extra_error"), bound: r.float("bound")}
	})
}

func storedPlanted(o options) []plantedRow {
	rows := readStored(o, "planted", func(r reader) plantedRow {
		return plantedRow{racer: r.text("method"), d: int(r.int("d")), seed: uint64(r.int("seed")), calls: r.int("calls"), gap: r.float("gap"),
			distance: r.float("distance"), status: r.text("status"), startGap: r.float("gap_at_start")}
	})
	for i := range rows { // the budget is the last that a run was looked at
		next := i + 1
		rows[i].last = next == len(rows) || rows[next].racer != rows[i].racer || rows[next].seed != rows[i].seed || rows[next].d != rows[i].d
	}
	return rows
}

func storedRates(o options) []rateRow {
	all := rates()
	return readStored(o, "rates", func(r reader) rateRow {
		k := slices.IndexFunc(all, func(c rate) bool {
			return c.name == r.text("method") && kind(c.hard) == r.text("problem") && c.param == r.text("parameter")
		})
		must.Be(k >= 0, "there is no curve %s, %s, %s", r.text("method"), r.text("problem"), r.text("parameter"))
		return rateRow{rate: &all[k], at: setting{d: int(r.int("d")), delta: r.float("delta"), epsilon: r.float("epsilon")},
			value: r.float(all[k].param), seed: uint64(r.int("seed")), budget: r.float("budget_calls"),
			result: outcome{reached: r.bool("reached"), calls: r.int("calls"), points: int(r.int("evaluations")), each: r.float("calls_per_evaluation")}}
	})
}
