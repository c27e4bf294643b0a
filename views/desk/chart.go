package desk

// Chart is a bar chart with a table of the same figures.
type Chart struct {
	ID    string // of the heading
	Title string
	Name  string // what the chart shows, for screen readers
	Lines []ChartLine
	Bars  []ChartBar
	Ticks []ChartTick
	Table ChartTable
}

// ChartLine is a horizontal line with its value.
type ChartLine struct{ Y, Text string }

// ChartBar is a bar. Its height is empty if its value is zero.
type ChartBar struct{ Title, X, Y, Width, Height string }

// ChartTick names a place on the horizontal axis.
type ChartTick struct{ X, Text string }

// ChartTable has the figures of a chart.
type ChartTable struct {
	Caption string
	Heading string // of the first column
	Rows    []ChartRow
}

// ChartRow is a row of the table of a chart.
type ChartRow struct{ Name, Count, Amount string }
