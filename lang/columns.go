package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// maxColumns bounds the columns that one range of numbered names may name.
const maxColumns = 1 << 20

// Numbered lists the columns of a range whose ends are one word with a number
// behind it, as x1..x8: they are those with the numbers from the one to the other,
// wherever they stand in a table; none where the range runs backwards. Numbers of
// one width keep it: x01..x12. A single column is one of these. ok is false for other
// ranges, which are what stands between the two in the table.
func (r *ColumnRange) Numbered() (names []string, ok bool) {
	if r.Last == nil {
		return []string{r.First.Name}, true
	}
	word, from := cutNumber(r.First.Name)
	other, to := cutNumber(r.Last.Name)
	if word != other || from == "" || to == "" {
		return nil, false
	}
	padded := len(from) > 1 && from[0] == '0' || len(to) > 1 && to[0] == '0'
	if padded && len(from) != len(to) {
		return nil, false
	}
	lo, err := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil || hi-lo >= maxColumns {
		return nil, false
	}
	for k := lo; k <= hi; k++ {
		number := strconv.Itoa(k)
		if padded {
			number = fmt.Sprintf("%0*d", len(from), k)
		}
		names = append(names, word+number)
	}
	return names, true
}

// cutNumber takes the digits off the end of a name.
func cutNumber(name string) (word, number string) {
	word = strings.TrimRight(name, "0123456789")
	return word, name[len(word):]
}
