package codegen

// This file schedules elementwise operations and the sums over them.
//
// Contract of fuse: afterwards the form has no elementwise operation, opSum or
// opDot of its own; each is a step of an opFused value, whose first result is
// the opFused value itself and whose others are opPart values right behind
// it. Without fusion every operation is a loop of its own. Values are
// unchanged.

// loop is the body of an opFused value: elementwise operations and sums over
// arrays of one length n, done in blocks that stay in cache. Operands of a
// step are arguments of the value, or registers: blocks of blockLen entries
// that live in cache between steps.
type loop struct {
	n         int
	steps     []step
	registers int
	results   []result
	rowLen    int // columns of the widest matrix whose rows it goes along; 0: none
}

// blockLen is the length of a register. Eight registers of 512 entries take
// 32 KiB, the first-level data cache of common processors.
const blockLen = 512

// Operand kinds.
const (
	fromArg    = iota // entries of argument index, block by block
	fromScalar        // argument index, a scalar
	fromReg           // register index
	fromResult        // result index, written earlier in the block
	fromWhole         // argument index, all of it: matrices, and vectors they multiply
)

// operand is where a step reads, or writes (fromReg, fromResult).
type operand struct{ kind, index int }

// step is one operation over a block. The sums (opSum, opDot, and opMatVec of a
// transposed matrix, whose rows the block's entries weigh) add up over all
// blocks; dst is their result. opMatVec of a matrix makes the block's entries
// from its rows.
type step struct {
	op   op
	in   []operand
	dst  operand
	coef []float64 // opLin
	bias float64   // opLin

	transposed bool // opMatVec
}

// result is an array of the loop's length or, where sum is not 0, a sum of so
// many entries over all blocks.
type result struct{ sum int }

// block is the number of entries that the loop works on at a time: blockLen,
// or, with the rows of a matrix, as many as keep the rows in cache.
func (l *loop) block() int {
	if l.rowLen == 0 {
		return blockLen
	}
	return max(4, min(blockLen, rowBytes/(8*l.rowLen))&^3)
}

// rowBytes is the part of a matrix that a loop reads twice before it goes on:
// half of the second-level cache of 512 KiB that common processors have.
const rowBytes = 256 << 10

// loopLen is the length of the loop that computes value i, and whether it is
// computed by one.
func (f *form) loopLen(i int) (int, bool) {
	v := &f.vals[i]
	switch {
	case v.op.elementwise():
		return v.shape.Len(), true
	case v.op == opSum || v.op == opDot:
		return f.vals[v.args[0]].shape.Len(), true
	case v.byRows:
		return f.vals[v.args[0]].shape.Rows, true
	}
	return 0, false
}

// summing is the number of entries that value i sums over its loop, 0 where it
// is an array of the loop's length.
func (f *form) summing(i int) int {
	v := &f.vals[i]
	if v.op == opSum || v.op == opDot || v.byRows && v.transA {
		return v.shape.Len()
	}
	return 0
}

// byRows marks pairs of products M v and M' w, of one dense matrix too large
// for the cache, that can go along its rows in one loop, so that it is read
// once. Contract: w depends on M v; marked values are unchanged otherwise.
func byRows(f *form) *form {
	return rewrite(f, false, func(r *rewriter, v val) int {
		if v.op != opMatVec || !v.transA || v.symmetric || len(v.args) != 2 || !r.largeDense(v.args[0]) {
			return r.emit(v)
		}
		if s := r.source(v.args[0], v.args[1]); s >= 0 {
			r.val(s).byRows, v.byRows = true, true
		}
		return r.emit(v)
	})
}

// panelBytes bounds the four rows that a kernel goes along at a time and a loop reads twice: what a core has of
// common third-level caches. Measured, a product and its transpose by rows of 4,000 to 65,000 columns take .65 to .75
// of the time of one after the other, at 200,000 .8, at 10^6 as much.
const panelBytes = 2 << 20

// largeDense reports whether value i is a dense constant matrix that does not
// fit into cache, with rows that do.
func (r *rewriter) largeDense(i int) bool {
	m := r.val(i)
	if m.op != opConst {
		return false
	}
	return r.form.constant(i).Sparse == nil && 8*m.shape.Len() > rowBytes && 4*8*m.shape.Cols <= panelBytes
}

// source finds the product M v that the entries of value w come from through
// elementwise operations alone, or -1.
func (r *rewriter) source(matrix, w int) int {
	seen := map[int]bool{}
	n := r.val(w).shape.Len()
	var find func(i, depth int) int
	find = func(i, depth int) int {
		v := r.val(i)
		if v.op == opMatVec && v.args[0] == matrix && !v.transA && len(v.args) == 2 {
			return i
		}
		// Deeper chains are rare; the bound keeps the search short.
		if depth > 16 || seen[i] || !v.op.elementwise() || v.shape.Len() != n {
			return -1
		}
		seen[i] = true
		for _, a := range v.args {
			if s := find(a, depth+1); s >= 0 {
				return s
			}
		}
		return -1
	}
	return find(w, 0)
}

// fuse groups the operations of f into loops; see the contract above.
func fuse(f *form, together bool) *form {
	group := make([]int, len(f.vals)) // group of each value
	var members [][]int
	g := grouping{f: f, group: group}
	for i := range f.vals {
		k := -1
		n, looped := f.loopLen(i)
		if looped && together {
			k = g.join(i, n)
		}
		if k < 0 {
			k = g.open(n, looped)
			members = append(members, nil)
		}
		g.add(i, k)
		members[k] = append(members[k], i)
	}
	order := g.order()
	outside := usedOutside(f, group)
	h := &form{dx: f.dx, dy: f.dy, builder: f.builder}
	at := make([]int, len(f.vals))
	for _, k := range order {
		if !g.looped[k] {
			v := f.vals[members[k][0]]
			v.args = mapped(v.args, at)
			at[members[k][0]] = len(h.vals)
			h.vals = append(h.vals, v)
			continue
		}
		emitLoop(f, h, at, members[k], outside)
	}
	for _, o := range f.outs {
		o.v = at[o.v]
		h.outs = append(h.outs, o)
	}
	return h
}

// emitLoop appends the loop of one group to h: its arguments, its steps, and
// a result for every member that is used outside the group.
func emitLoop(f, h *form, at []int, members []int, outside []bool) {
	n, _ := f.loopLen(members[0])
	body := &loop{n: n}
	v := val{op: opFused, loop: body}
	argAt := map[int]int{}
	where := map[int]operand{}
	free := []int{}                 // registers to be used again
	lastUse := lastUses(f, members) // index into members
	expires := map[int][]int{}      // step -> registers that end there
	results := []int{}              // members that leave the loop
	for m, i := range members {
		w := &f.vals[i]
		v.stage = max(v.stage, w.stage)
		s := step{op: w.op, coef: w.coef, bias: w.bias}
		for k, a := range w.args {
			src, ok := where[a]
			if !ok {
				p, seen := argAt[a]
				if !seen {
					p = len(v.args)
					argAt[a] = p
					v.args = append(v.args, at[a])
				}
				src = operand{fromArg, p}
				switch {
				case w.byRows && (k == 0 || !w.transA):
					src.kind = fromWhole
				case f.vals[a].shape.Rank == 0 && f.summing(i) == 0:
					src.kind = fromScalar
				}
			}
			s.in = append(s.in, src)
		}
		if w.byRows {
			s.transposed = w.transA
			body.rowLen = max(body.rowLen, f.vals[w.args[0]].shape.Cols)
		}
		sum := f.summing(i)
		switch {
		case outside[i]:
			s.dst = operand{fromResult, len(results)}
			results = append(results, i)
			body.results = append(body.results, result{sum: sum})
		default:
			r := body.registers
			if len(free) > 0 {
				r, free = free[len(free)-1], free[:len(free)-1]
			} else {
				body.registers++
			}
			s.dst = operand{fromReg, r}
			expires[lastUse[i]] = append(expires[lastUse[i]], r)
		}
		if sum == 0 {
			where[i] = s.dst
		}
		body.steps = append(body.steps, s)
		free = append(free, expires[m]...)
	}
	for p, i := range results {
		u := val{op: opPart, args: []int{at[results[0]]}, offset: p, stage: v.stage}
		if p == 0 {
			u = v
		}
		u.shape = f.vals[i].shape
		at[i] = len(h.vals)
		h.vals = append(h.vals, u)
	}
}

// usedOutside reports which values are outputs or have users in other groups
// than their own.
func usedOutside(f *form, group []int) []bool {
	out := make([]bool, len(f.vals))
	for _, o := range f.outs {
		out[o.v] = true
	}
	for i := range f.vals {
		for _, a := range f.vals[i].args {
			if group[a] != group[i] {
				out[a] = true
			}
		}
	}
	return out
}

// lastUses gives, for every member, the position in members of its last user.
func lastUses(f *form, members []int) map[int]int {
	last := map[int]int{}
	for m, i := range members {
		last[i] = m
		for _, a := range f.vals[i].args {
			if _, ok := last[a]; ok {
				last[a] = m
			}
		}
	}
	return last
}
