package desk

// icons are the paths of the icons, each in a square of 18 units.
var icons = map[string]string{
	"accounts":   "M9 9a3 3 0 100-6 3 3 0 000 6zM3.500 15.500a5.500 5.500 0 0111 0",
	"attention":  "M3 9.500h3.200l1.300 2.500h3l1.300-2.500H15M3 9.500V14a1 1 0 001 1h10a1 1 0 001-1V9.500L13 4H5z",
	"back":       "M11 4L6 9l5 5",
	"choose":     "M6 7l3-3 3 3M6 11l3 3 3-3",
	"developers": "M6.500 5L3 9l3.500 4M11.500 5L15 9l-3.500 4",
	"done":       "M4 9.500l3.500 3.500L14 5.500",
	"down":       "M5 7l4 4 4-4",
	"health":     "M2.500 9.500h3l2-5 3 9 2-4h3",
	"key":        "M11.500 10.500a4 4 0 10-3.300-1.800L3 14v1.500h2.500V14H7v-1.500h1.500l1.200-1.200a4 4 0 001.800-.8zM12 6h.1",
	"more":       "M3 5h12M3 9h12M3 13h12",
	"note":       "M9 16A7 7 0 109 2a7 7 0 000 14zM9 8v4.500M9 5.500h.1",
	"open":       "M7 4H4v10h10v-3M10 3.500h4.500V8M14 4L8.500 9.500",
	"overview":   "M3 15V9.500M7 15V4M11 15V7.500M15 15v-4.500",
	"payments":   "M3 5h12M3 9h12M3 13h7",
	"plus":       "M9 3.500v11M3.500 9h11",
	"reports":    "M4.500 2.500h6l3.500 3.500v9.500h-9.500zM10.500 2.500V6H14M7 9.500h4.500M7 12.500h4.500",
	"search":     "M8 13A5 5 0 108 3a5 5 0 000 10zM11.700 11.700L15 15",
	"settings":   "M3 5h5M12 5h3M3 13h3M10 13h5M10 3.200v3.600M8 11.200v3.600M3 9h8M15 9h0M13 7.200v3.600",
	"shield":     "M9 2l6 2.200v4.300c0 3.700-2.500 6.300-6 7.500-3.500-1.200-6-3.800-6-7.500V4.200z",
	"wallets":    "M2.500 5.500h12a1 1 0 011 1v7a1 1 0 01-1 1h-11a1 1 0 01-1-1zM2.500 5.500l9-3v3M12.500 10h.1",
	"signout":    "M7.500 3.500H4v11h3.500M11 5.500L14.500 9 11 12.500M14.500 9H7.500",
	"terminal":   "M5 2.500h8a1 1 0 011 1v11a1 1 0 01-1 1H5a1 1 0 01-1-1v-11a1 1 0 011-1zM6.500 5h5v2.500h-5zM6.700 10.500h.1M9 10.500h.1M11.300 10.500h.1M6.700 13h.1M9 13h.1M11.300 13h.1",
	"test":       "M6 2.500V6M12 2.500V6M4.500 6h9v3a4.500 4.500 0 01-9 0zM9 13.500v2.500",
	"sell":       "M3.500 3h5L15 9.500 9.500 15 3 8.500V3.500zM6.300 6.300h.1",
}

// iconPath returns the path of an icon. It panics for an unknown name, which is a programming error.
func iconPath(name string) string {
	path, ok := icons[name]
	if !ok {
		panic("desk: no icon " + name)
	}
	return path
}
