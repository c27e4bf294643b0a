package e2e_test

// withFailedMessage sends a test message to an address that does not answer, and requests another at once, which is refused.
func withFailedMessage(b *tab, site *demoSite) {
	site.t.Helper()
	const path = deskShop + "/account/notifications"
	form := site.owner.read(path).Find("input[name=form]").AttrOr("value", "")
	site.owner.post(path, "form", form, "mail", "sold", "push", "attention")
	site.owner.post(path+"/where", "form", form, "email", "maren@nord.example", "push_url", "http://127.0.0.1:9/topic")
	site.owner.post(path+"/test", "form", form)
	signedIn("/account/notifications")(b, site)
	press(`form[action$="/test"] button`, ".note.bad")(b, site)
}

// withUnconfirmedAddress visits the notifications of a new account, whose e-mail address waits for its confirmation.
func withUnconfirmedAddress(b *tab, site *demoSite) {
	site.t.Helper()
	const path = deskShop + "/account/notifications"
	member := newDeskClient(site.t, site.owner.invite("manager"), "Runa without mail")
	form := member.read(path).Find("input[name=form]").AttrOr("value", "")
	member.post(path+"/where", "form", form, "email", "runa@nord.example")
	b.signInAs(member)
	b.visit(member.url + path)
}

// atSellersNotifications visits the notifications as a seller, who gets none.
func atSellersNotifications(b *tab, site *demoSite) {
	b.t.Helper()
	b.signInAs(site.seller)
	b.visit(site.seller.url + deskShop + "/account/notifications")
}
