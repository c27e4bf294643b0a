package desk

// Theme is the page of the theme.
type Theme struct {
	Frame
	Tabs    []Tab
	Problem string
	Unsaved string // states that the shown values are not saved; empty if they are
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
	Preview   Preview
}

// Preview is the preview of a payment page.
type Preview struct {
	Shop     string
	Line     string
	Style    string   // address of the style sheet with the colours; empty for the default colours
	Contrast []string // describes the derived colours
}
