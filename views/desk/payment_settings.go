package desk

// PaymentSettings is the form for the payment settings of a shop.
type PaymentSettings struct {
	Frame
	Tabs    []Tab
	Problem string
	Action  string
	Hidden  []Hidden
	Methods MethodChoice
	Pages   []SettingGroup // below the payment methods
	Groups  []SettingGroup // beside them
}

// SettingGroup is a group of payment settings under a heading.
type SettingGroup struct {
	Heading string
	Text    string
	Inputs  []SettingInput
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
