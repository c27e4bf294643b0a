package desk

// Backup is the page of the backups.
type Backup struct {
	Frame
	Tabs       []Tab
	Last       string // describes the last backup
	Refused    string // states why the account may make no backup; empty if it may
	Action     string
	Passphrase Field
	Repeated   Field
}

// PaymentSettings is the form for the payment settings of a shop.
type PaymentSettings struct {
	Frame
	Tabs    []Tab
	Problem string
	Action  string
	Hidden  []Hidden
	Methods MethodChoice
	Below   []SettingGroup // below the payment methods
	Beside  []SettingGroup // beside the payment methods
	Pages   []SettingGroup // groups about the shopper pages and the books, below all others
}

// SettingGroup is a group of payment settings under a heading.
type SettingGroup struct {
	Heading string
	Text    string
	Inputs  []SettingInput
	Notes   []string
	Depths  Depths // without rows if the group has no table
}

// Depths is the table of the confirmations that networks require.
type Depths struct {
	Caption string
	Network string   // heading of the first column
	Columns []string // ranges of amounts
	Rows    []DepthRow
}

// DepthRow has the confirmations that a network requires, by range of amounts.
type DepthRow struct {
	Network string
	Cells   []DepthCell
}

// DepthCell is a number of confirmations.
type DepthCell struct {
	Number string
	Time   string // that they usually take; empty if it is not known
}

// SettingInput is the field of a setting, or a setting that cannot be changed.
type SettingInput struct {
	Text   Field
	Choice Choice
	Checks Checks
	Fixed  FixedSetting
}

// FixedSetting is a setting with a value that the desk cannot change.
type FixedSetting struct {
	Label string
	Value string
	By    string // states where the value is set
}

// Theme is the page of the theme.
type Theme struct {
	Frame
	Tabs    []Tab
	Problem string
	Unsaved string // states that the shown values are not saved; empty if they are saved
	Action  string
	Hidden  []Hidden
	Name    Field
	Logo    Field
	Accent  Field
	Line    Field
	Support Field
	Terms   Field
	Returns bool // the shopper returns to the shop without pressing a button

	SavedLogo string // address of the saved logo; empty if there is none
	SavedText string
	Removes   bool   // saving removes the logo
	Draft     string // hash of the theme with the logo that was chosen and is not saved; empty if there is none
	Preview   Preview
}

// Preview is the preview of a payment page.
type Preview struct {
	Frame    string   // address of the page
	Fault    string   // why the preview does not show the entered values; empty if it shows them
	Contrast []string // describes the derived colours
}
