package visit

import "chequer/views/desk"

// PasswordField returns the field for a password. complete is the field's autocomplete attribute.
func (v *Visit) PasswordField(name, complete string) desk.Field {
	return desk.Field{Name: name, Label: v.Text("desk.password"), Kind: "password", Complete: complete}
}

// CodeField returns the field for a code of an authenticator app.
func (v *Visit) CodeField(name, hint string) desk.Field {
	return desk.Field{Name: name, Label: v.Text("desk.code"), Hint: hint, Kind: "text", Complete: "one-time-code", Code: true}
}

// TextField returns a field for one line of text. label and hint are the keys of its texts. hint is "" for a field
// without a hint.
func (v *Visit) TextField(name, label, hint, value string) desk.Field {
	f := desk.Field{Name: name, Label: v.Text(label), Value: value, Kind: "text", Complete: "off"}
	if hint != "" {
		f.Hint = v.Text(hint)
	}
	return f
}
