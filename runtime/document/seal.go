package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"bilevelc/internal/jsonfault"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
)

// The seal of a result document is the SHA-256 of all the rest of it: of its
// members by name and its numbers by value, so that layout and order do not
// matter. It notices changes; it is no signature, and who means to forge a
// document can seal it again. That is what everything else is derived for. The
// times have a seal of their own, so that runs that differ in nothing else have
// the same one.

// SealOf is the seal of a document in JSON, and that of its times.
func SealOf(text []byte) (seal, times string, err error) {
	defer must.Catch(&err)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var document map[string]any
	must.Do(dec.Decode(&document))
	_, err = dec.Token()
	must.Be(err == io.EOF, "there is more after the document")
	measured := map[string]any{"time": document["time"], "phases": document["phases"]}
	if phases, ok := document["phases"].(map[string]any); ok {
		delete(phases, "seal")
	}
	for _, name := range []string{"seal", "time", "phases"} {
		delete(document, name)
	}
	canonical := appendCanonical(nil, document)
	seal = digest(canonical)
	return seal, digest(appendCanonical(canonical, measured)), nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// appendCanonical appends a JSON value in the one form that the seal is taken of.
func appendCanonical(dst []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		dst = append(strconv.AppendInt(append(dst, '{'), int64(len(v)), 10), ':')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			dst = appendCanonical(append(strconv.AppendQuote(dst, key), ':'), v[key])
		}
		return dst
	case []any:
		dst = append(strconv.AppendInt(append(dst, '['), int64(len(v)), 10), ':')
		for _, item := range v {
			dst = appendCanonical(dst, item)
		}
		return dst
	case json.Number:
		// Whole numbers are kept as they are: a seed may be longer than a double.
		dst = append(dst, 'n')
		_, err := strconv.ParseInt(v.String(), 10, 64)
		if f, failed := strconv.ParseFloat(v.String(), 64); err != nil && failed == nil {
			dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
		} else {
			dst = append(dst, v...)
		}
	case string:
		dst = strconv.AppendQuote(dst, v)
	default: // true, false, null
		dst = fmt.Append(dst, v)
	}
	return append(dst, ';')
}

// plain is a Result without its methods.
type plain Result

// MarshalJSON writes the document with its seal. Numbers that are not finite are
// strings; a certificate that holds one is left out, with a note, since its form
// has no place for it.
func (r Result) MarshalJSON() (text []byte, err error) {
	defer must.Catch(&err)
	d := plain(r)
	if c := d.Certificate; c != nil && !c.Finite() {
		d.Certificate = nil
		d.Notes = append(append([]string(nil), d.Notes...), "the certificate holds numbers beyond the range of doubles and is left out")
	}
	if math.IsNaN(d.Time) || math.IsInf(d.Time, 0) {
		d.Time = 0
	}
	d.Settings = make(map[string]any, len(r.Settings))
	for name, v := range r.Settings {
		if f, ok := v.(float64); ok {
			v = Number(f)
		}
		d.Settings[name] = v
	}
	d.Seal, d.Phases.Seal, err = SealOf(must.Get(json.Marshal(d)))
	must.Do(err)
	return diag.ShownJSON(must.Get(json.Marshal(d))), nil
}

// Read reads a result document.
func Read(text []byte) (r *Result, err error) {
	defer must.Catch(&err)
	d, seal, times := &plain{}, "", ""
	err = must.Try(func() {
		twice := once(json.NewDecoder(bytes.NewReader(text)))
		must.Be(twice == "", "it has two members %q", twice[min(1, len(twice)):])
		must.Do(json.Unmarshal(text, d))
		must.Be(d.Schema != 0, "it has no schema")
		seal, times, err = SealOf(text)
		must.Do(err)
	})
	must.Be(err == nil, "not a result document: %w", jsonfault.Plain(err))
	must.Be(d.Schema == SchemaVersion, "result document of schema %d; this version reads schema %d", d.Schema, SchemaVersion)
	for name, v := range d.Settings {
		if words, ok := v.(string); ok {
			if f, err := readFloat(words); err == nil {
				d.Settings[name] = f
			}
		}
	}
	d.read, d.broken = true, seal != d.Seal || times != d.Phases.Seal
	return (*Result)(d), nil
}

// once reads one JSON value. twice is where an object has a second member of one name, of which other readers may take the other; "" where none has.
func once(dec *json.Decoder) (twice string) {
	start := must.Get(dec.Token())
	if start != json.Delim('{') && start != json.Delim('[') {
		return ""
	}
	seen := map[json.Token]bool{}
	for k := 0; dec.More(); k++ {
		var name json.Token
		if start == json.Delim('{') {
			if name = must.Get(dec.Token()); seen[name] {
				return fmt.Sprint(".", name)
			}
			seen[name] = true
		}
		if twice = once(dec); twice != "" {
			if name == nil {
				return fmt.Sprintf("[%d]%s", k, twice)
			}
			return fmt.Sprintf(".%s%s", name, twice)
		}
	}
	must.Get(dec.Token())
	return ""
}

// Stored reports that the result was read from a document.
func (r *Result) Stored() bool { return r.read }

// Intact reports, of a result that was read from a document, that it is as it was
// written: an error says what is wrong with its seal. A result that was never a
// document is intact. A seal is no signature; see Verify for what the document claims.
func (r *Result) Intact() (err error) {
	defer must.Catch(&err)
	switch {
	case !r.read:
		return nil
	case r.Seal == "":
		return errors.New("the document has no seal")
	case r.broken:
		return errors.New("the document was changed after it was written")
	}
	text := must.Get(json.Marshal(r))
	again := &plain{}
	if err := json.Unmarshal(text, again); err != nil || again.Seal != r.Seal || again.Phases.Seal != r.Phases.Seal {
		return errors.New("the result was changed after it was read")
	}
	return nil
}
