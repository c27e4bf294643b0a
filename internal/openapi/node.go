package openapi

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// node is a node of a document.
type node struct{ *yaml.Node }

// member is a member of an object.
type member struct {
	name  string
	value node
}

// exists reports whether the node is in the document.
func (n node) exists() bool { return n.Node != nil }

// resolved returns the target of an alias, or the node itself if it is no alias.
func (n node) resolved() node {
	for n.exists() && n.Kind == yaml.AliasNode {
		n = node{n.Alias}
	}
	return n
}

// members returns the members of an object, in the document's order.
func (n node) members() []member {
	n = n.resolved()
	if !n.exists() || n.Kind != yaml.MappingNode {
		return nil
	}
	var list []member
	for i := 0; i < len(n.Content); i += 2 {
		list = append(list, member{n.Content[i].Value, node{n.Content[i+1]}.resolved()})
	}
	return list
}

// items returns the items of a list.
func (n node) items() []node {
	n = n.resolved()
	if !n.exists() || n.Kind != yaml.SequenceNode {
		return nil
	}
	var list []node
	for _, item := range n.Content {
		list = append(list, node{item}.resolved())
	}
	return list
}

// at returns the node below a path of names. If there is none, the result does not exist.
func (n node) at(names ...string) node {
	for _, name := range names {
		var found node
		for _, m := range n.members() {
			if m.name == name {
				found = m.value
			}
		}
		n = found
	}
	return n
}

// text returns the text of a member, without the line feed that ends a block; "" if there is none.
func (n node) text(name string) string {
	if n = n.at(name); n.exists() {
		return strings.TrimSpace(n.Value)
	}
	return ""
}

// json appends a node as JSON. Numbers keep their spelling.
func (n node) json(b []byte) []byte {
	switch n = n.resolved(); n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i, m := range n.members() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, quoted(m.name)...)
			b = m.value.json(append(b, ':'))
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.json(b)
		}
		return append(b, ']')
	}
	if n.ShortTag() == "!!str" {
		return append(b, quoted(n.Value)...)
	}
	return append(b, n.Value...)
}

// quoted returns a text as a JSON string.
func quoted(text string) []byte {
	b, _ := json.Marshal(text) // a text always encodes
	return b
}

// sample returns an example as indented JSON, or "" if there is none.
func (n node) sample() string {
	if !n.exists() {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, n.json(nil), "", "  "); err != nil {
		return ""
	}
	return b.String()
}

// follow returns the target of a reference and its name. A node that is not a reference is returned
// unchanged.
func (r *reader) follow(n node) (to node, name string) {
	reference := n.text("$ref")
	if reference == "" {
		return n, ""
	}
	parts := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	return r.root.at(parts...), parts[len(parts)-1]
}
