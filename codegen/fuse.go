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
)

// operand is where a step reads, or writes (fromReg, fromResult).
type operand struct{ kind, index int }

// step is one operation over a block. The sums (opSum, opDot) add up over all
// blocks; dst is their result.
type step struct {
	op   op
	in   []operand
	dst  operand
	coef []float64 // opLin
	bias float64   // opLin
}

// result is an array of length n or, with sum set, a scalar.
type result struct{ sum bool }

// loopLen is the length of the loop that computes value i, and whether it is
// computed by one.
func (f *form) loopLen(i int) (int, bool) {
	v := &f.vals[i]
	switch {
	case v.op.elementwise():
		return v.shape.Len(), true
	case v.op == opSum || v.op == opDot:
		return f.vals[v.args[0]].shape.Len(), true
	}
	return 0, false
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
		for _, a := range w.args {
			src, ok := where[a]
			if !ok {
				p, seen := argAt[a]
				if !seen {
					p = len(v.args)
					argAt[a] = p
					v.args = append(v.args, at[a])
				}
				src = operand{fromArg, p}
				if f.vals[a].shape.Rank == 0 && !(w.op == opSum || w.op == opDot) {
					src.kind = fromScalar
				}
			}
			s.in = append(s.in, src)
		}
		sum := w.op == opSum || w.op == opDot
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
		if !sum {
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
