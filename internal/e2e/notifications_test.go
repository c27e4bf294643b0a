package e2e_test

// withFailedMessage has sent a test message to an address that does not answer, and requests another one at once.
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
