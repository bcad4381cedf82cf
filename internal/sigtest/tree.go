package sigtest

import (
	"crypto/sha256"
	"math/bits"
	"sync"
)

// A tree is the Merkle tree of a log (RFC 6962 section 2.1).
type tree struct {
	mu     sync.Mutex
	bodies [][]byte
	hashes [][]byte
}

// A proof says that a body is in the tree.
type proof struct {
	body  []byte
	index int
	size  int
	root  []byte
	path  [][]byte
}

// add appends body and proves it to be there.
func (t *tree) add(body []byte) proof {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bodies = append(t.bodies, body)
	t.hashes = append(t.hashes, sum(0, body))
	return t.prove(len(t.bodies) - 1)
}

// at proves the body with the given index.
func (t *tree) at(index int) proof {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.prove(index)
}

func (t *tree) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.bodies)
}

func (t *tree) prove(i int) proof {
	return proof{t.bodies[i], i, len(t.bodies), root(t.hashes), auditPath(i, t.hashes)}
}

// find returns the index of body, or -1.
func (t *tree) find(body []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, b := range t.bodies {
		if string(b) == string(body) {
			return i
		}
	}
	return -1
}

func sum(prefix byte, parts ...[]byte) []byte {
	h := sha256.New()
	h.Write([]byte{prefix})
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// split is the largest power of two below n > 1.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

func root(hashes [][]byte) []byte {
	if len(hashes) == 1 {
		return hashes[0]
	}
	k := split(len(hashes))
	return sum(1, root(hashes[:k]), root(hashes[k:]))
}

func auditPath(i int, hashes [][]byte) [][]byte {
	if len(hashes) == 1 {
		return nil
	}
	k := split(len(hashes))
	if i < k {
		return append(auditPath(i, hashes[:k]), root(hashes[k:]))
	}
	return append(auditPath(i-k, hashes[k:]), root(hashes[:k]))
}
