package desk

// Log is the audit log, newest first.
type Log struct {
	Frame
	Tabs    []Tab
	Entries []Entry
	Older   string // address of the next page; empty on the last
}

// Entry is an entry of the audit log.
type Entry struct {
	Number string
	Change string
	Actor  string
	Detail string
	At     string // time as displayed
	Time   string // value of the datetime attribute
}
