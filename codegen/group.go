package codegen

import "slices"

// grouping assigns values to groups, which will be executed as units, so that
// the groups' dependences stay free of cycles.
type grouping struct {
	f      *form
	group  []int // of every value added so far
	looped []bool
	length []int
	stage  []stage
	needs  [][]int // groups that a group depends on, ascending, without duplicates
	users  [][]int // the groups that depend on it
	level  []int   // above those of all that it needs
	seen   []int   // the last question of behind that met it
	asked  int     // questions of behind
}

// open starts a group.
func (g *grouping) open(n int, looped bool) int {
	g.looped = append(g.looped, looped)
	g.length = append(g.length, n)
	g.stage = append(g.stage, dataStage)
	g.needs = append(g.needs, nil)
	g.users = append(g.users, nil)
	g.level = append(g.level, 0)
	g.seen = append(g.seen, 0)
	return len(g.looped) - 1
}

// add puts value i into group k.
func (g *grouping) add(i, k int) {
	g.group[i] = k
	g.stage[k] = g.f.vals[i].stage
	for _, a := range g.f.vals[i].args {
		p := g.group[a]
		if p == k {
			continue
		}
		at, known := slices.BinarySearch(g.needs[k], p)
		if known {
			continue
		}
		g.needs[k], g.users[p] = slices.Insert(g.needs[k], at, p), append(g.users[p], k)
		g.raise(k, g.level[p]+1)
	}
}

// raise lifts group k to a level, and what depends on it above.
func (g *grouping) raise(k, level int) {
	if g.level[k] >= level {
		return
	}
	g.level[k] = level
	for stack := []int{k}; len(stack) > 0; {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range g.users[p] {
			if g.level[u] <= g.level[p] {
				g.level[u] = g.level[p] + 1
				stack = append(stack, u)
			}
		}
	}
}

// reach bounds how many groups back a value looks for one to join, so that
// grouping stays linear in the size of the program.
const reach = 64

// join finds the latest group of loops of length n and the same stage that
// value i can join without a cycle, or -1. Long loops join only groups that
// share an operand with them: otherwise nothing is saved.
func (g *grouping) join(i, n int) int {
	v := &g.f.vals[i]
	for k := len(g.looped) - 1; k >= max(0, len(g.looped)-reach); k-- {
		if !g.looped[k] || g.length[k] != n || g.stage[k] != v.stage {
			continue
		}
		if g.feeds(i, k) && !g.behind(i, k) {
			return k
		}
	}
	return -1
}

// feeds reports whether an argument of value i, that is not a scalar unless
// the loop is of scalars, is in group k or is read by it.
func (g *grouping) feeds(i, k int) bool {
	n := g.length[k]
	for _, a := range g.f.vals[i].args {
		if g.f.vals[a].shape.Len() != n {
			continue
		}
		p := g.group[a]
		if _, read := slices.BinarySearch(g.needs[k], p); read || p == k {
			return true
		}
	}
	return false
}

// behind reports whether value i depends on group k through another group, or
// reads a sum that group k finishes only at its end.
func (g *grouping) behind(i, k int) bool {
	g.asked++
	var reaches func(p int) bool
	reaches = func(p int) bool {
		if p == k {
			return true
		}
		if g.level[p] <= g.level[k] || g.seen[p] == g.asked {
			return false
		}
		g.seen[p] = g.asked
		return slices.ContainsFunc(g.needs[p], reaches)
	}
	for _, a := range g.f.vals[i].args {
		p := g.group[a]
		if p == k {
			if g.f.summing(a) > 0 {
				return true
			}
			continue
		}
		if reaches(p) {
			return true
		}
	}
	return false
}

// order lists the groups so that each comes after those it needs; groups
// stay close to where their last member stood.
func (g *grouping) order() []int {
	out := make([]int, 0, len(g.needs))
	state := make([]uint8, len(g.needs))
	for k := range g.needs {
		stack := []int{k}
		for len(stack) > 0 {
			p := stack[len(stack)-1]
			if state[p] == 2 {
				stack = stack[:len(stack)-1]
				continue
			}
			ready := true
			for _, q := range g.needs[p] {
				if state[q] != 2 {
					stack, ready = append(stack, q), false
				}
			}
			if ready {
				state[p] = 2
				out = append(out, p)
				stack = stack[:len(stack)-1]
			}
		}
	}
	return out
}
