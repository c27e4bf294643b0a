package invoice

import "time"

// PluginData is the data that a shop plug-in keeps with an invoice. The rules do not use it.
type PluginData struct {
	Metadata   []byte    // JSON as the plug-in sent it; empty = none
	ArchivedAt time.Time // zero = not archived
}
