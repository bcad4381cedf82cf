package lock

import (
	"bytes"
	"slices"
)

// A pair says which element of an old array became which of a new one; -1
// stands for none.
type pair struct{ old, new int }

// alignByIndex pairs elements whose position is their meaning.
func alignByIndex(a, b []value) []pair {
	pairs := make([]pair, 0, max(len(a), len(b)))
	for i := range max(len(a), len(b)) {
		p := pair{i, i}
		if i >= len(a) {
			p.old = -1
		}
		if i >= len(b) {
			p.new = -1
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// align pairs the elements of two arrays, in order on both sides, so that an
// inserted element leaves its neighbours as they were. Elements go together by
// their name, uri or src, or if they are equal; those between two such pairs by
// their order. It takes O(n log n), and swapping old and new swaps the pairs.
func align(old, new *value) []pair {
	if bytes.Compare(old.form, new.form) > 0 {
		pairs := alignOrdered(new.elements(), old.elements())
		for i, p := range pairs {
			pairs[i] = pair{p.new, p.old}
		}
		return pairs
	}
	return alignOrdered(old.elements(), new.elements())
}

func alignOrdered(a, b []value) []pair {
	pairs := make([]pair, 0, max(len(a), len(b)))
	start := 0
	for start < min(len(a), len(b)) && equal(&a[start], &b[start]) {
		pairs = append(pairs, pair{start, start})
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && equal(&a[len(a)-1-end], &b[len(b)-1-end]) {
		end++
	}
	last := pair{len(a) - end, len(b) - end}
	from := pair{start, start}
	for _, p := range append(anchors(a, b, from, last), last) {
		pairs = alignGap(pairs, a, b, from, p)
		if p != last {
			pairs = append(pairs, p)
		}
		from = pair{p.old + 1, p.new + 1}
	}
	for i := range end {
		pairs = append(pairs, pair{last.old + i, last.new + i})
	}
	return pairs
}

// alignGap pairs by their order what has no counterpart by name or value.
func alignGap(pairs []pair, a, b []value, from, to pair) []pair {
	i, j := from.old, from.new
	for i < to.old || j < to.new {
		switch {
		case i == to.old:
			pairs = append(pairs, pair{-1, j})
			j++
		case j == to.new:
			pairs = append(pairs, pair{i, -1})
			i++
		case a[i].member("name").is('"') && b[j].member("name").is('"'): // by other names they are others
			pairs = append(pairs, pair{i, -1}, pair{-1, j})
			i, j = i+1, j+1
		default:
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
		}
	}
	return pairs
}

// anchors pairs the elements of one key: the longest run of pairs that is in
// order on both sides.
func anchors(a, b []value, from, to pair) []pair {
	type occurrence struct {
		key string
		nth int
	}
	count := make(map[string]int)
	place := make(map[occurrence]int)
	for i := from.old; i < to.old; i++ {
		k := keyOf(&a[i])
		place[occurrence{k, count[k]}] = i
		count[k]++
	}
	clear(count)
	var pairs []pair
	for j := from.new; j < to.new; j++ {
		k := keyOf(&b[j])
		if i, ok := place[occurrence{k, count[k]}]; ok {
			pairs = append(pairs, pair{i, j})
		}
		count[k]++
	}
	return increasing(pairs)
}

// increasing returns a longest subsequence of pairs, which are in the order of
// new, that is in the order of old too.
func increasing(pairs []pair) []pair {
	before := make([]int, len(pairs)) // the pair before this one in its run
	var ends []int                    // ends[n] is the last of the best run of n+1 pairs
	for i, p := range pairs {
		n, _ := slices.BinarySearchFunc(ends, p.old, func(e, old int) int { return pairs[e].old - old })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	run := make([]pair, len(ends))
	for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
		run[n] = pairs[i]
	}
	return run
}

// keyOf returns what makes an element the same one in another version.
func keyOf(v *value) string {
	for _, name := range []string{"name", "uri", "src"} {
		if m := v.member(name); m.is('"') {
			return name + string(m.form)
		}
	}
	return string(v.form)
}
