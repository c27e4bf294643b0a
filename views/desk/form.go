package desk

import (
	"strings"

	"github.com/a-h/templ"
)

// Field is a field of a form.
type Field struct {
	Name     string
	Label    string
	Hint     string
	Value    string
	Error    string
	Kind     string // value of the attribute type
	Complete string // value of the attribute autocomplete
	Digits   bool   // shows the keyboard of digits on phones
	Code     bool   // shown in a monospaced font, such as a code or a key
	Decimal  bool   // shows the keyboard of digits with a decimal point on phones
	Lines    int    // height of a text with several lines; 0 for one line
}

// describedBy returns the ids of the elements that describe the field.
func (f Field) describedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	return strings.Join(ids, " ")
}

// attributes returns the attributes that the fields of one line and of several lines have in common.
func (f Field) attributes() templ.Attributes {
	a := templ.Attributes{"autocapitalize": "none", "spellcheck": "false", "autocomplete": f.Complete}
	if f.Code {
		a["class"] = "mono"
	}
	switch {
	case f.Digits:
		a["inputmode"] = "numeric"
	case f.Decimal:
		a["inputmode"] = "decimal"
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
	}
	if f.describedBy() != "" {
		a["aria-describedby"] = f.describedBy()
	}
	return a
}

// Option is an entry of a list to choose from.
type Option struct {
	Value  string
	Text   string
	Chosen bool
	Group  string // heading above all options of the group; empty for none
}

// OptionGroup is a sequence of options with the same heading.
type OptionGroup struct {
	Heading string
	Options []Option
}

// groups returns the options by their headings.
func (c Choice) groups() (all []OptionGroup) {
	for _, o := range c.Options {
		if len(all) == 0 || all[len(all)-1].Heading != o.Group {
			all = append(all, OptionGroup{Heading: o.Group})
		}
		last := &all[len(all)-1]
		last.Options = append(last.Options, o)
	}
	return all
}

// Choice is a list to choose from.
type Choice struct {
	Name    string
	Label   string
	Hint    string
	Options []Option
	Error   string
	Browser bool // the script chooses the time zone of the browser
}

// Checks is a group of check boxes, of which several may be chosen.
type Checks struct {
	Name    string
	Label   string
	Hint    string
	Error   string
	Columns bool // in columns, for short names
	Options []CheckOption
}

// CheckOption is a check box of a group.
type CheckOption struct {
	Value  string
	Text   string
	Tag    string // language of the text, if it is not that of the page
	Hint   string
	Chosen bool
}

// id returns the id of a check box.
func (c Checks) id(o CheckOption) string { return c.Name + "-" + strings.ReplaceAll(o.Value, ".", "-") }

// describedBy returns the ids of the elements that describe the group.
func (c Checks) describedBy() string {
	return Field{Name: c.Name, Hint: c.Hint, Error: c.Error}.describedBy()
}

// describedBy returns the ids of the elements that describe the list.
func (c Choice) describedBy() string {
	return Field{Name: c.Name, Hint: c.Hint, Error: c.Error}.describedBy()
}

// Passkey is the form that asks the browser for a passkey. It needs JavaScript and is hidden without it.
type Passkey struct {
	Options string // address that returns the options of the ceremony
	Action  string // address that takes the browser's answer
	Create  bool   // creates a passkey; otherwise one signs in
	Button  string
	Text    string // describes what happens
	Failed  string // shown if the browser returns no passkey
	Hidden  []Hidden
	Name    string // id of a field of another form whose value the form sends, too
}

// Hidden is a hidden field of a form.
type Hidden struct{ Name, Value string }

// ceremony returns the method of navigator.credentials that the script calls.
func (p Passkey) ceremony() string {
	if p.Create {
		return "create"
	}
	return "get"
}
