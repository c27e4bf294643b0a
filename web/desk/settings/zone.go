package settings

import (
	"slices"
	"strings"

	"chequer/internal/merchant"
	"chequer/internal/zone"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// zoneChoice returns the field for the time zone of the books. Its options are zone.Names, grouped by continent. A chosen
// zone that is not one of them is inserted after the first, UTC.
func zoneChoice(v *visit.Visit, chosen string) desk.Choice {
	c := desk.Choice{Name: string(merchant.SettingTimeZone), Label: v.Text("desk.zone"), Hint: v.Text("desk.zone.hint")}
	names := zone.Names()
	isListed := chosen == "" || slices.Contains(names, chosen)
	if !isListed {
		names = slices.Insert(names, 1, chosen)
	}
	for _, name := range names {
		o := desk.Option{Value: name, Text: strings.ReplaceAll(name, "_", " "), Chosen: name == chosen}
		o.Group, _, _ = strings.Cut(name, "/")
		if o.Group == name || o.Chosen && !isListed {
			o.Group = ""
		}
		c.Options = append(c.Options, o)
	}
	return c
}
