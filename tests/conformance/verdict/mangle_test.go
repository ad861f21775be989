// SPDX-License-Identifier: Apache-2.0

package verdict

// node is an element of DER: a leaf with octets, or one with elements in it. Octets that are whole elements themselves, as the
// values of extensions, have their elements too.
type node struct {
	tag     byte
	content []byte
	parts   []*node
	long    bool // the length in more octets than it needs, which DER forbids
}

// parse reads the elements of der; false: it is no list of elements.
func parse(der []byte) (list []*node, good bool) {
	for len(der) > 0 {
		if len(der) < 2 || der[0]&0x1f == 0x1f {
			return nil, false
		}
		n, head := int(der[1]), 2
		if n >= 0x80 {
			octets := n & 0x7f
			if octets == 0 || octets > 3 || len(der) < 2+octets {
				return nil, false
			}
			for n, head = 0, 2; head < 2+octets; head++ {
				n = n<<8 | int(der[head])
			}
		}
		if len(der) < head+n {
			return nil, false
		}
		e := &node{tag: der[0], content: der[head : head+n]}
		if e.tag&0x20 != 0 || e.tag == 4 {
			if parts, whole := parse(e.content); whole {
				e.parts = parts
			}
		}
		list, der = append(list, e), der[head+n:]
	}
	return list, true
}

func (e *node) der() []byte {
	content := e.content
	if len(e.parts) > 0 {
		content = nil
		for _, part := range e.parts {
			content = append(content, part.der()...)
		}
	}
	whole := tlv(e.tag, content)
	if e.long && whole[1] < 0x80 {
		whole = append([]byte{e.tag, 0x81}, whole[1:]...)
	}
	return whole
}

// place is an element below another one.
type place struct {
	above *node
	at    int
}

func (e *node) places(all []place) []place {
	for i, part := range e.parts {
		all = part.places(append(all, place{e, i}))
	}
	return all
}

// mangle changes one or two elements of the part of a certificate that is signed; the lengths around them stay right.
func (w *world) mangle(tbs []byte) []byte {
	list, good := parse(tbs)
	if !good || len(list) != 1 {
		panic("what is signed is no element")
	}
	for range 1 + w.IntN(2) {
		places := list[0].places(nil)
		w.mangleAt(places[w.IntN(len(places))], places[w.IntN(len(places))])
	}
	return list[0].der()
}

func (w *world) mangleAt(p, other place) {
	parts := p.above.parts
	if p.at >= len(parts) {
		return // the first change took it away
	}
	e := parts[p.at]
	switch w.IntN(9) {
	case 0:
		p.above.parts = append(append(parts[:p.at+1:p.at+1], e.copied()), parts[p.at+1:]...)
	case 1:
		p.above.parts = append(parts[:p.at:p.at], parts[p.at+1:]...)
	case 2:
		next := (p.at + 1) % len(parts)
		parts[p.at], parts[next] = parts[next], parts[p.at]
	case 3:
		e.tag ^= pick(w, byte(1), 2, 0x10, 0x20, 0x80, 0x0c^0x13, 0x17^0x18)
	case 4:
		e.long = true
	case 5:
		if other.at < len(other.above.parts) {
			parts[p.at] = other.above.parts[other.at].copied()
		}
	default:
		e.content, e.parts = w.changed(e.whole()), nil
	}
}

// copied shares nothing with the element, so that a change of one is none of the other.
func (e *node) copied() *node {
	fresh := *e
	fresh.parts = nil
	for _, part := range e.parts {
		fresh.parts = append(fresh.parts, part.copied())
	}
	return &fresh
}

// whole is the content, of parts too.
func (e *node) whole() []byte {
	if len(e.parts) == 0 {
		return e.content
	}
	var content []byte
	for _, part := range e.parts {
		content = append(content, part.der()...)
	}
	return content
}

// changed are octets that differ in one bit, or in one octet at the end.
func (w *world) changed(old []byte) []byte {
	fresh := append([]byte{}, old...)
	switch {
	case len(fresh) == 0 || w.oneIn(4):
		return append(fresh, byte(w.IntN(256)))
	case w.oneIn(3):
		return fresh[:len(fresh)-1]
	}
	fresh[w.IntN(len(fresh))] ^= 1 << w.IntN(8)
	return fresh
}
