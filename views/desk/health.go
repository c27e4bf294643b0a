package desk

// Health is the page about the health of the server.
type Health struct {
	Frame
	Networks []Finding
	Faults   []Finding // of the server, now
	Messages []Finding // notifications that were given up, by channel
	Examined string    // time of the last examination; empty if there was none
	Summary  string
	Notes    []Finding // neither problems nor successes
	Problems []Finding
	Working  []Finding
	Action   string // address that examines the installation
}

// Finding is the state of a network, or a result of an examination.
type Finding struct {
	Shape string // CSS class of the symbol, see StateLink
	About string
	Text  string
}
