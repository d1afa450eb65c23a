package jsonfault_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bilevelc/internal/jsonfault"
)

// Every kind of value, read into every kind of type, is told without a word of Go.
func TestPlain(t *testing.T) {
	type inner struct {
		N *uint `json:"n"`
	}
	type outer struct {
		Text  string             `json:"text"`
		Flag  bool               `json:"flag"`
		List  []float64          `json:"list"`
		Whole int                `json:"whole"`
		In    inner              `json:"in"`
		Map   map[string]float64 `json:"map"`
	}
	texts := []string{`1`, `1.5`, `-1`, `1e99`, `"x"`, `true`, `[1]`, `["x"]`, `{"n": 5}`, `{"n": -5}`, `{"n": "x"}`}
	told := 0
	for _, field := range []string{"text", "flag", "list", "whole", "in", "map", ""} {
		for _, value := range texts {
			text := value
			if field != "" {
				text = `{"` + field + `": ` + value + `}`
			}
			err := json.Unmarshal([]byte(text), &outer{})
			if err == nil {
				continue
			}
			told++
			got := jsonfault.Plain(err).Error()
			for _, word := range []string{"Go", "json", "struct", "unmarshal", "int", "float64", "string", "outer", "inner"} {
				if strings.Contains(got, word) {
					t.Errorf("%s: %s", text, got)
				}
			}
			if field != "" && !strings.Contains(got, "`"+field) {
				t.Errorf("%s: %s does not say where", text, got)
			}
		}
	}
	if told < 50 {
		t.Errorf("only %d faults", told)
	}
	for whole, end := `{"list": [1]}`, 0; end < len(whole); end++ {
		for _, err := range []error{json.Unmarshal([]byte(whole[:end]), &outer{}), json.NewDecoder(strings.NewReader(whole[:end])).Decode(&outer{})} {
			if got := jsonfault.Plain(err).Error(); got != "the text ends early" {
				t.Errorf("%s: %s", whole[:end], got)
			}
		}
	}
	if jsonfault.Plain(nil) != nil {
		t.Error("a fault where there is none")
	}
}
