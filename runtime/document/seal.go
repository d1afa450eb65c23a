package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"bilevelc/internal/jsonfault"
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
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var document map[string]any
	if err := dec.Decode(&document); err != nil {
		return "", "", err
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", "", fmt.Errorf("there is more after the document")
	}
	measured := map[string]any{"time": document["time"], "phases": document["phases"]}
	if phases, ok := document["phases"].(map[string]any); ok {
		delete(phases, "seal")
	}
	for _, name := range []string{"seal", "time", "phases"} {
		delete(document, name)
	}
	h := sha256.New()
	canonical(h, document)
	seal = hex.EncodeToString(h.Sum(nil))
	canonical(h, measured)
	return seal, hex.EncodeToString(h.Sum(nil)), nil
}

// canonical writes a JSON value in the one form that the seal is taken of.
func canonical(h hash.Hash, value any) {
	switch v := value.(type) {
	case map[string]any:
		fmt.Fprintf(h, "{%d:", len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(h, "%q:", key)
			canonical(h, v[key])
		}
	case []any:
		fmt.Fprintf(h, "[%d:", len(v))
		for _, item := range v {
			canonical(h, item)
		}
	case json.Number:
		// Whole numbers are kept as they are: a seed may be longer than a double.
		text := v.String()
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				text = strconv.FormatFloat(f, 'g', -1, 64)
			}
		}
		fmt.Fprintf(h, "n%s;", text)
	case string:
		fmt.Fprintf(h, "%q;", v)
	default: // true, false, null
		fmt.Fprintf(h, "%v;", v)
	}
}

// plain is a Result without its methods.
type plain Result

// MarshalJSON writes the document with its seal. Numbers that are not finite are
// strings; a certificate that holds one is left out, with a note, since its form
// has no place for it.
func (r Result) MarshalJSON() ([]byte, error) {
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
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	if d.Seal, d.Phases.Seal, err = SealOf(text); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(d); err != nil {
		return nil, err
	}
	return diag.ShownJSON(text), nil
}

// Read reads a result document.
func Read(text []byte) (*Result, error) {
	if err := once(json.NewDecoder(bytes.NewReader(text)), ""); err != nil {
		return nil, fmt.Errorf("not a result document: %w", err)
	}
	d := &plain{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("not a result document: %w", jsonfault.Plain(err))
	}
	if d.Schema != SchemaVersion {
		if d.Schema == 0 {
			return nil, errors.New("not a result document: it has no schema")
		}
		return nil, fmt.Errorf("result document of schema %d; this version reads schema %d", d.Schema, SchemaVersion)
	}
	for name, v := range d.Settings {
		if words, ok := v.(string); ok {
			if f, err := readFloat(words); err == nil {
				d.Settings[name] = f
			}
		}
	}
	seal, times, err := SealOf(text)
	if err != nil {
		return nil, fmt.Errorf("not a result document: %w", err)
	}
	d.read, d.broken = true, seal != d.Seal || times != d.Phases.Seal
	return (*Result)(d), nil
}

// once reads one JSON value and refuses an object with two members of one name, of which other readers may take the other.
func once(dec *json.Decoder, path string) error {
	start, err := dec.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for k := 0; start == json.Delim('{') || start == json.Delim('['); k++ {
		if !dec.More() {
			_, err = dec.Token()
			return err
		}
		at := fmt.Sprintf("%s[%d]", path, k)
		if start == json.Delim('{') {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if at = path + "." + fmt.Sprint(name); seen[fmt.Sprint(name)] {
				return fmt.Errorf("it has two members %q", at[1:])
			}
			seen[fmt.Sprint(name)] = true
		}
		if err := once(dec, at); err != nil {
			return err
		}
	}
	return nil
}

// Stored reports that the result was read from a document.
func (r *Result) Stored() bool { return r.read }

// Intact reports, of a result that was read from a document, that it is as it was
// written: an error says what is wrong with its seal. A result that was never a
// document is intact. A seal is no signature; see Verify for what the document claims.
func (r *Result) Intact() error {
	switch {
	case !r.read:
		return nil
	case r.Seal == "":
		return errors.New("the document has no seal")
	case r.broken:
		return errors.New("the document was changed after it was written")
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	again := &plain{}
	if err := json.Unmarshal(text, again); err != nil || again.Seal != r.Seal || again.Phases.Seal != r.Phases.Seal {
		return errors.New("the result was changed after it was read")
	}
	return nil
}
