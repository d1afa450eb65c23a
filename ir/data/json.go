package data

import (
	"encoding/json"

	"bilevelc/internal/each"
)

// AppendLists writes an array as JSON, lists in lists with a comma between their
// elements, and a scalar as it is. entry writes entry k, row-major.
func AppendLists(dst []byte, shape []int, comma string, entry func(dst []byte, k int) []byte) []byte {
	k := 0
	var write func(shape []int)
	write = func(shape []int) {
		if len(shape) == 0 {
			dst = entry(dst, k)
			k++
			return
		}
		dst = append(dst, '[')
		for i := range shape[0] {
			if i > 0 {
				dst = append(dst, comma...)
			}
			write(shape[1:])
		}
		dst = append(dst, ']')
	}
	write(shape)
	return dst
}

// AppendKeyed writes what is given by label as JSON, objects in objects, one level for
// each label, in the order in which labels come first. entry writes that of key k.
func AppendKeyed(dst []byte, keys [][]string, comma, colon string, entry func(dst []byte, k int) []byte) []byte {
	all := each.Number(len(keys))
	var write func(entries []int, depth int)
	write = func(entries []int, depth int) {
		if len(entries) > 0 && len(keys[entries[0]]) == depth {
			dst = entry(dst, entries[0])
			return
		}
		groups := map[string][]int{}
		var order []string
		for _, k := range entries {
			label := keys[k][depth]
			if groups[label] == nil {
				order = append(order, label)
			}
			groups[label] = append(groups[label], k)
		}
		dst = append(dst, '{')
		for i, label := range order {
			if i > 0 {
				dst = append(dst, comma...)
			}
			dst = append(AppendText(dst, label), colon...)
			write(groups[label], depth+1)
		}
		dst = append(dst, '}')
	}
	write(all, 0)
	return dst
}

// AppendText writes a text as JSON.
func AppendText(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string has no errors
	return append(dst, text...)
}
