// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"
)

// tree is a root, an intermediate and a server's certificate, each of them changed by a situation.
type tree struct {
	rootKey, middleKey, leafKey string
	root, middle, leaf          []change
	flat                        bool // no intermediate
	host                        string
	words                       string
}

func (x tree) keys() (root, middle, leaf crypto.Signer) {
	pick := func(name, other string) crypto.Signer {
		if name == "" {
			name = other
		}
		return key(name)
	}
	return pick(x.rootKey, "p256/root"), pick(x.middleKey, "p256/middle"), pick(x.leafKey, "p256/leaf")
}

// certs makes the three; the root is what the bundle holds.
func (x tree) certs() (root, middle, leaf []byte) {
	rk, mk, lk := x.keys()
	signs := keyUsage(5, 6)
	root = craft("root", rk, []pkix.Extension{ca(), signs, skid("root")}, x.root).by(dn("root"), rk)
	issuer, signer, id := dn("root"), rk, "root"
	if !x.flat {
		middle = craft("middle", mk, []pkix.Extension{ca(), signs, skid("middle"), akid("root")}, x.middle).by(issuer, signer)
		issuer, signer, id = dn("middle"), mk, "middle"
	}
	leaf = craft("server", lk, []pkix.Extension{keyUsage(0), usages(serverAuth), akid(id), san("dns:api.test", "ip:\x7f\x00\x00\x01")},
		x.leaf).by(issuer, signer)
	return root, middle, leaf
}

func (x tree) situation(name string) situation {
	root, middle, leaf := x.certs()
	_, _, lk := x.keys()
	s := situation{name: name, bundle: certPEM(root), sent: [][]byte{leaf}, key: lk, host: x.host, words: x.words}
	if middle != nil {
		s.sent = append(s.sent, middle)
	}
	if s.host == "" {
		s.host = "api.test"
	}
	return s
}

func situations(t *testing.T) []situation {
	var all []situation
	add := func(name string, x tree) { all = append(all, x.situation(name)) }
	addUsages(add)
	addBasics(add)
	addNames(add)
	addConstraints(add)
	addForms(add)
	addTimes(add)
	addKeys(add)
	addSignatures(add)
	addPolicies(add)
	all = append(all, chains()...)
	all = append(all, bundles()...)
	return append(all, fromOpenSSL(t)...)
}

type adder func(name string, x tree)

// --- what a certificate may be used for ---

func addUsages(add adder) {
	for bit := range 9 {
		add(fmt.Sprintf("usage/leaf %d", bit), tree{leaf: []change{with(keyUsage(bit))}})
	}
	add("usage/leaf as on Kubernetes' page", tree{leaf: []change{with(keyUsage(2, 3))}, leafKey: "rsa2048/leaf"})
	add("usage/leaf none", tree{leaf: []change{without(15)}})
	add("usage/leaf empty bits", tree{leaf: []change{with(keyUsage())}})
	for _, bits := range [][]int{{0}, {5}, {6}, {0, 5}, {6, 2}, {}, {8}} {
		add(fmt.Sprintf("usage/root %v", bits), tree{root: []change{with(keyUsage(bits...))}})
		add(fmt.Sprintf("usage/middle %v", bits), tree{middle: []change{with(keyUsage(bits...))}})
	}
	add("usage/root none", tree{root: []change{without(15)}})
	add("usage/middle none", tree{middle: []change{without(15)}})
	purposes := map[string]pkix.Extension{
		"server": usages(serverAuth), "client": usages(clientAuth), "any": usages(anyUsage), "code": usages(codeSigning),
		"both": usages(clientAuth, serverAuth), "odd": usages(odd), "odd and server": usages(odd, serverAuth), "empty": usages(),
		"client and any": usages(clientAuth, anyUsage),
	}
	for name, e := range purposes {
		add("purpose/leaf "+name, tree{leaf: []change{with(e)}})
		add("purpose/middle "+name, tree{middle: []change{with(e)}})
		add("purpose/root "+name, tree{root: []change{with(e)}})
	}
	add("purpose/leaf none", tree{leaf: []change{without(37)}})
}

// --- who may sign ---

func addBasics(add adder) {
	no := ext(19, true, seq())
	explicit := ext(19, true, seq(tlv(1, []byte{0})))
	v1 := func(c *crafted) { c.version, c.extensions = 0, nil }
	v2 := func(c *crafted) { c.version, c.extensions = 1, nil }
	for _, level := range []string{"root", "middle"} {
		at := func(c ...change) tree {
			if level == "root" {
				return tree{root: c}
			}
			return tree{middle: c}
		}
		add("basic/no constraints in "+level, at(without(19)))
		add("basic/no authority in "+level, at(with(no)))
		add("basic/false in "+level, at(with(explicit)))
		add("basic/not critical in "+level, at(with(ext(19, false, seq(tlv(1, []byte{0xff}))))))
		add("basic/version 1 in "+level, at(v1))
		add("basic/version 2 in "+level, at(v2))
		add("basic/length 0 in "+level, at(with(caLen(0))))
		add("basic/length 1 in "+level, at(with(caLen(1))))
		add("basic/negative length in "+level, at(with(caLen(-1))))
		add("basic/true as 01 in "+level, at(with(ext(19, true, seq(tlv(1, []byte{1}))))))
		add("basic/malformed in "+level, at(with(ext(19, true, []byte{4, 0}))))
	}
	add("basic/leaf version 1", tree{leaf: []change{v1}})
	add("basic/leaf is an authority", tree{leaf: []change{with(caLen(0))}})
	add("basic/leaf without", tree{leaf: []change{with(no)}})
}

// --- the server's name ---

func addNames(add adder) {
	rows := []struct{ san, host string }{
		{"dns:api.test", "API.TEST"}, {"dns:API.test", "api.test"}, {"dns:api.test", "api.test."}, {"dns:api.test.", "api.test"},
		{"dns:api.test.", "api.test."}, {"dns:*.test", "api.test"}, {"dns:*.test", "api.test."}, {"dns:*.test", "a.api.test"},
		{"dns:*.test", "test"}, {"dns:*.api.test", "a.api.test"}, {"dns:*", "api"}, {"dns:*", "api.test"}, {"dns:a*.test", "api.test"},
		{"dns:*i.test", "api.test"}, {"dns:api.*", "api.test"}, {"dns:*.*.test", "a.b.test"}, {"dns:a.*.test", "a.b.test"},
		{"dns:_x.test", "_x.test"}, {"dns:-x.test", "-x.test"}, {"dns:x-.test", "x-.test"}, {"dns:a..test", "a..test"},
		{"dns:", "api.test"}, {"dns:.", "api.test"}, {"dns:.api.test", "api.test"}, {"dns:xn--bcher-kva.test", "xn--bcher-kva.test"},
		{"dns:api.test\x00.evil", "api.test"}, {"dns:\xc3\xa4.test", "api.test"}, {"dns: api.test", "api.test"},
		{"dns:kubernetes", "kubernetes"}, {"dns:127.0.0.1", "127.0.0.1"}, {"ip:\x7f\x00\x00\x01", "127.0.0.1"},
		{"ip:\x0a\x00\x00\x09", "127.0.0.1"}, {"ip:\x0a\x00\x00\x01", "[10.0.0.1]"},
		{"ip:\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "::1"},
		{"ip:\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "[::1]"},
		{"ip:\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01", "127.0.0.1"},
		{"ip:\x7f\x00\x00\x01", "::ffff:127.0.0.1"}, {"ip:\x7f\x00\x00", "127.0.0.1"}, {"ip:\x7f\x00\x00\x01\xff", "127.0.0.1"},
		{"ip:\x7f\x00\x00\x01", "127.000.000.001"}, {"ip:\x7f\x00\x00\x01", "127.1"}, {"ip:\x7f\x00\x00\x01", "api.test"},
		{"dns:*.0.0.1", "127.0.0.1"}, {"email:api.test", "api.test"}, {"uri:https://api.test/", "api.test"},
		{"dir:api.test", "api.test"}, {"other:", "api.test"}, {"rid:\x2a", "api.test"},
	}
	for _, r := range rows {
		add(fmt.Sprintf("names/%q for %s", r.san, r.host), tree{leaf: []change{with(san(r.san))}, host: r.host})
	}
	uris := []string{"spiffe://cluster.local/ns/x/sa/y", "urn:uuid:1", "", "https://api.test:443/a?b#c", "https://", "https://a..b/",
		"https://a./", "%zz", "https://api.test/%2", "a b", ":x", "1x:y", "\xff", "//host/path", "mailto:a@b"}
	for _, u := range uris {
		add(fmt.Sprintf("names/with the uri %q", u), tree{leaf: []change{with(san("dns:api.test", "uri:"+u))}})
	}
	add("names/uri with a user", tree{leaf: []change{with(san("dns:api.test", "uri:https://u@api.test/"))}})
	add("names/none, common name", tree{leaf: []change{without(17), func(c *crafted) { c.subject = dn("api.test") }},
		words: "it does not list api.test among its subject alternative names"})
	add("names/empty list", tree{leaf: []change{with(ext(17, false, seq()))}})
	add("names/critical", tree{leaf: []change{with(ext(17, true, san("dns:api.test").Value))}})
	add("names/critical and not evaluated", tree{leaf: []change{with(ext(17, true, san("dir:x").Value))},
		words: "critical extension that is not supported: subject alternative names"})
	add("names/malformed", tree{leaf: []change{with(ext(17, false, []byte{0x30, 5, 0x82, 9, 'a', 'b', 'c'}))}})
	add("names/no sequence", tree{leaf: []change{with(ext(17, false, []byte{4, 0}))}})
	add("names/many", tree{leaf: []change{func(c *crafted) {
		var many []string
		for i := range 300 {
			many = append(many, fmt.Sprintf("dns:node-%d.test", i))
		}
		with(san(append(many, "dns:api.test")...))(c)
	}}})
}

// --- name constraints ---

func addConstraints(add adder) {
	v4 := "ip:\x7f\x00\x00\x00\xff\x00\x00\x00"
	other := "ip:\x0a\x00\x00\x00\xff\x00\x00\x00"
	v6 := "ip:" + strings.Repeat("\x00", 32)
	mapped := func(low ...byte) string { return strings.Repeat("\x00", 10) + "\xff\xff" + string(low) } // v4 in v6
	ones := func(n int) string { return strings.Repeat("\xff", n) + strings.Repeat("\x00", 16-n) }
	mappedRange := "ip:" + mapped(10, 0, 0, 0) + ones(13)
	names := map[string]struct {
		permitted, excluded subtrees
		leaf                []string // nil: api.test and 127.0.0.1
	}{
		"dns permitted":                 {permitted: subtrees{"dns:test"}},
		"dns permitted exactly":         {permitted: subtrees{"dns:api.test"}},
		"dns permitted in capitals":     {permitted: subtrees{"dns:API.TEST"}},
		"dns permitted, all":            {permitted: subtrees{"dns:"}},
		"dns not permitted":             {permitted: subtrees{"dns:other"}},
		"dns not permitted, suffix":     {permitted: subtrees{"dns:pi.test"}},
		"dns permitted with a dot":      {permitted: subtrees{"dns:.test"}},
		"dns not permitted with a dot":  {permitted: subtrees{"dns:.api.test"}},
		"dns one of two permitted":      {permitted: subtrees{"dns:other", "dns:test"}},
		"dns excluded":                  {excluded: subtrees{"dns:test"}},
		"dns other excluded":            {excluded: subtrees{"dns:other"}},
		"dns all excluded":              {excluded: subtrees{"dns:"}},
		"dns permitted and excluded":    {permitted: subtrees{"dns:test"}, excluded: subtrees{"dns:api.test"}},
		"dns below is excluded":         {excluded: subtrees{"dns:a.api.test"}},
		"second name not permitted":     {permitted: subtrees{"dns:api.test"}, leaf: []string{"dns:api.test", "dns:b.test"}},
		"wildcard below excluded":       {excluded: subtrees{"dns:a.b.test"}, leaf: []string{"dns:api.test", "dns:*.b.test"}},
		"wildcard permitted":            {permitted: subtrees{"dns:test"}, leaf: []string{"dns:*.test", "dns:api.test"}},
		"wildcard wider than permitted": {permitted: subtrees{"dns:api.test"}, leaf: []string{"dns:*.test", "dns:api.test"}},
		"name with a final dot":         {permitted: subtrees{"dns:test"}, leaf: []string{"dns:api.test", "dns:a.test."}},
		"name with a blank":             {permitted: subtrees{"ip:\x7f\x00\x00\x00\xff\x00\x00\x00"}, leaf: []string{"dns:api.test", "dns:a b"}},
		"ip permitted":                  {permitted: subtrees{v4}},
		"ip not permitted":              {permitted: subtrees{other}},
		"ip one of two permitted":       {permitted: subtrees{other, v4}},
		"ip excluded":                   {excluded: subtrees{v4}},
		"ip other excluded":             {excluded: subtrees{other}},
		"ip of the other family alone":  {permitted: subtrees{v6}},
		"ip all permitted":              {permitted: subtrees{"ip:" + strings.Repeat("\x00", 8)}},
		"ip loose":                      {permitted: subtrees{"ip:\x7f\x00\x00\x05\xff\x00\x00\x00"}},
		"ip with a broken mask":         {permitted: subtrees{"ip:\x7f\x00\x00\x00\xff\x00\xff\x00"}},
		"ip of a wrong length":          {permitted: subtrees{"ip:\x7f\x00\x00\x00\xff\x00\x00"}},
		"ip mapped, v6 permitted":       {permitted: subtrees{v6}, leaf: []string{"dns:api.test", "ip:" + mapped(10, 0, 0, 1)}},
		"ip mapped, its range":          {permitted: subtrees{mappedRange}, leaf: []string{"dns:api.test", "ip:" + mapped(10, 0, 0, 1)}},
		"ip mapped, another range":      {permitted: subtrees{mappedRange}, leaf: []string{"dns:api.test", "ip:" + mapped(11, 0, 0, 1)}},
		"ip under a wide mapped range": {permitted: subtrees{"ip:" + mapped(0, 0, 0, 0) + ones(10)},
			leaf: []string{"dns:api.test", "ip:" + strings.Repeat("\x00", 12) + "\x00\x00\x00\x01"}},
		"ip beside a mapped range": {permitted: subtrees{v6, mappedRange},
			leaf: []string{"dns:api.test", "ip:\x20\x01" + strings.Repeat("\x00", 14)}},
		"ip behind a range up to the mapped": {permitted: subtrees{"ip:" + strings.Repeat("\x00", 16) + ones(8),
			"ip:" + strings.Repeat("\x00", 10) + "\xff\xfe" + strings.Repeat("\x00", 4) + strings.Repeat("\xff", 11) + "\xfe" + strings.Repeat("\x00", 4)},
			leaf: []string{"dns:api.test", "ip:" + strings.Repeat("\x00", 9) + "\x01" + strings.Repeat("\x00", 6)}},
		"ip all of both kinds excluded": {excluded: subtrees{"ip:" + strings.Repeat("\x00", 8), v6}, leaf: []string{"dns:api.test"}},
		"dns with a final dot":          {permitted: subtrees{"dns:test."}},
		"dns with an empty label":       {permitted: subtrees{"dns:a..test"}},
		"email permitted, none there":   {permitted: subtrees{"email:a@b.test"}},
		"email permitted":               {permitted: subtrees{"email:b.test"}, leaf: []string{"dns:api.test", "email:a@b.test"}},
		"email permitted whole":         {permitted: subtrees{"email:a@B.test"}, leaf: []string{"dns:api.test", "email:a@b.test"}},
		"email not permitted":           {permitted: subtrees{"email:b.test"}, leaf: []string{"dns:api.test", "email:a@c.test"}},
		"email not permitted, local":    {permitted: subtrees{"email:x@b.test"}, leaf: []string{"dns:api.test", "email:a@b.test"}},
		"email excluded":                {excluded: subtrees{"email:a@b.test"}, leaf: []string{"dns:api.test", "email:a@b.test"}},
		"email malformed":               {permitted: subtrees{"dns:test"}, leaf: []string{"dns:api.test", "email:nobody"}},
		"email constraint malformed":    {permitted: subtrees{"email:@"}},
		"uri permitted":                 {permitted: subtrees{"uri:test"}, leaf: []string{"dns:api.test", "uri:https://a.test:1/x"}},
		"uri not permitted":             {permitted: subtrees{"uri:test"}, leaf: []string{"dns:api.test", "uri:https://a.other/x"}},
		"uri excluded":                  {excluded: subtrees{"uri:.test"}, leaf: []string{"dns:api.test", "uri:spiffe://a.test/x"}},
		"uri of an address":             {permitted: subtrees{"dns:test"}, leaf: []string{"dns:api.test", "uri:https://10.0.0.1/"}},
		"uri without a host":            {permitted: subtrees{"dns:test"}, leaf: []string{"dns:api.test", "uri:urn:x"}},
		"uri constraint is an address":  {permitted: subtrees{"uri:10.0.0.1"}},
		"directory permitted":           {permitted: subtrees{"dir:server"}},
		"directory excluded":            {excluded: subtrees{"dir:server"}},
		"directory and dns":             {permitted: subtrees{"dir:server", "dns:test"}},
		"directory and dns not":         {permitted: subtrees{"dir:server", "dns:other"}},
		"empty":                         {},
		"empty list":                    {permitted: subtrees{}},
		"kinds that are not there":      {permitted: subtrees{"email:x.test", "uri:x.test"}},
	}
	for name, row := range names {
		for _, critical := range []bool{true, false} {
			where := map[bool]string{true: "critical", false: "plain"}[critical]
			leaf := []change{}
			if row.leaf != nil {
				leaf = append(leaf, with(san(row.leaf...)))
			}
			e := with(constraints(critical, row.permitted, row.excluded))
			add("constraints/"+name+", "+where+", root", tree{root: []change{e}, leaf: leaf})
			if critical {
				add("constraints/"+name+", "+where+", middle", tree{middle: []change{e}, leaf: leaf})
			}
		}
	}
	add("constraints/ip mapped, v6 excluded", tree{root: []change{with(constraints(true, nil, subtrees{v6}))},
		leaf: []change{with(san("dns:api.test", "ip:"+mapped(10, 0, 0, 1)))}})
	bad := constraints(false, subtrees{"dns:other"}, nil)
	add("constraints/on the leaf itself", tree{leaf: []change{with(bad)}})
	add("constraints/violated by the intermediate's own name", tree{root: []change{with(constraints(true, subtrees{"dns:test", v4}, nil))},
		middle: []change{with(san("dns:middle.other"))}})
	add("constraints/of intermediate do not bind itself", tree{middle: []change{with(constraints(true, subtrees{"dns:test", v4}, nil)),
		with(san("dns:middle.other"))}})
	add("constraints/words", tree{flat: true, root: []change{with(bad)}, words: `its issuer "root" has name constraints that do not permit api.test`})
	add("constraints/words of a directory", tree{flat: true, root: []change{with(constraints(true, subtrees{"dir:x"}, nil))},
		words: `"root" has a critical extension that is not supported: name constraints`})
}

// --- forms of certificates ---

func addForms(add adder) {
	unknown := func(critical bool) change {
		return also(pkix.Extension{Id: odd, Critical: critical, Value: []byte{5, 0}})
	}
	changes := map[string]change{
		"unknown extension":             unknown(false),
		"critical unknown extension":    unknown(true),
		"extension twice":               func(c *crafted) { c.extensions = append(c.extensions, c.extensions[0]) },
		"negative serial":               func(c *crafted) { c.serial = der(-5) },
		"zero serial":                   func(c *crafted) { c.serial = der(0) },
		"serial of 30 octets":           func(c *crafted) { c.serial = tlv(2, bytes.Repeat([]byte{0x55}, 30)) },
		"serial not minimal":            func(c *crafted) { c.serial = []byte{2, 2, 0, 1} },
		"version 4":                     func(c *crafted) { c.version = 3 },
		"version 2 with extensions":     func(c *crafted) { c.version = 1 },
		"unique identifiers":            func(c *crafted) { c.unique = true },
		"bytes after it":                func(c *crafted) { c.trailing = []byte{0} },
		"two algorithms":                func(c *crafted) { a := ecSHA384; c.inner = &a },
		"wrong signature":               func(c *crafted) { c.badSign = true },
		"critical authority key id":     with(ext(35, true, seq(tlv(0x80, []byte("root"))))),
		"critical subject key id":       with(ext(14, true, tlv(4, []byte("x")))),
		"authority key id of no form":   with(ext(35, false, []byte{4, 0})),
		"authority key id empty":        with(ext(35, false, seq())),
		"key usage of no form":          with(ext(15, true, []byte{4, 0})),
		"key usage with padding":        with(ext(15, true, []byte{3, 2, 1, 0xff})),
		"extended usage of no form":     with(ext(37, false, []byte{0x30, 2, 5, 0})),
		"policies twice":                with(ext(32, false, seq(seq(der(odd)), seq(der(odd))))),
		"policies":                      with(ext(32, true, seq(seq(der(odd))))),
		"policies of no form":           with(ext(32, false, seq(der(odd)))),
		"distribution points":           with(ext(31, false, seq(seq(tlv(0xa0, tlv(0xa0, tlv(0x86, []byte("http://x")))))))),
		"distribution points, no form":  with(ext(31, false, seq(tlv(4, nil)))),
		"distribution points, critical": with(ext(31, true, seq())),
		"access": also(pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 1},
			Value: seq(seq(der(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1}), tlv(0x86, []byte("http://x"))))}),
		"access, critical":    also(pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 1}, Critical: true, Value: seq()}),
		"access, no form":     also(pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 1}, Value: []byte{4, 0}}),
		"key without NULL":    func(c *crafted) { c.key, c.spki = key("rsa2048/odd"), rsaSPKI(nil) },
		"key with NULL":       func(c *crafted) { c.key, c.spki = key("rsa2048/odd"), rsaSPKI(derNull) },
		"curve secp256k1":     func(c *crafted) { c.spki = ecSPKI(asn1.ObjectIdentifier{1, 3, 132, 0, 10}, 32, 4) },
		"point off the curve": func(c *crafted) { c.spki = ecSPKI(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}, 32, 4) },
		"point compressed":    func(c *crafted) { c.spki = ecSPKI(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}, 16, 2) },
	}
	for name, f := range changes {
		if name != "bytes after it" && !strings.HasPrefix(name, "key with") {
			add("form/"+name+", leaf", tree{leaf: []change{f}})
		}
		if !strings.HasPrefix(name, "key with") && !strings.HasPrefix(name, "point") && !strings.HasPrefix(name, "curve") {
			add("form/"+name+", middle", tree{middle: []change{f}})
		}
		if name == "wrong signature" || name == "two algorithms" || strings.Contains(name, "unknown") || strings.Contains(name, "twice") {
			add("form/"+name+", root", tree{root: []change{f}})
		}
	}
	add("form/key with NULL, leaf", tree{leafKey: "rsa2048/odd", leaf: []change{changes["key with NULL"]}})
	add("form/key without NULL, leaf", tree{leafKey: "rsa2048/odd", leaf: []change{changes["key without NULL"]}})
	add("form/words of a curve", tree{leaf: []change{changes["curve secp256k1"]}, words: "the curve of its key"})
	add("form/words of an extension", tree{leaf: []change{unknown(true)}, words: "1.3.6.1.4.1.99999.7"})
	texts := map[string]struct {
		tag  byte
		text string
	}{"printable": {0x13, "server"}, "not printable": {0x13, "server@"}, "starred": {0x13, "*&"}, "T61": {0x14, "\xff"}, "BMP": {0x1e, "\x00s"},
		"odd BMP": {0x1e, "\x00s\x00"}, "surrogate BMP": {0x1e, "\xd8\x00"}, "universal": {0x1c, "\x00\x00\x00s"}, "bad UTF-8": {0x0c, "\xff"},
		"IA5": {0x16, "s"}, "bad IA5": {0x16, "\x80"}, "numeric": {0x12, "12 3"}, "not numeric": {0x12, "x"}, "integer": {2, "\x01"}}
	for name, row := range texts {
		add("form/subject "+name, tree{leaf: []change{func(c *crafted) { c.subject = dnOf(row.tag, []byte(row.text)) }}})
	}
	add("form/subject empty", tree{leaf: []change{func(c *crafted) { c.subject = seq() }}})
}

func ecSPKI(curve asn1.ObjectIdentifier, size int, form byte) []byte {
	point := append([]byte{form}, bytes.Repeat([]byte{1}, 2*size)...)
	return seq(seq(der(asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}), der(curve)), tlv(3, []byte{0}, point))
}

// --- times ---

func addTimes(add adder) {
	for _, level := range []string{"root", "middle", "leaf"} {
		at := func(c change) tree {
			switch level {
			case "root":
				return tree{root: []change{c}}
			case "middle":
				return tree{middle: []change{c}}
			}
			return tree{leaf: []change{c}}
		}
		add("time/expired "+level, at(expired))
		add("time/future "+level, at(future))
		add("time/general "+level, at(func(c *crafted) {
			c.from, c.to = general(time.Now().Add(-time.Hour)), general(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
		}))
	}
	to := func(text string, tag int) tree {
		return tree{leaf: []change{func(c *crafted) { c.to = rawTime(tag, text) }}}
	}
	add("time/in 2049", to("491231235959Z", asn1.TagUTCTime))
	add("time/in 1950", to("500101000000Z", asn1.TagUTCTime))
	add("time/in 1999", to("991231235959Z", asn1.TagUTCTime))
	add("time/without seconds", to("4912312359Z", asn1.TagUTCTime))
	add("time/with an offset", to("491231235959+0100", asn1.TagUTCTime))
	add("time/without a zone", to("491231235959", asn1.TagUTCTime))
	add("time/month 13", to("491331235959Z", asn1.TagUTCTime))
	add("time/29 February 2048", to("480229000000Z", asn1.TagUTCTime))
	add("time/29 February 2047", to("470229000000Z", asn1.TagUTCTime))
	add("time/hour 24", to("491231240000Z", asn1.TagUTCTime))
	add("time/second 60", to("491231235960Z", asn1.TagUTCTime))
	add("time/with a fraction", to("20491231235959.5Z", asn1.TagGeneralizedTime))
	add("time/general without seconds", to("204912312359Z", asn1.TagGeneralizedTime))
	add("time/not a time", to("soon", asn1.TagPrintableString))
}

// --- keys ---

func addKeys(add adder) {
	for _, kind := range []string{"p256", "p384", "p521", "rsa2048", "rsa3072", "rsa4096", "ed25519"} {
		add("key/leaf "+kind, tree{leafKey: kind + "/leaf"})
	}
	for _, kind := range []string{"p224", "p256", "p384", "p521", "rsa1024", "rsa2048", "rsa3072", "rsa4096", "ed25519"} {
		add("key/root "+kind, tree{rootKey: kind + "/root", flat: true})
	}
	for _, e := range []int{3, 1<<31 - 1, 1<<31 + 1, 1<<32 + 15} {
		add(fmt.Sprintf("key/middle with the exponent %d", e), tree{middleKey: fmt.Sprintf("exponent/%d", e)})
	}
	add("key/all rsa4096", tree{rootKey: "rsa4096/root", middleKey: "rsa4096/middle", leafKey: "rsa4096/leaf"})
	add("key/all p521", tree{rootKey: "p521/root", middleKey: "p521/middle", leafKey: "p521/leaf"})
	add("key/all p384", tree{rootKey: "p384/root", middleKey: "p384/middle", leafKey: "p384/leaf"})
}

// --- signatures ---

func addSignatures(add adder) {
	rsa := func(a sigalg) tree {
		return tree{middleKey: "rsa2048/middle", leaf: []change{signed(a)}}
	}
	for name, a := range map[string]sigalg{"SHA-256": rsaSHA256, "SHA-384": rsaSHA384, "SHA-512": rsaSHA512, "SHA-1": rsaSHA1,
		"PSS 256": pss(256, 256, 32), "PSS 384": pss(384, 384, 48), "PSS 512": pss(512, 512, 64), "PSS of another salt": pss(256, 256, 20),
		"PSS of another MGF": pss(256, 384, 32)} {
		add("signature/RSA "+name, rsa(a))
	}
	for name, a := range map[string]sigalg{"SHA-256": ecSHA256, "SHA-384": ecSHA384, "SHA-512": ecSHA512, "SHA-1": ecSHA1} {
		add("signature/ECDSA "+name, tree{leaf: []change{signed(a)}})
	}
	add("signature/SHA-1 of the root on itself", tree{rootKey: "rsa2048/root", root: []change{signed(rsaSHA1)}, flat: true})
	add("signature/SHA-1 on an intermediate", tree{rootKey: "rsa2048/root", middle: []change{signed(rsaSHA1)}, words: "SHA-1"})
	without := rsaSHA256
	without.params = nil
	add("signature/RSA without NULL", rsa(without))
	withParams := func(parts ...[]byte) tree {
		a := pss(256, 256, 32)
		a.params = seq(parts...)
		return rsa(a)
	}
	trailer := tlv(0xa3, der(1))
	for i, name := range []string{"hash", "MGF", "salt", "trailer"} {
		parts := append(pssParts(256, 256, 32), trailer)
		parts[i] = tlv(parts[i][0], parts[i][2:], derNull)
		add("signature/RSA PSS, bytes after its "+name, withParams(parts...))
	}
	add("signature/RSA PSS with its trailer", withParams(append(pssParts(256, 256, 32), trailer)...))
	add("signature/RSA PSS of another trailer", withParams(append(pssParts(256, 256, 32), tlv(0xa3, der(2)))...))
	add("signature/RSA PSS, bytes after its parameters", withParams(append(pssParts(256, 256, 32), derNull)...))
	add("signature/unknown algorithm", tree{leaf: []change{signed(sigalg{oid: odd, hash: crypto.SHA256})}})
	add("signature/RSA's name over an EC key", tree{leaf: []change{signed(sigalg{oid: under(oidRSA, 11), params: derNull, hash: crypto.SHA256})}})
}

// --- policies ---

func addPolicies(add adder) {
	list := func(oids ...asn1.ObjectIdentifier) change {
		var all [][]byte
		for _, o := range oids {
			all = append(all, seq(der(o)))
		}
		return with(ext(32, false, seq(all...)))
	}
	any := asn1.ObjectIdentifier{2, 5, 29, 32, 0}
	p, q := under(odd, 1), under(odd, 2)
	require := with(ext(36, true, seq(tlv(0x80, []byte{0}))))
	mapping := func(from, to asn1.ObjectIdentifier) change { return with(ext(33, false, seq(seq(der(from), der(to))))) }
	add("policy/required, none", tree{middle: []change{require}})
	add("policy/required, the same", tree{middle: []change{require, list(p)}, leaf: []change{list(p)}})
	add("policy/required, another", tree{middle: []change{require, list(p)}, leaf: []change{list(q)}})
	add("policy/required, one of two", tree{middle: []change{require, list(p, q)}, leaf: []change{list(q)}})
	add("policy/required, any above", tree{middle: []change{require, list(any)}, leaf: []change{list(q)}})
	add("policy/required, any below", tree{middle: []change{require, list(p)}, leaf: []change{list(any)}})
	add("policy/required, mapped on the way", tree{middle: []change{require, list(p), mapping(p, q)}, leaf: []change{list(q)}})
	add("policy/required by the root alone", tree{root: []change{require}})
	add("policy/required by the leaf", tree{leaf: []change{require}})
	add("policy/required later", tree{middle: []change{with(ext(36, true, seq(tlv(0x80, []byte{3}))))}})
	add("policy/of no form", tree{middle: []change{with(ext(36, true, []byte{4, 0}))}})
	add("policy/mapping of any", tree{middle: []change{list(p), mapping(any, q)}, leaf: []change{list(q)}})
	add("policy/any inhibited", tree{middle: []change{require, list(p), with(ext(54, true, der(0)))}, leaf: []change{list(any)}})
	uuid := append([]byte{0x69, 0x83}, bytes.Repeat([]byte{0x85}, 17)...)
	add("policy/of a UUID", tree{leaf: []change{with(ext(32, false, seq(seq(tlv(6, uuid, []byte{1})))))}})
	add("policy/mapping without a need", tree{middle: []change{list(p), mapping(p, q)}, leaf: []change{list(q)}})
}

// --- chains ---

func chains() []situation {
	var all []situation
	root, middle, leaf := tree{}.certs()
	rk, mk, lk := tree{}.keys()
	add := func(name string, bundle [][]byte, sent ...[]byte) {
		all = append(all, situation{name: "chain/" + name, bundle: pems(bundle...), sent: sent, key: lk, host: "api.test"})
	}
	authorityOf := func(cn string, k crypto.Signer, issuer string, signer crypto.Signer, changes ...change) []byte {
		return craft(cn, k, []pkix.Extension{ca(), keyUsage(5)}, changes).by(dn(issuer), signer)
	}
	other := key("p256/other")
	otherRoot := authorityOf("other", other, "other", other)
	cross := authorityOf("root", rk, "other", other)
	crossOld := authorityOf("root", rk, "other", other, expired)
	rootOld := authorityOf("root", rk, "root", rk, expired)
	middleOld := authorityOf("middle", mk, "root", rk, expired)
	namesake := authorityOf("middle", key("p256/namesake"), "root", rk)
	namesakeOf := func(id string) []byte {
		return authorityOf("middle", key("p256/namesake"), "root", rk, with(skid(id)))
	}
	second := authorityOf("second", key("p256/second"), "middle", mk)
	leaf2 := craft("server", lk, []pkix.Extension{san("dns:api.test")}, nil).by(dn("second"), key("p256/second"))
	own := craft("server", lk, []pkix.Extension{san("dns:api.test")}, nil).by(dn("server"), lk)
	ownOld := craft("server", lk, []pkix.Extension{san("dns:api.test")}, []change{expired}).by(dn("server"), lk)

	add("usual", [][]byte{root}, leaf, middle)
	add("with the root", [][]byte{root}, leaf, middle, root)
	add("other order", [][]byte{root}, leaf, root, middle)
	add("two intermediates", [][]byte{root}, leaf2, second, middle)
	add("two intermediates, other order", [][]byte{root}, leaf2, middle, second)
	add("one is missing", [][]byte{root}, leaf)
	add("one of two is missing", [][]byte{root}, leaf2, middle)
	add("the missing one is in the bundle", [][]byte{root, middle}, leaf)
	add("namesake first", [][]byte{root}, leaf, namesake, middle)
	add("namesake last", [][]byte{root}, leaf, middle, namesake)
	add("namesake alone", [][]byte{root}, leaf, namesake)
	add("namesake of the same key id", [][]byte{root}, leaf, namesakeOf("middle"), middle)
	add("namesake of another key id", [][]byte{root}, leaf, namesakeOf("x"), middle)
	add("issuer pinned without its root", [][]byte{middle}, leaf)
	add("issuer pinned, sent too", [][]byte{middle}, leaf, middle)
	add("issuer pinned and expired", [][]byte{middleOld}, leaf)
	add("server pinned", [][]byte{leaf}, leaf)
	add("server pinned, self-signed", [][]byte{own}, own)
	add("server pinned, expired", [][]byte{ownOld}, ownOld)
	add("self-signed", [][]byte{root}, own)
	add("another root", [][]byte{otherRoot}, leaf, middle)
	add("another root, the right one sent", [][]byte{otherRoot}, leaf, middle, root)
	add("cross-signed", [][]byte{otherRoot}, leaf, middle, cross)
	add("cross-signed, expired", [][]byte{otherRoot}, leaf, middle, crossOld)
	add("cross-signed, expired, root there", [][]byte{root}, leaf, middle, crossOld)
	add("expired root beside its successor", [][]byte{rootOld, root}, leaf, middle)
	add("expired root alone", [][]byte{rootOld}, leaf, middle)
	add("expired intermediate beside its successor", [][]byte{root}, leaf, middleOld, middle)
	add("expired intermediate alone", [][]byte{root}, leaf, middleOld)
	add("circle", [][]byte{otherRoot}, leaf, middle, authorityOf("root", rk, "middle", mk), authorityOf("middle", mk, "root", rk))
	add("twice the same", [][]byte{root, root}, leaf, middle, middle, middle)
	add("strangers sent", [][]byte{root}, leaf, otherRoot, own, second, middle)
	add("stranger that cannot be read", [][]byte{root}, leaf, middle, garbled())
	add("stranger with an Ed25519 key", [][]byte{root}, leaf, middle, authorityOf("ed", key("ed25519/x"), "root", rk))
	x25519 := seq(seq(der(asn1.ObjectIdentifier{1, 3, 101, 110})), tlv(3, []byte{0}, bytes.Repeat([]byte{9}, 32)))
	add("stranger with an X25519 key", [][]byte{root}, leaf, middle, authorityOf("x", other, "root", rk, func(c *crafted) { c.spki = x25519 }))
	deep := [][]byte{nil}
	issuer, signer := "root", rk
	for i := range 8 {
		name := fmt.Sprintf("deep %d", i)
		k := key("p256/" + name)
		deep = append(deep, authorityOf(name, k, issuer, signer))
		issuer, signer = name, k
	}
	deep[0] = craft("server", lk, []pkix.Extension{san("dns:api.test")}, nil).by(dn(issuer), signer)
	add("eight intermediates", [][]byte{root}, deep...)
	many := [][]byte{leaf}
	for i := range 25 {
		many = append(many, authorityOf("middle", key(fmt.Sprintf("p256/many %d", i)), "root", rk))
	}
	add("many namesakes", [][]byte{root}, append(append([][]byte{}, many...), middle)...)
	loop := [][]byte{leaf}
	for i := range 24 {
		loop = append(loop, craft("middle", mk, []pkix.Extension{ca(), san(fmt.Sprintf("dns:%d", i))}, nil).by(dn("middle"), mk))
	}
	add("loops that are never the same", [][]byte{otherRoot}, loop...)
	return all
}

func garbled() []byte {
	c := craft("garbled", key("p256/other"), nil, []change{func(c *crafted) { c.version = 7 }})
	return c.by(dn("x"), key("p256/other"))
}

// --- bundles ---

func pems(certs ...[]byte) []byte {
	var b []byte
	for _, c := range certs {
		b = append(b, certPEM(c)...)
	}
	return b
}

func keyPEM(key crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
}

func bundles() []situation {
	var all []situation
	root, middle, leaf := tree{}.certs()
	_, _, lk := tree{}.keys()
	add := func(name string, bundle []byte) {
		all = append(all, situation{name: "bundle/" + name, bundle: bundle, sent: [][]byte{leaf, middle}, key: lk, host: "api.test"})
	}
	another := func(kind string, i int) []byte {
		k := key(kind + "/bundle")
		return craft(fmt.Sprintf("%s %d", kind, i), k, []pkix.Extension{ca(), keyUsage(5)}, nil).by(dn("x"), k)
	}
	repeat := func(n int, kinds ...string) []byte {
		var b []byte
		for i := range n {
			b = append(b, certPEM(another(kinds[i%len(kinds)], i))...)
		}
		return b
	}
	mine := certPEM(root)
	mixed := []string{"rsa2048", "p256", "rsa4096", "p384", "ed25519", "p521", "p224"}
	add("24 of RSA-2048", append(repeat(24, "rsa2048"), mine...))
	add("24 of RSA-4096", append(repeat(24, "rsa4096"), mine...))
	add("50 mixed", append(repeat(50, mixed...), mine...))
	add("50 mixed, ours first", append(append([]byte{}, mine...), repeat(50, mixed...)...))
	add("140, as a distribution has", append(repeat(140, mixed...), mine...))
	add("140 of others", repeat(140, mixed...))
	var same []byte
	for i := range 60 {
		k := key(fmt.Sprintf("p256/same %d", i))
		same = append(same, certPEM(craft("root", k, []pkix.Extension{ca(), keyUsage(5), skid(fmt.Sprint(i))}, nil).by(dn("root"), k))...)
	}
	add("60 namesakes", append(same, mine...))
	add("with comments", []byte("# Root\n\nsubject=CN=root\n"+string(mine)+"end\n"))
	add("with carriage returns", []byte(strings.ReplaceAll(string(mine), "\n", "\r\n")))
	add("on one line", []byte("-----BEGIN CERTIFICATE-----\n"+strings.ReplaceAll(strings.Join(strings.Split(string(mine), "\n")[1:], ""),
		"-----END", "\n-----END")+"\n"))
	add("without a final line end", bytes.TrimRight(mine, "\n"))
	add("with a key in it", append(keyPEM(key("p256/other")), mine...))
	add("with headers", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: root}))
	add("with a broken block", append([]byte("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n"), mine...))
	add("with an unreadable certificate", append(certPEM(garbled()), mine...))
	add("unreadable alone", certPEM(garbled()))
	add("with bytes after a certificate", append(certPEM(append(append([]byte{}, root...), 0)), certPEM(another("p256", 1))...))
	add("of another kind", pem.EncodeToMemory(&pem.Block{Type: "TRUSTED CERTIFICATE", Bytes: root}))
	add("a key alone", keyPEM(key("p256/other")))
	add("Ed25519 alone", repeat(1, "ed25519"))
	return all
}
