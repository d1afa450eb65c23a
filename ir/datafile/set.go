package datafile

import (
	"fmt"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// ParseSet reads one argument of --set: name=value, where the value is a
// number or a list in JSON, such as n=10, w=[1, 2.5] or A=[[1, 0], [0, 1]].
// The entry's origin is "--set n=10".
func ParseSet(arg string) (*data.Set, diag.List) {
	name, value, ok := strings.Cut(arg, "=")
	name = strings.TrimSpace(name)
	if !ok || !lang.IsName(name) || strings.TrimSpace(value) == "" {
		var list diag.List
		d := list.Errorf(diag.DataSpec, diag.Span{}, "--set %s is not of the form name=value", clip(arg))
		d.Detail = "expected a name of the model and a number or a JSON list, such as n=10 or 'w=[1, 2]'"
		return &data.Set{}, list
	}
	origin := "--set " + arg
	r := &reader{file: origin, text: value, set: &data.Set{}}
	if body := strings.TrimSpace(value); body[0] == '[' {
		readJSON(r, name)
	} else if v, kind := parseNumber(body); kind != finite {
		start := strings.Index(value, body)
		r.badNumber(kind, entry{name, -1, -1}, start, start+len(body))
		if d := r.diags[0]; d.Detail == "" {
			d.Detail = fmt.Sprintf("expected a number, or a list in JSON, such as `--set %s=1.5` or `--set '%s=[1, 2]'`", name, name)
		}
		list := &reader{file: origin, text: "[" + body + "]", set: &data.Set{}}
		if readJSON(list, name); strings.Contains(body, ",") && list.errors == 0 {
			d := r.diags[0]
			if d.Fix != "" {
				d.Fix += ", or "
			}
			d.Fix += fmt.Sprintf("write a list in brackets, as in `--set '%s=%s'`", name, list.text)
		}
	} else {
		r.set.Add(name, data.Scalar(v), origin)
	}
	set, list := r.finish()
	for i := range set.Entries {
		set.Entries[i].Origin = origin
	}
	return set, list
}
