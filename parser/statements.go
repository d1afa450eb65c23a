package parser

import (
	"fmt"
	"slices"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// file reads all declarations into f. A statement with an error is reported
// and passed over; reading goes on at the next.
func (s *session) file(f *lang.File) {
	for {
		s.skipEnds()
		if s.eof() {
			return
		}
		if t := s.peek(); t.Type != tokenKeyword {
			s.strayStatement(false)
		} else if s.topKeyword(f) {
			s.misplacedItem(t)
		}
	}
}

// topKeyword reads the declaration that starts here into f. It returns true,
// and reads nothing, where the word starts an item of a level.
func (s *session) topKeyword(f *lang.File) (item bool) {
	add := func(d lang.Decl) {
		if d != nil {
			f.Decls = append(f.Decls, d)
		}
	}
	switch t := s.peek(); t.Value {
	case "model":
		s.modelLine(f)
	case "param":
		add(s.paramNode(s.statement()))
	case "data":
		add(s.dataNode(s.statement()))
	case "set":
		add(s.setNode(s.statement()))
	case "let":
		if let := s.letNode(s.statement()); let != nil {
			add(let)
		}
	case "fn":
		add(s.fnNode(s.statement()))
	case "upper", "lower":
		s.level(f)
	case "solve":
		s.solve(f)
	case "report":
		s.report(f)
	case "var", "minimize", "maximize", "subject":
		return true
	default:
		s.strayStatement(false)
	}
	return false
}

// modelLine reads `model NAME`, which stands once and first.
func (s *session) modelLine(f *lang.File) {
	c := s.statement()
	tree, ok := parseCut[modelLine](s, c)
	if tree.Name.Text == "" {
		if f.Model == nil { // a name that could not be read is a name
			f.Model = &lang.Ident{At: lang.At{Place: s.cutSpan(c)}}
		}
		return
	}
	switch at := s.cutSpan(c); {
	case s.errs.reported(at.Start, at.Start):
	case f.Model != nil:
		d := s.errs.Errorf(diag.ModelLine, at, "a second `model` line")
		d.Related = relate(f.Model.Place, "the model is named here")
		d.Fix = "one file holds one model; remove this line"
	case len(f.Decls) > 0 && ok:
		d := s.errs.Errorf(diag.ModelLine, at, "the `model` line does not stand first")
		d.Related = relate(headline(f.Decls[0]), "this declaration stands before it")
		d.Fix = "move it above all declarations"
	}
	if f.Model == nil {
		id := s.ident(tree.Name)
		f.Model = &id
	}
}

// headline is the first line of a node's place.
func headline(n lang.Node) diag.Span {
	at := n.Span()
	line := at.Source.Pos(at.Start)
	end := at.Start - (line.Offset - at.Start) + len(at.Source.Line(line.Line))
	at.End = min(at.End, end)
	return at
}

func relate(at diag.Span, message string) []diag.Related {
	return []diag.Related{{Span: at, Message: message}}
}

// openBlock takes the word of a block and its brace. Without a brace it
// reports that, and the statements that follow are read as the block's.
func (s *session) openBlock(head func(c cut)) (word, brace lexer.Token) {
	word = s.peek()
	s.next++
	c := s.statement()
	s.skipEnds()
	brace = s.peek()
	if brace.Value != "{" {
		d := s.errs.Errorf(diag.Unexpected, s.tokenSpan(word), "expected `{` after `%s`", word.Value)
		d.Fix = fmt.Sprintf("write `%s {`, and `}` on a line of its own at the end of the block", word.Value)
		return word, lexer.Token{}
	}
	if !c.empty() && head != nil {
		head(c)
	} else if !c.empty() {
		d := s.errs.Errorf(diag.Unexpected, s.cutSpan(c), "expected `{` after `%s`, found %s", word.Value, s.describe(c.tokens[0]))
		d.Fix = fmt.Sprintf("write `%s {`", word.Value)
	}
	s.next++
	return word, brace
}

// closeBlock reports whether the block that opened at brace ends here: at its
// closing brace, at the end of the text, or at a word that starts a new block
// where the scanner found that brace unclosed (or there was none).
func (s *session) closeBlock(brace lexer.Token) bool {
	s.skipEnds()
	if s.eof() {
		return true
	}
	t := s.peek()
	if t.Value == "}" {
		s.next++
		return true
	}
	return t.Type == tokenKeyword && isTopWord(t.Value) && (brace.Value == "" || s.errs.reported(brace.Pos.Offset, brace.Pos.Offset))
}

// blockEnd is the offset behind the token that was read last.
func (s *session) blockEnd(from lexer.Token) int {
	for i := s.next - 1; i >= 0; i-- {
		if s.tokens[i].Type != tokenEnd {
			return tokenEndOffset(s.tokens[i])
		}
	}
	return tokenEndOffset(from)
}

// level reads upper { } or lower { }.
func (s *session) level(f *lang.File) {
	block := &lang.Level{Lower: s.peek().Value == "lower"}
	var head func(cut)
	if block.Lower {
		head = func(c cut) { s.followerHead(block, c) }
	}
	word, brace := s.openBlock(head)
	block.At = lang.At{Place: s.tokenSpan(word)}
	f.Decls = append(f.Decls, block)
	var subject *lang.SubjectTo
	for !s.closeBlock(brace) {
		t := s.peek()
		if t.Type != tokenKeyword || !statementWords[t.Value] {
			if subject != nil {
				s.constraint(subject)
			} else if s.strayStatement(true) {
				subject = &lang.SubjectTo{At: lang.At{Place: s.tokenSpan(t)}}
				block.Items = append(block.Items, subject)
			}
			continue
		}
		if isTopWord(t.Value) {
			if !s.errs.reported(t.Pos.Offset, t.Pos.Offset) {
				d := s.errs.Errorf(diag.WrongBlock, s.tokenSpan(t), "`%s` does not belong inside `%s { }`", t.Value, block.Word())
				d.Fix = "move it to the top of the file, outside both levels"
				s.errs.mark(t.Pos.Offset)
			}
			s.topKeyword(f)
			continue
		}
		var item lang.LevelItem
		item, subject = s.levelItem()
		if item != nil {
			block.Items = append(block.Items, item)
		}
	}
	block.At = s.at(word.Pos.Offset, s.blockEnd(word))
}

// followerHead reads what stands between `lower` and its brace: the name of a
// follower, and the indices of one that stands for many.
func (s *session) followerHead(block *lang.Level, c cut) {
	if at := s.cutSpan(c); s.errs.reported(at.Start, at.End) {
		return
	}
	tree, ok := parseCut[followerHead](s, c)
	if tree.Name.Text == "" {
		return
	}
	id := s.ident(tree.Name)
	block.Name = &id
	if ok && tree.Indices != nil {
		list := tree.Indices.indices()
		block.Binders = list.binders
		if list.cond != nil {
			s.errs.Errorf(diag.Unexpected, list.cond.Span(), "the followers of `%s` are all there are: a condition cannot leave some out", id.Name)
		}
	}
}

// isTopWord reports whether a word starts declarations that stand only at the
// top of a file.
func isTopWord(word string) bool { return word != "let" && slices.Contains(topWords, word) }

// levelItem reads var, let, an objective or the head of subject to; the second
// result is where the constraints of the following statements go.
func (s *session) levelItem() (lang.LevelItem, *lang.SubjectTo) {
	switch s.peek().Value {
	case "var":
		return s.varNode(s.statement()), nil
	case "let":
		if let := s.letNode(s.statement()); let != nil {
			return let, nil
		}
		return nil, nil
	case "minimize", "maximize":
		return s.objectiveNode(s.statement()), nil
	}
	subject := s.subjectTo()
	return subject, subject
}

// subjectTo reads the words `subject to` and a constraint that stands on the
// same line.
func (s *session) subjectTo() *lang.SubjectTo {
	word := s.peek()
	subject := &lang.SubjectTo{At: lang.At{Place: s.tokenSpan(word)}}
	s.next++
	if to := s.peek(); to.Value == "to" {
		s.next++
		subject.Place = subject.Place.To(s.tokenSpan(to))
	} else {
		d := s.errs.Errorf(diag.Unexpected, s.tokenSpan(word), "expected `subject to`, found `subject` alone")
		d.Fix = "write `subject to`"
	}
	if colon := s.peek(); colon.Value == ":" {
		s.next++
		d := s.errs.Errorf(diag.Unexpected, s.tokenSpan(colon), "`subject to` is not followed by `:`")
		d.Fix = "leave the colon out; the constraints follow, one a line"
	}
	if t := s.peek(); !t.EOF() && t.Type != tokenEnd && t.Value != "}" && t.Value != "{" {
		s.constraint(subject)
	}
	return subject
}

// constraints reads those of the lines up to a brace or a word that starts a statement.
func (s *session) constraints(subject *lang.SubjectTo) {
	for {
		s.skipEnds()
		if t := s.peek(); t.EOF() || t.Value == "}" || t.Value == "{" || statementWords[t.Value] {
			return
		}
		s.constraint(subject)
	}
}

func (s *session) constraint(subject *lang.SubjectTo) {
	c := s.statement()
	if c.empty() { // a brace where a constraint should stand
		s.strayStatement(true)
		return
	}
	if con := s.constraintNode(c); con != nil {
		subject.Constraints = append(subject.Constraints, con)
		subject.Place = subject.Place.To(con.Place)
	}
}

// solve reads solve { start x = e; name = e }.
func (s *session) solve(f *lang.File) {
	block := &lang.Solve{}
	f.Decls = append(f.Decls, block)
	block.At = s.lines("solve", "NAME = VALUE", func(c cut) {
		if item, ok := s.solveNode(c); ok {
			block.Items = append(block.Items, item)
		}
	})
}

// report reads report { name = e }.
func (s *session) report(f *lang.File) {
	block := &lang.Report{}
	f.Decls = append(f.Decls, block)
	block.At = s.lines("report", "NAME = EXPRESSION", func(c cut) {
		if item := s.reportNode(c); item != nil {
			block.Items = append(block.Items, item)
		}
	})
}

// lines reads a block whose lines have one form, and returns its place.
func (s *session) lines(block, form string, line func(c cut)) lang.At {
	word, brace := s.openBlock(nil)
	for !s.closeBlock(brace) {
		if !s.strayBrace() && !s.strayWord(block, form) {
			line(s.statement())
		}
	}
	return s.at(word.Pos.Offset, s.blockEnd(word))
}

// strayWord reports a statement word inside solve { } or report { }.
func (s *session) strayWord(block, form string) bool {
	t := s.peek()
	if t.Type != tokenKeyword || !statementWords[t.Value] {
		return false
	}
	d := s.errs.Errorf(diag.WrongBlock, s.tokenSpan(t), "`%s` does not belong inside `%s { }`", t.Value, block)
	d.Fix = fmt.Sprintf("each line of `%s { }` reads `%s`", block, form)
	s.next++
	s.skipStatement()
	return true
}

// strayBrace reports and skips a brace group that belongs to nothing.
func (s *session) strayBrace() bool {
	t := s.peek()
	if t.Value != "{" {
		return false
	}
	if !s.errs.reported(t.Pos.Offset, t.Pos.Offset) {
		d := s.errs.Errorf(diag.Unexpected, s.tokenSpan(t), "a block that belongs to nothing")
		d.Fix = "braces stand after `upper`, `lower`, `solve` and `report` only; an expression is grouped by ( )"
	}
	s.skipGroup()
	return true
}

// skipStatement passes over the rest of a statement, with a brace group that
// stands in it.
func (s *session) skipStatement() {
	c := s.statement()
	if c.stop.Value == "{" {
		s.skipGroup()
	}
}

// skipGroup passes over a brace group.
func (s *session) skipGroup() {
	depth := 0
	for !s.eof() {
		s.meter.Step()
		switch s.tokens[s.next].Value {
		case "{":
			depth++
		case "}":
			depth--
		}
		s.next++
		if depth <= 0 {
			return
		}
	}
}
