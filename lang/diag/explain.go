package diag

import (
	"embed"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Entry explains one code. Example is the text that fails with it: a model, the
// inputs of a session or, where DataFile is set, a model and the data file that
// it is given. Of DataMPS they are an MPS file and its auxiliary file.
type Entry struct {
	Code        Code
	Stage       Stage
	Class       Class
	Title       string
	Explanation string
	Example     string
	DataFile    string // the name of the data file, whose ending tells its format
	Data        string // its content
}

// texts has a txtar archive a code: the explanation, the example, and the data
// file where the example needs one.
//
//go:embed codes
var texts embed.FS

// Lookup returns the entry of a code.
func Lookup(code Code) (entry Entry, ok bool) {
	r, ok := table[code]
	if !ok {
		return Entry{}, false
	}
	entry = Entry{Code: code, Stage: r.stage, Class: r.class, Title: r.title}
	text, err := texts.ReadFile("codes/" + string(code) + ".txt")
	if err != nil {
		return entry, true // TestEntries sees to it that this is not so
	}
	archive := txtar.Parse(text)
	entry.Explanation = strings.TrimSpace(string(archive.Comment))
	for i, file := range archive.Files {
		if i == 0 {
			entry.Example = string(file.Data)
		} else {
			entry.DataFile, entry.Data = file.Name, string(file.Data)
		}
	}
	return entry, true
}

// Codes returns all entries in order of code.
func Codes() []Entry {
	all := make([]Entry, 0, len(order))
	for _, c := range slices.Sorted(slices.Values(order)) {
		entry, _ := Lookup(c)
		all = append(all, entry)
	}
	return all
}
