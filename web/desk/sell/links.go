package sell

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// linksSize is the number of links on a page of the list.
const linksSize = 50

// links lists the checkout links of the shop, newest first.
func (v *page) links() error { return v.showLinks(http.StatusOK, v.mode(), "") }

// showLinks shows the list of the links of a mode, with the problem of the last action.
func (v *page) showLinks(status int, mode merchant.Mode, problem string) error {
	after := v.linkPosition()
	all, err := v.Links.Links(v.Request().Context(), v.Shop.ID, mode, after, linksSize+1)
	if err != nil {
		return err
	}
	f, err := v.listFrame(v.Text("desk.links"), linksPath, mode)
	if err != nil {
		return err
	}
	list := desk.SellList{
		Frame: f, Problem: problem, Tabs: v.tabs(linksPath, mode), Add: views.Link{Text: v.Text("desk.link.add"), URL: v.BelowIn(linksPath+"/new", mode == merchant.Test)}, Caption: v.Text("desk.links"),
		Columns: desk.SellColumns{Name: v.Text("desk.link.name"), Detail: v.Text("desk.description"), State: v.Text("desk.state"), Sold: v.soldHeading(), Revenue: v.Text("desk.sell.revenue"), Amount: v.Text("desk.amount")},
	}
	if len(all) > linksSize {
		all = all[:linksSize]
		list.Next = v.BelowIn(linksPath+"?after="+encodedPosition(all[linksSize-1].Position()), mode == merchant.Test)
	}
	list.Shown = v.Words.Count("desk.links.shown", len(all))
	if len(all) == 0 {
		list.Empty = v.Text("desk.links.none")
	}
	sold, err := v.soldBy(report.ByLink, mode)
	if err != nil {
		return err
	}
	for _, l := range all {
		list.Rows = append(list.Rows, desk.SellRow{
			Name: "/pay/" + l.Slug, URL: v.Below(linksPath + "/" + l.Slug + "/edit"), Detail: l.Description, State: v.linkState(l), Sold: sold[l.Slug].number(), Revenue: sold[l.Slug].revenue(), Amount: v.linkAmount(l),
		})
	}
	if (after == merchant.LinkPosition{}) {
		if list.Removed, err = v.removedLinks(mode); err != nil {
			return err
		}
	}
	return v.Show(status, desk.SellListPage(list))
}

// encodedPosition returns a position as the query of the list has it.
func encodedPosition(p merchant.LinkPosition) string {
	return strconv.FormatInt(p.CreatedAt.UnixMilli(), 10) + "-" + p.Slug
}

// linkPosition returns the position in the query; the zero position if it has none.
func (v *page) linkPosition() merchant.LinkPosition {
	at, slug, _ := strings.Cut(v.QueryParam("after"), "-")
	createdAt, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !visit.IsText(slug) {
		return merchant.LinkPosition{}
	}
	return merchant.LinkPosition{CreatedAt: time.UnixMilli(createdAt), Slug: slug}
}

// removedLinks returns the links of a mode whose removal can be undone.
func (v *page) removedLinks(mode merchant.Mode) (rows []desk.RemovedRow, err error) {
	removed, err := v.Links.Removed(v.Request().Context(), v.Shop.ID)
	for _, l := range removed {
		if l.Mode != mode {
			continue
		}
		name := "/pay/" + l.Slug
		rows = append(rows, desk.RemovedRow{
			Name: name, Text: v.Text("desk.link.removed.text", "Amount", v.linkAmount(l.Link), "Time", v.Clock(l.RemovedAt)),
			Restore: desk.Button{
				Action: v.Below(linksPath + "/" + l.Slug + "/restore"), Text: v.Text("desk.undo"), Subject: name, Hidden: []desk.Hidden{{Name: "mode", Value: string(mode)}},
			},
		})
	}
	return rows, err
}

// restoreLink undoes the removal of a link.
func (v *page) restoreLink() error {
	mode := merchant.Live
	if v.FormValue("mode") == string(merchant.Test) {
		mode = merchant.Test
	}
	err := v.Links.Restore(v.Request().Context(), v.Shop.ID, mode, v.Param("link"))
	if errors.Is(err, merchant.ErrNotFound) {
		return v.showLinks(http.StatusConflict, mode, v.Text("desk.link.restore.stale"))
	}
	if err != nil {
		return err
	}
	return v.redirectToList(linksPath, mode, "link-restored")
}

// linkState returns the state of a link: ended or active.
func (v *page) linkState(l merchant.Link) desk.State {
	if l.Ended(v.Now()) {
		return desk.State{Text: v.Text("desk.link.ended"), Shape: "off"}
	}
	return desk.State{Text: v.Text("desk.link.active"), Shape: "ok"}
}

// linkAmount returns the amount of a link as pages show it.
func (v *page) linkAmount(l merchant.Link) string {
	if l.Amount == "" {
		return v.Text("desk.link.any", "Currency", l.Currency)
	}
	return v.Words.Fiat(l.Amount, l.Currency)
}

// ownLink returns the shop's link in the path.
func (v *page) ownLink() (merchant.Link, error) {
	l, err := v.Links.Link(v.Request().Context(), v.Param("link"))
	if err == nil && l.MerchantID != v.Shop.ID {
		err = merchant.ErrNotFound
	}
	return l, err
}

// linkFacts returns the facts about a link that its form does not have.
func (v *page) linkFacts(l merchant.Link) ([]desk.Fact, error) {
	facts := []desk.Fact{{Name: v.Text("desk.fact.created"), Value: v.Clock(l.CreatedAt)}}
	if l.MaxUses == 0 {
		return facts, nil
	}
	used, err := v.Links.LinkUses(v.Request().Context(), l.Slug)
	return append(facts, desk.Fact{Name: v.Text("desk.link.used"), Value: v.Text("desk.transfer.of", "Number", strconv.Itoa(used), "Required", strconv.Itoa(l.MaxUses))}), err
}

// askToRemoveLink shows the consequences before a link is removed.
func (v *page) askToRemoveLink() error {
	l, err := v.ownLink()
	if err != nil {
		return err
	}
	return v.showLinkRemoval(http.StatusOK, l, "")
}

func (v *page) showLinkRemoval(status int, l merchant.Link, problem string) error {
	name := "/pay/" + l.Slug
	heading := v.Text("desk.sell.remove", "Name", name)
	if l.Amount != "" {
		heading = v.Text("desk.product.remove.heading", "Name", name, "Price", v.linkAmount(l))
	}
	f, err := v.objectFrame(heading, l.Mode)
	if err != nil {
		return err
	}
	address := v.Below(linksPath + "/" + l.Slug)
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: name, URL: address + "/edit"}, Heading: heading, Problem: problem,
		Results: []desk.Result{
			{Shape: "warn", Text: v.Text("desk.link.remove.page")}, {Shape: "ok", Text: v.Text("desk.sell.invoices")},
			{Shape: "ok", Text: v.Text("desk.sell.slug", "Slug", l.Slug)}, {Shape: "ok", Text: v.Text("desk.link.remove.undo")},
		},
		Action: address + "/remove", Hidden: []desk.Hidden{{Name: "version", Value: l.Revision()}}, Button: v.Text("desk.link.remove"),
	}))
}

// removeLink removes the revision of a link whose consequences the account has seen.
func (v *page) removeLink() error {
	l, err := v.ownLink()
	if err != nil {
		return err
	}
	err = v.Links.RemoveSeen(v.Request().Context(), v.Shop.ID, l.Mode, l.Slug, v.FormValue("version"))
	if errors.Is(err, merchant.ErrStale) {
		if l, err = v.ownLink(); err != nil {
			return err
		}
		return v.showLinkRemoval(http.StatusConflict, l, v.Text("desk.problem.kept"))
	}
	if err != nil {
		return err
	}
	return v.redirectToList(linksPath, l.Mode, "link-removed")
}
