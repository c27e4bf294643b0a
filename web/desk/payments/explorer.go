package payments

import (
	"chequer/views"
	"chequer/views/desk"
)

// setExplorerLink sets a link of a transfer to a page of an explorer, with the note about the explorer. It does nothing if the
// address is "".
func (v *page) setExplorerLink(t *desk.Transfer, to *views.Link, address string) {
	if address == "" {
		return
	}
	*to = v.ExplorerLink(address)
	t.Note = v.Text("desk.explorer.note")
}
