package check

import (
	"fmt"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// solve checks the block of defaults. The names and values of settings belong
// to the methods, which validate them later; here they are distinct, and a
// value is a word or a number that is known before solving.
func (c *checker) solve() {
	if c.program.Solve == nil {
		return
	}
	given := names{}
	for i := range c.program.Solve.Items {
		item := &c.program.Solve.Items[i]
		key := item.Name.Name
		if item.Start {
			key = "start " + key
		}
		if !c.once(given, key, item.Name, diag.SettingTwice, "`%s` is given twice") {
			continue
		}
		if label, quoted := item.Value.(*lang.Text); quoted && !item.Start {
			c.errorf(c.global, diag.QuotedSetting, label.Span(), "the setting `%s` is a word, which stands without quotes", key).Fix =
				fmt.Sprintf("write `%s = %s`", key, label.Value)
			continue
		}
		switch _, word := item.Value.(*lang.Name); {
		case item.Start:
			c.start(item)
		case !word:
			c.fixedScalar(item.Value, "the setting `"+key+"`")
		}
	}
}

// start checks `start x = e`.
func (c *checker) start(item *lang.SolveItem) {
	name := item.Name.Name
	e := c.symbols[name]
	if e == nil || e.symbol.Kind != ir.VarSymbol || e.symbol.Lower {
		c.operand(c.global, item.Value)
		d := c.errorf(c.global, diag.NoSuchStart, item.Name.Span(), "`%s` is not an upper variable", name)
		d.Detail = "a start is a point of the upper level; the lower level is solved from it"
		var upper []string
		if l := c.program.Upper; l != nil {
			upper = each.Of(l.Vars, func(u *lang.Var) string { return u.Name.Name })
		}
		d.Fix = diag.Meant(name, upper)
		return
	}
	c.fitting(item.Value, c.resolve(e).typ, "the start of `"+name+"`", true)
}

// report checks the named expressions of the report, which may use anything.
func (c *checker) report() {
	if c.program.Report == nil {
		return
	}
	named := names{}
	for _, item := range c.program.Report.Items {
		if item.Name.Name != "" {
			c.once(named, item.Name.Name, item.Name, diag.DeclaredTwice, "`%s` is reported twice")
		}
		c.reporting = true
		if v := c.expr(c.global, item.Value); v.typ.Kind != ir.BoolType {
			c.numeric(c.global, item.Value, v)
		}
		c.reporting = false
	}
}
