package certify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// treeReader reads a proof line by line.
type treeReader struct {
	from *bufio.Reader
	text []byte
	line int
	most int // bytes of a line
}

func (r *treeReader) wrong(err error) error { return &TreeError{max(1, r.line), err} }

// next decodes the next line that is not blank; io.EOF after the last.
func (r *treeReader) next(into any) error {
	for {
		r.line++
		r.text = r.text[:0]
		for {
			part, err := r.from.ReadSlice('\n')
			r.text = append(r.text, part...)
			if len(r.text) > r.most {
				return errors.New("the line is longer than one of this model's proofs can be")
			}
			if err == nil {
				break
			}
			if errors.Is(err, io.EOF) && len(r.text) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
		}
		if text := bytes.TrimSpace(r.text); len(text) > 0 {
			in := json.NewDecoder(bytes.NewReader(text))
			in.DisallowUnknownFields()
			if err := in.Decode(into); err != nil {
				return errors.New("no whole JSON object of a proof: " + strings.TrimPrefix(err.Error(), "json: "))
			}
			if _, err := in.Token(); !errors.Is(err, io.EOF) {
				return errors.New("more than one JSON object")
			}
			return nil
		}
	}
}

// treeLine is one object of the tree.
type treeLine struct {
	Pair   *int         `json:"pair"`
	Option *int         `json:"option"`
	Entry  *int         `json:"entry"`
	Along  *int         `json:"along"`
	Range  *treeRange   `json:"range"`
	At     *float64     `json:"at"`
	Bound  *treeWeights `json:"bound"`
	Empty  *treeWeights `json:"empty"`
	// Lines before a tree.
	Part     *treePart        `json:"part"`
	Choice   *treeChoice      `json:"choice"`
	Concave  *treeSquare      `json:"concave"`
	Interior *treeInterior    `json:"interior"`
	Product  *treeProduct     `json:"product"`
	Slope    *treeCoefficient `json:"slope"`
	Strong   *treeStrong      `json:"strong"`
}

// adds reports whether it is a line before a tree, other than one of a part.
func (l *treeLine) adds() bool {
	return l.Interior != nil || l.Choice != nil || l.Concave != nil || l.Product != nil || l.Slope != nil || l.Strong != nil
}

// count is how many things the line says.
func (l *treeLine) count() (n int) {
	for _, is := range [...]bool{l.Pair != nil, l.Option != nil, l.Choice != nil, l.Entry != nil, l.Along != nil, l.Bound != nil, l.Empty != nil, l.Part != nil, l.Interior != nil, l.Concave != nil, l.Product != nil, l.Slope != nil, l.Strong != nil, l.Range != nil} {
		if is {
			n++
		}
	}
	return n
}
