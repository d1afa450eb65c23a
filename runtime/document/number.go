package document

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Number is a float64 whose JSON form can be NaN or infinite (as a string).
type Number float64

// MarshalJSON writes a number, or a string for what JSON lacks.
func (n Number) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(n)), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	var raw any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	f, err := readFloat(raw)
	*n = Number(f)
	return err
}

// Text prints ten significant digits, which is what answers are good for.
func (n Number) Text() string { return strconv.FormatFloat(float64(n)+0, 'g', 10, 64) }

// Brief prints an order of magnitude.
func (n Number) Brief() string { return strconv.FormatFloat(float64(n)+0, 'g', 3, 64) }
