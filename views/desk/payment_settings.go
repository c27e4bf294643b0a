package desk

// PaymentSettings is the form for the payment settings of a shop.
type PaymentSettings struct {
	Frame
	Tabs    []Tab
	Problem string
	Action  string
	Hidden  []Hidden
	Methods MethodChoice
	Below   []SettingGroup // below the payment methods
	Beside  []SettingGroup // beside them
	Pages   []SettingGroup // below all
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
	Cells   []string
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
	By    string // names what sets the value
}
