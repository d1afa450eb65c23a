// Package jsonfault says what is wrong with JSON from outside in the words of its sender,
// who knows nothing of the types that it is read into.
package jsonfault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Plain is err, and where a value is of another kind than is asked for, which and where; of a text that ends too soon, that it does.
func Plain(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		place := "it"
		if kind.Field != "" {
			place = fmt.Sprintf("`%s`", kind.Field)
		}
		return fmt.Errorf("%s is %s, where %s is expected", place, found(kind.Value), expected(kind.Type))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return errors.New("the text ends early")
	}
	if text, of := strings.CutPrefix(err.Error(), "json: "); of {
		return errors.New(text)
	}
	return err
}

// found is a value as package json names it.
func found(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "number":
		return "a number"
	}
	return strings.TrimPrefix(value, "number ") // this one
}

// expected is what a type is read from.
func expected(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "another value"
}
