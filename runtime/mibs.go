package runtime

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/runtime/exchange"
)

// IsMPS reports whether a path names an MPS file, which stands for a model together with its auxiliary file.
func IsMPS(path string) bool { return strings.EqualFold(filepath.Ext(path), ".mps") }

// AuxPath is where the auxiliary file of an MPS file is by its name: beside it, with the ending .aux.
func AuxPath(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".aux" }

// CompileMPS compiles a linear bilevel program in the form of MibS: an MPS file and an auxiliary file, both as texts with
// their names. It becomes a model in the language (see MPSModel), to which all else applies; its numbers
// come with it, and data given to Bind go before them.
func CompileMPS(ctx context.Context, name, mps, auxName, aux string) (_ *Model, err error) {
	defer must.Catch(&err)
	b := must.Get(readBilevel(name, mps, auxName, aux))
	text, set := b.Model(false)
	for i := range set.Entries {
		set.Entries[i].Origin = name
	}
	m := must.Get(CompileContext(ctx, strings.TrimSuffix(name, filepath.Ext(name))+".blv", text))
	m.supplied = set
	return m, nil
}

// MPSModel is the text of the model that a linear bilevel program in the form of MibS becomes, with its numbers in it.
func MPSModel(name, mps, auxName, aux string) (text string, err error) {
	defer must.Catch(&err)
	text, _ = must.Get(readBilevel(name, mps, auxName, aux)).Model(true)
	return text, nil
}

// readBilevel reads both files; a program without a name has that of its file.
func readBilevel(name, mps, auxName, aux string) (*exchange.Bilevel, error) {
	b, list := exchange.ReadBilevel(diag.NewSource(name, mps), diag.NewSource(auxName, aux))
	if b != nil && b.Name == "" {
		b.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return b, list.Err()
}

// compileMPSFile is CompileMPS on files.
func compileMPSFile(path string) (_ *Model, err error) {
	defer must.Catch(&err)
	mps := must.Get(os.ReadFile(path))
	aux := must.Get(os.ReadFile(AuxPath(path)))
	return CompileMPS(context.Background(), path, string(mps), AuxPath(path), string(aux))
}

// with is data on top of what the model itself supplies.
func (m *Model) with(set *data.Set) *data.Set {
	if m.supplied == nil {
		return set
	}
	out := &data.Set{Entries: m.supplied.Entries[:len(m.supplied.Entries):len(m.supplied.Entries)]}
	if set != nil {
		out.Entries = append(out.Entries, set.Entries...)
	}
	return out
}

// ExportBilevel writes a model with linear objectives in the form of MibS: an MPS file, called file, and its auxiliary
// file. Both levels minimize there: a level that maximizes has the negative of its objective.
func (p *Problem) ExportBilevel(mps, aux io.Writer, file string) (err error) {
	defer must.Catch(&err)
	system, names, bound := p.system()
	b, why := exchange.Linear(system, names)
	if why != "" {
		at := bound.Upper.Span
		if system.H.NNZ()+system.G.NNZ() > 0 && strings.Contains(why, "lower") {
			at = bound.Lower.Span
		}
		return notExported(bound, at, why)
	}
	for _, level := range []struct {
		is   bool
		word string
	}{{bound.Upper.Maximize, "upper"}, {bound.Lower.Maximize, "lower"}} {
		if level.is {
			b.Notes = append(b.Notes, "the "+level.word+" level of the model maximizes: its objective here is the negative")
		}
	}
	return exchange.WriteBilevel(mps, aux, b, file)
}
