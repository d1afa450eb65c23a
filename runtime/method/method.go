// Package method describes the methods of the runtime (lower solvers, oracles,
// outer methods) to everything that offers them: help, documentation, the
// `solve` block and the command line. A method's settings are a plain struct
// whose field tags carry the documentation and the range:
//
//	type Settings struct {
//		Tolerance float64 `setting:"tolerance" doc:"relative KKT residual" min:"0" max:"1"`
//		Memory    int     `setting:"memory" doc:"pairs kept by L-BFGS" min:"1"`
//		Steps     string  `setting:"steps" doc:"how a step is made" words:"plain,adam"`
//	}
//
// Describe reads the description off a value that holds the defaults, Apply
// sets fields by name, Validate checks the ranges. Strings become typed values
// here and nowhere else.
package method

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bilevelc/lang/diag"
)

// Setting describes one field of a settings struct.
type Setting struct {
	Name     string
	Doc      string
	Type     string // "real", "int", "flag" or "word"
	Default  any    // float64, int, bool or string
	Min, Max float64
	Words    []string // the words allowed, of a word
}

// Range is the set of allowed values in words: "0 to 1", "at least 1",
// "plain or adam".
func (s Setting) Range() string {
	switch {
	case s.Type == "word":
		return strings.Join(s.Words, " or ")
	case s.Type == "flag":
		return "true or false"
	case !math.IsInf(s.Min, -1) && !math.IsInf(s.Max, 1):
		return fmt.Sprintf("%v to %v", s.Min, s.Max)
	case !math.IsInf(s.Min, -1):
		return fmt.Sprintf("at least %v", s.Min)
	case !math.IsInf(s.Max, 1):
		return fmt.Sprintf("at most %v", s.Max)
	}
	return "any number"
}

// Values are settings by name, as the command line and the `solve` block give
// them: float64, int, bool or string.
type Values map[string]any

// Describe lists the settings of a struct, or pointer to a struct, that holds
// the defaults. It panics on a tag that does not parse, which is a bug of the
// method.
func Describe(defaults any) []Setting {
	v := structOf(defaults)
	var out []Setting
	for i := 0; i < v.NumField(); i++ {
		if s, ok := describe(v.Type().Field(i), v.Field(i)); ok {
			out = append(out, s)
		}
	}
	return out
}

// Maker makes things of type M from settings of type S: the defaults, with those
// values that are given. build is told which they are.
func Maker[S, M any](defaults *S, build func(settings S, given Values) (M, error)) func(Values) (M, error) {
	return func(values Values) (M, error) {
		settings := *defaults
		if err := Apply(&settings, values); err != nil {
			var none M
			return none, err
		}
		return build(settings, values)
	}
}

func structOf(settings any) reflect.Value {
	v := reflect.ValueOf(settings)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func describe(f reflect.StructField, v reflect.Value) (Setting, bool) {
	name, ok := f.Tag.Lookup("setting")
	if !ok {
		return Setting{}, false
	}
	s := Setting{Name: name, Doc: f.Tag.Get("doc"), Min: math.Inf(-1), Max: math.Inf(1)}
	switch f.Type.Kind() {
	case reflect.Float64:
		s.Type, s.Default = "real", v.Float()
	case reflect.Int:
		s.Type, s.Default = "int", int(v.Int())
	case reflect.Bool:
		s.Type, s.Default = "flag", v.Bool()
	case reflect.String:
		s.Type, s.Default = "word", v.String()
		s.Words = strings.Split(f.Tag.Get("words"), ",")
	default:
		panic(fmt.Sprintf("method: setting %s has a field of type %s", name, f.Type))
	}
	s.Min = bound(f, "min", s.Min)
	s.Max = bound(f, "max", s.Max)
	return s, true
}

func bound(f reflect.StructField, tag string, otherwise float64) float64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("method: %s of field %s: %v", tag, f.Name, err))
	}
	return v
}

// Error is a setting that is unknown, of the wrong type or out of range.
type Error struct {
	Setting string
	Reason  string
}

func (e *Error) Error() string { return fmt.Sprintf("setting %s: %s", e.Setting, e.Reason) }

// Apply sets the fields of the struct that settings points to by name and
// checks the result.
func Apply(settings any, values Values) error {
	v := structOf(settings)
	known := map[string]int{}
	for i := 0; i < v.NumField(); i++ {
		if name, ok := v.Type().Field(i).Tag.Lookup("setting"); ok {
			known[name] = i
		}
	}
	for name, value := range values {
		i, ok := known[name]
		if !ok {
			return &Error{name, unknown(name, known)}
		}
		if err := assign(v.Field(i), value); err != nil {
			return &Error{name, err.Error()}
		}
	}
	return validate(settings)
}

func unknown(name string, known map[string]int) string {
	return "no such setting" + diag.DidYouMean(name, slices.Sorted(maps.Keys(known)))
}

func assign(field reflect.Value, value any) error {
	if text, ok := value.(string); ok && field.Kind() != reflect.String {
		return assignText(field, text)
	}
	switch x := value.(type) {
	case float64:
		switch {
		case field.Kind() == reflect.Float64:
			field.SetFloat(x)
			return nil
		case field.Kind() == reflect.Int && x == math.Trunc(x) && math.Abs(x) < 1<<53:
			field.SetInt(int64(x))
			return nil
		}
	case int:
		switch field.Kind() {
		case reflect.Float64:
			field.SetFloat(float64(x))
			return nil
		case reflect.Int:
			field.SetInt(int64(x))
			return nil
		}
	case bool:
		if field.Kind() == reflect.Bool {
			field.SetBool(x)
			return nil
		}
	case string:
		if field.Kind() == reflect.String {
			field.SetString(x)
			return nil
		}
	}
	return fmt.Errorf("%v is not of type %s", value, typeName(field))
}

func assignText(field reflect.Value, text string) error {
	switch field.Kind() {
	case reflect.Float64:
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			field.SetFloat(v)
			return nil
		}
	case reflect.Int:
		if v, err := strconv.Atoi(text); err == nil {
			field.SetInt(int64(v))
			return nil
		}
	case reflect.Bool:
		if v, err := strconv.ParseBool(text); err == nil {
			field.SetBool(v)
			return nil
		}
	}
	return fmt.Errorf("%q is not of type %s", text, typeName(field))
}

func typeName(field reflect.Value) string {
	switch field.Kind() {
	case reflect.Float64:
		return "real"
	case reflect.Int:
		return "int"
	case reflect.Bool:
		return "flag"
	}
	return "word"
}

// validate checks every setting of the struct against its range.
func validate(settings any) error {
	for _, s := range Describe(settings) {
		switch x := s.Default.(type) {
		case float64:
			if math.IsInf(x, 0) || math.IsNaN(x) {
				return &Error{s.Name, fmt.Sprintf("%v is not a finite number", x)}
			}
			if !(x >= s.Min && x <= s.Max) {
				return &Error{s.Name, fmt.Sprintf("%v is out of range: %s", x, s.Range())}
			}
		case int:
			if float64(x) < s.Min || float64(x) > s.Max {
				return &Error{s.Name, fmt.Sprintf("%v is out of range: %s", x, s.Range())}
			}
		case string:
			found := false
			for _, w := range s.Words {
				found = found || w == x
			}
			if !found {
				return &Error{s.Name, fmt.Sprintf("%q is not one of: %s", x, s.Range())}
			}
		}
	}
	return nil
}
