package check

import (
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// structure sorts the blocks of the file into the program and reports those
// that are missing or there twice. whole is false in a session, where what is
// missing may still come.
func (c *checker) structure(whole bool) {
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *lang.Level:
			if d.Lower {
				c.placeLevel(&c.program.Lower, d)
			} else {
				c.placeLevel(&c.program.Upper, d)
			}
		case *lang.Solve:
			if c.program.Solve != nil {
				c.twice(d, c.program.Solve, "solve")
				continue
			}
			c.program.Solve = d
		case *lang.Report:
			if c.program.Report != nil {
				c.twice(d, c.program.Report, "report")
				continue
			}
			c.program.Report = d
		}
	}
	if l := c.program.Lower; l != nil {
		c.combine(l)
	}
	if whole {
		c.missing()
	}
}

func (c *checker) placeLevel(to **ir.LevelDecl, block *lang.Level) {
	l := *to
	switch {
	case l == nil:
		l = &ir.LevelDecl{Block: block}
	case block.Lower && block.Name != nil && l.Block.Name != nil:
	case block.Lower && (block.Name != nil || l.Block.Name != nil):
		at := block
		if block.Name != nil {
			at = l.Block
		}
		c.errorf(c.global, diag.Followers, headOf(at.Span(), "lower"), "of several followers each has a name").Fix =
			"name this one as well, as in `lower operator { ... }`"
		return
	default:
		c.twice(block, l.Block, block.Word())
		return
	}
	own := ir.Follower{Block: block}
	if block.Name != nil {
		own.Name = block.Name.Name
	}
	for _, item := range c.itemsOf(block) {
		switch item := item.(type) {
		case *lang.Var:
			l.Vars = append(l.Vars, item)
			own.Vars = append(own.Vars, item)
		case *lang.Let:
			l.Lets = append(l.Lets, item)
		case *lang.Objective:
			if own.Objective != nil {
				d := c.errorf(c.global, diag.TwoObjectives, item.Span(), "the %s level has two objectives", block.Word())
				d.Detail = "a level has one; add them up with weights if both matter"
				d.Related = []diag.Related{{Span: own.Objective.Span(), Message: "the first is here"}}
				continue
			}
			l.Objective, own.Objective = item, item
		case *lang.SubjectTo:
			l.Constraints = append(l.Constraints, item.Constraints...)
			own.Constraints = append(own.Constraints, item.Constraints...)
		}
	}
	if block.Name != nil {
		l.Followers = append(l.Followers, own)
	}
	*to = l
}

func (c *checker) twice(second, first lang.Node, word string) {
	d := c.errorf(c.global, diag.BlockTwice, headOf(second.Span(), word), "there are two `%s` blocks", word)
	d.Detail = "a model has one; write all of it in one block"
	if word == "lower" {
		d.Detail = "a model has one without a name; write all of one follower in one block"
		d.Fix = "where there are several followers, each with an objective of its own, give each a name: `lower first { ... }`, `lower second { ... }`"
	}
	d.Related = []diag.Related{{Span: headOf(first.Span(), word), Message: "the first is here"}}
}

// headOf is the keyword at the start of a block.
func headOf(at diag.Span, word string) diag.Span {
	if end := at.Start + len(word); end <= at.End {
		at.End = end
	}
	return at
}

// open reports a block that is never closed, as the parser has said: what the model lacks is to come in it or behind it.
func (c *checker) open() bool {
	return slices.ContainsFunc(c.file.Decls, func(d lang.Decl) bool {
		block, ok := d.(*lang.Level)
		return ok && !strings.HasSuffix(block.Span().Text(), "}")
	})
}

// missing reports what a model needs and this one lacks.
func (c *checker) missing() {
	start := diag.Span{Source: c.file.Source}
	if c.file.Model == nil {
		c.errorf(c.global, diag.NoModelLine, start, "the model has no name").Fix = "begin the file with `model NAME`"
	}
	if c.open() {
		return
	}
	var blocks []string
	for _, l := range []struct {
		decl *ir.LevelDecl
		word string
	}{{c.program.Upper, "upper"}, {c.program.Lower, "lower"}} {
		if l.decl == nil {
			blocks = append(blocks, "no `"+l.word+"` block")
			continue
		}
		for _, f := range l.decl.Followers {
			if f.Objective == nil && len(l.decl.Followers) > 1 && c.lowerBlocks[f.Block].items != nil {
				c.errorf(c.global, diag.NoObjective, f.Block.Name.Span(), "the follower `%s` has no objective", f.Name).Fix =
					"write `minimize` or `maximize` and an expression"
			}
		}
		head := headOf(l.decl.Block.Span(), l.word)
		if len(l.decl.Vars) == 0 {
			c.errorf(c.global, diag.NoVariable, head, "the %s level has no variable", l.word).Fix =
				"declare one, as in `var z: vector[n]`"
		}
		if l.decl.Objective == nil {
			c.errorf(c.global, diag.NoObjective, head, "the %s level has no objective", l.word).Fix =
				"write `minimize` or `maximize` and an expression"
		}
	}
	if blocks != nil {
		if c.file.Model != nil {
			start = c.file.Model.Span()
		}
		c.errorf(c.global, diag.NoLevel, start, "the model has %s", strings.Join(blocks, " and ")).Detail =
			"a bilevel model has an `upper { }` block, the leader's, and a `lower { }` block, the follower's"
	}
}
