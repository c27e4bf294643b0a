package desk

// Backup is the page of the backups.
type Backup struct {
	Frame
	Tabs       []Tab
	Last       string // describes the last backup
	Refused    string // states why the account may make none; empty if it may
	Action     string
	Passphrase Field
	Repeated   Field
}
