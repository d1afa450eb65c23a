package diag

import "encoding/json"

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
	start, end := s.Source.Pos(s.Start), s.Source.Pos(max(s.Start, s.End))
	return &jsonPlace{
		File:  s.Source.Name,
		Start: jsonPos{start.Line, start.Column, start.Offset},
		End:   jsonPos{end.Line, end.Column, end.Offset},
	}
}

// RenderJSON is the list as one JSON document with a final newline.
func RenderJSON(list List) []byte {
	doc := document{Schema: 1, Diagnostics: make([]jsonFinding, len(list))}
	for i, d := range list {
		f := jsonFinding{
			Severity: d.Severity.String(), Code: d.Code, Summary: d.Summary, Detail: d.Detail, Fix: d.Fix,
			Place: placeOf(d.Subject), Context: placeOf(d.Context),
		}
		for _, r := range d.Related {
			f.Related = append(f.Related, jsonRelated{Message: r.Message, Place: placeOf(r.Span)})
		}
		doc.Diagnostics[i] = f
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("diag: " + err.Error()) // strings and integers always marshal
	}
	return append(text, '\n')
}
