package diag

import (
	"bilevelc/internal/each"
	"encoding/json"
)

// document is the JSON form of a list. It is versioned and stable.
type document struct {
	Schema      int           `json:"schema"`
	Diagnostics []jsonFinding `json:"diagnostics"`
}

type jsonFinding struct {
	Severity string        `json:"severity"`
	Code     Code          `json:"code"`
	Summary  string        `json:"summary"`
	Detail   string        `json:"detail,omitempty"`
	Fix      string        `json:"fix,omitempty"`
	Place    *jsonPlace    `json:"place,omitempty"`
	Context  *jsonPlace    `json:"context,omitempty"`
	Related  []jsonRelated `json:"related,omitempty"`
}

type jsonRelated struct {
	Message string     `json:"message"`
	Place   *jsonPlace `json:"place,omitempty"`
}

// jsonPlace is a half-open span: end is the position behind its last
// character. Lines and columns count from 1, columns in code points.
type jsonPlace struct {
	File  string  `json:"file"`
	Start jsonPos `json:"start"`
	End   jsonPos `json:"end"`
}

type jsonPos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset"`
}

func placeOf(s Span) *jsonPlace {
	if s.IsZero() {
		return nil
	}
	at := func(offset int) jsonPos {
		p := s.Source.Pos(offset)
		return jsonPos{p.Line, p.Column, p.Offset}
	}
	return &jsonPlace{File: s.Source.Name, Start: at(s.Start), End: at(max(s.Start, s.End))}
}

// RenderJSON is the list as one JSON document with a final newline.
func RenderJSON(list List) []byte {
	doc := document{Schema: 1, Diagnostics: each.Of(list, func(d *Diagnostic) jsonFinding {
		return jsonFinding{
			Severity: d.Severity.String(), Code: d.Code, Summary: d.Summary, Detail: d.Detail, Fix: d.Fix,
			Place: placeOf(d.Subject), Context: placeOf(d.Context),
			Related: each.Of(d.Related, func(r Related) jsonRelated { return jsonRelated{r.Message, placeOf(r.Span)} }),
		}
	})}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("diag: " + err.Error()) // strings and integers always marshal
	}
	return append(text, '\n')
}
