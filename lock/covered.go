package lock

// maxCovered is how many unsigned pins the variants of all servers can have
// together. A verifier judges each variant with all that its server has.
const maxCovered = 200_000

// covered returns how many unsigned pins the variants of a server have together,
// if it has several.
func (s *Server) covered() int {
	variants := map[string]bool{}
	unsigned := 0
	for _, p := range s.Pins {
		if p.Unsigned {
			unsigned++
		} else {
			variants[p.Variant] = true
		}
	}
	if len(variants) < 2 {
		return 0
	}
	return len(variants) * unsigned
}
