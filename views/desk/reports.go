package desk

// Reports shows the totals of a period.
type Reports struct {
	Frame
	Action  string   // address of the form
	Kept    []Hidden // mode, sent as a hidden field with the filters
	Filters []Filter
	Days    []Field // first and last day; empty unless days are chosen

	Heading  string // the period; empty if the query is wrong
	Compared string // the previous period
	Note     string // what the totals lack, or in which time zone their days begin; may be empty
	Empty    string // reason why there are no totals
	Totals   []Total
	Charts   []Chart
	Groups   []Groups
	Export   Export
}

// Groups is a table of totals by a property.
type Groups struct {
	Heading  string
	Property string
	Rows     []GroupRow
	Total    GroupRow
}

// GroupRow is a row of the table.
type GroupRow struct {
	Name   string
	URL    string // of the shop; only on pages of all shops
	Detail string // a network or an identifier; may be empty
	Count  string
	Share  string
	Amount string
	Before string // amount in the previous period
}

// Export is the form that downloads a file.
type Export struct {
	Action string
	Kept   []Hidden // mode and period, sent as hidden fields with the format
	Format Filter
	Text   string // what the file contains
}
