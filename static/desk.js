// Improves the desk's pages, which work without it: one open menu at a time, keys, passkeys, the token in
// the fragment of a link, the time zone, and pages that update themselves.
(function () {
"use strict";
var d = document;
d.documentElement.classList.remove("nojs");

// The keys /, ?, j and k work, and g followed by the key of a page, unless the account has disabled them. No key sends a
// form.
var keys = d.querySelector("[data-keys]"), isAfterG, goTimer;
// listLink returns the link of the list that is step rows after the focused link, or the first link of the list.
function listLink(step) {
  var all = [].slice.call(d.querySelectorAll("tbody .go1, .list h2 a, .list h3 a")), at = all.indexOf(d.activeElement);
  return all[at < 0 ? 0 : at + step];
}
d.addEventListener("keydown", function (e) {
  var open = d.querySelector("details.menu[open]"), key = e.key, to;
  if (key === "Escape" && open) { open.open = false; open.querySelector("summary").focus(); return; }
  if (!keys || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.matches("input,select,textarea")) return;
  clearTimeout(goTimer);
  if (isAfterG) to = keys.querySelector("[data-key='" + CSS.escape(key) + "']");
  else if (key === "/") to = d.getElementById("q");
  else if (key === "j" || key === "k") to = listLink(key === "j" ? 1 : -1);
  if (to && isAfterG) to.click();
  else if (to) { to.focus(); e.preventDefault(); }
  else if (key === "?") location.assign(keys.dataset.keys);
  isAfterG = key === "g" && !isAfterG;
  if (isAfterG) goTimer = setTimeout(function () { isAfterG = false; }, 2e3);
});
["click", "focusin"].forEach(function (type) {
  d.addEventListener(type, function (e) {
    d.querySelectorAll("details.menu[open]").forEach(function (menu) { if (!menu.contains(e.target)) menu.open = false; });
  });
});

// A button with data-copies copies the text of the element with that id.
d.addEventListener("click", function (e) {
  var button = e.target.closest("[data-copies]");
  if (!button) return;
  var code = d.getElementById(button.dataset.copies), said = d.querySelector("[data-copied='" + button.dataset.copies + "']");
  (navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject()).then(function () {
    said.textContent = button.dataset.done;
  }, function () {
    getSelection().selectAllChildren(code);
    said.textContent = button.dataset.fail;
  }).then(function () {
    var text = button.dataset.text = button.dataset.text || button.textContent;
    button.textContent = said.textContent;
    setTimeout(function () { button.textContent = text; said.textContent = ""; }, 2e3);
  });
});

// A token never reaches the server in an address: the fragment fills in the form, which posts it.
var paste = d.getElementById("paste");
if (paste && location.hash.length > 1) {
  paste.elements.token.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  paste.submit();
}

// A form with data-send is sent at once.
var sent = d.querySelector("form[data-send]");
if (sent) sent.submit();

// In a list of time zones with data-zone, the zone of the browser is chosen. It is added to the list if the list has
// the zone under another name only.
var zones = d.querySelector("select[data-zone]"), zone = zones && Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  if (![].some.call(zones.options, function (o) { return o.value === zone; })) {
    var own = d.createElement("option");
    own.value = own.textContent = zone;
    zones.add(own, 1);
  }
  zones.value = zone;
}

// A form with data-passkey asks the browser for a passkey with the options that the server gives, and
// posts the answer in its field "credential". Both are JSON with binary values in base64url. See WebAuthn,
// "PublicKeyCredential".
function decodeBase64(text) {
  var raw = atob(text.replace(/-/g, "+").replace(/_/g, "/")), out = new Uint8Array(raw.length);
  for (var i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}
function encodeBase64(buffer) {
  return btoa(String.fromCharCode.apply(null, new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
function decodeOptions(given) {
  var key = given.publicKey;
  key.challenge = decodeBase64(key.challenge);
  if (key.user) key.user.id = decodeBase64(key.user.id);
  (key.excludeCredentials || []).concat(key.allowCredentials || []).forEach(function (c) { c.id = decodeBase64(c.id); });
  return given;
}
function encodeCredential(credential) {
  var r = credential.response, out = { id: credential.id, rawId: encodeBase64(credential.rawId), type: credential.type, response: { clientDataJSON: encodeBase64(r.clientDataJSON) }, clientExtensionResults: credential.getClientExtensionResults() };
  if (credential.authenticatorAttachment) out.authenticatorAttachment = credential.authenticatorAttachment;
  ["attestationObject", "authenticatorData", "signature", "userHandle"].forEach(function (name) { if (r[name]) out.response[name] = encodeBase64(r[name]); });
  if (r.getTransports) out.response.transports = r.getTransports();
  return out;
}
// Browsers allow one request for a passkey at a time, so a new request aborts the previous one.
var ceremony;
function askPasskey(form, mediation) {
  if (ceremony) ceremony.abort();
  var controller = ceremony = new AbortController(), offer;
  form.querySelectorAll("[data-of]").forEach(function (field) { field.value = d.getElementById(field.dataset.of).value; });
  return fetch(form.dataset.passkey, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" } })
    .then(function (r) { return r.json(); })
    .then(function (given) {
      if (given.error) throw { message: given.error };
      offer = given.offer;
      var call = decodeOptions(given.options);
      call.signal = controller.signal;
      if (mediation) call.mediation = mediation;
      return form.dataset.ceremony === "create" ? navigator.credentials.create(call) : navigator.credentials.get(call);
    })
    .then(function (credential) {
      form.elements.offer.value = offer;
      form.elements.credential.value = JSON.stringify(encodeCredential(credential));
      form.submit();
    });
}
// The browser offers its passkeys in the field for the name, if it supports this. The request is repeated after 14 minutes,
// before its options expire.
function offerPasskeys(form) {
  if (!d.querySelector("[autocomplete~=webauthn]") || !PublicKeyCredential.isConditionalMediationAvailable) return;
  PublicKeyCredential.isConditionalMediationAvailable().then(function (can) {
    if (!can) return;
    askPasskey(form, "conditional").catch(function () {});
    var controller = ceremony;
    setTimeout(function () { if (controller === ceremony) offerPasskeys(form); }, 84e4);
  });
}
d.querySelectorAll("form[data-passkey]").forEach(function (form) {
  if (!window.PublicKeyCredential) return;
  form.hidden = false;
  form.addEventListener("submit", function (e) {
    if (form.elements.credential.value) return;
    e.preventDefault();
    var fault = form.querySelector("[data-fault]"), button = form.querySelector("button");
    fault.textContent = "";
    button.setAttribute("aria-busy", "true");
    askPasskey(form).catch(function (problem) {
      button.removeAttribute("aria-busy");
      fault.textContent = problem.name ? fault.dataset.fault : problem.message || fault.dataset.fault;
      offerPasskeys(form);
    });
  });
  offerPasskeys(form);
});

// A form with data-preview shows its values in the preview as they are entered. A chosen file is sent once; the server
// keeps it in the draft.
var themeForm = d.querySelector("form[data-preview]"), sent = 0, isNewFile, timer;
function preview() {
  var request = new XMLHttpRequest(), data = new FormData(themeForm), number = ++sent, withFile = isNewFile;
  data.set("action", "preview");
  if (withFile) data.set("draft", ""); else data.delete("logo");
  request.open("POST", themeForm.getAttribute("action"));
  request.responseType = "document";
  request.onload = function () {
    var page = request.response, facts = page && page.querySelector("#preview-facts"), frame = page && page.querySelector(".framed iframe");
    if (number !== sent || !facts) return;
    d.getElementById("preview-facts").replaceChildren.apply(d.getElementById("preview-facts"), [].slice.call(facts.childNodes));
    if (request.status !== 200) return;
    if (withFile) isNewFile = false;
    themeForm.elements.draft.value = page.querySelector("[name=draft]").value;
    frame.onload = function () { while (frame.previousElementSibling) frame.previousElementSibling.remove(); };
    d.querySelector(".framed").append(frame);
  };
  request.send(data);
}
if (themeForm) themeForm.addEventListener("input", function (e) {
  if (e.target.type === "file") isNewFile = true;
  clearTimeout(timer);
  timer = setTimeout(preview, 500);
});

// A page with data-stream loads itself again when its shop has changed, and updates the nodes that differ. Forms are not
// updated, so that typed values are kept.
var main = d.querySelector("main[data-stream]"), stream, isLoading, mustRepeat, announcedAt = 0;
function isSame(a, b) {
  return a.nodeName === b.nodeName && (a.nodeType !== 1 || a.getAttribute("class") === b.getAttribute("class"));
}
// updateNode makes a node equal to a node of the page that was loaded, and reports whether it changed the node.
function updateNode(old, fresh) {
  if (old.isEqualNode(fresh)) return false;
  if (old.nodeType !== 1) {
    var differs = old.nodeValue !== fresh.nodeValue;
    if (differs) old.nodeValue = fresh.nodeValue;
    return differs;
  }
  if (old.matches("form,.fresh,#updated")) return false;
  if (old.dataset.new) return updateRows(old, fresh);
  var isChanged = false;
  [].forEach.call(fresh.attributes, function (a) {
    if (a.name !== "open" && old.getAttribute(a.name) !== a.value) { old.setAttribute(a.name, a.value); isChanged = true; }
  });
  [].slice.call(old.attributes).forEach(function (a) {
    if (a.name !== "open" && !fresh.hasAttribute(a.name)) { old.removeAttribute(a.name); isChanged = true; }
  });
  var had = [].slice.call(old.childNodes), has = [].slice.call(fresh.childNodes);
  if (had.length === has.length && had.every(function (n, i) { return isSame(n, has[i]); }))
    return had.reduce(function (isChanged, n, i) { return updateNode(n, has[i]) || isChanged; }, isChanged);
  var focus = old.contains(d.activeElement) && d.activeElement;
  if (focus && focus.matches("input,select,textarea")) return isChanged;
  old.replaceChildren.apply(old, has);
  focus = focus && [].filter.call(old.querySelectorAll("a"), function (a) { return a.href === focus.href; })[0];
  if (focus) focus.focus({ preventScroll: true });
  return true;
}
// updateRows updates the rows that are shown. It does not show new rows, which would move the others, but counts them in a
// link that loads the page again.
function updateRows(old, fresh) {
  var shown = {}, count = 0, isNew = true, isChanged = false, link = d.querySelector("#" + old.dataset.new + " a");
  [].forEach.call(old.rows, function (row) { shown[row.querySelector("a").href] = row; });
  [].slice.call(fresh.rows).forEach(function (row) {
    var same = shown[row.querySelector("a").href];
    if (same) { isNew = false; isChanged = updateNode(same, row) || isChanged; }
    else if (isNew) count++;
  });
  if (count) { link.textContent = link.dataset.text.replace("#", count); link.hidden = false; }
  return isChanged;
}
function update() {
  mustRepeat = isLoading;
  if (isLoading) return;
  isLoading = true;
  var request = new XMLHttpRequest();
  request.open("GET", location.href.split("#")[0]);
  request.responseType = "document";
  request.setRequestHeader("Desk-Update", "1");
  request.onload = function () {
    var page = request.response, isChanged = false, status = d.getElementById("updated");
    if (request.status !== 200 || !page || !page.querySelector("main[data-stream]")) return;
    [".places", ".bar", ".wrap"].forEach(function (part) { isChanged = updateNode(d.querySelector(part), page.querySelector(part)) || isChanged; });
    if (!isChanged || Date.now() - announcedAt < 5e3) return;
    announcedAt = Date.now();
    status.textContent = "";
    setTimeout(function () { status.textContent = status.dataset.text; }, 100);
  };
  request.onloadend = function () {
    setTimeout(function () { isLoading = false; if (mustRepeat) update(); }, 2e3);
  };
  request.send();
}
// Only a visible page has a stream: browsers allow six connections to a server over HTTP/1.1.
function followChanges() {
  if (d.hidden && stream) { stream.close(); stream = null; }
  if (d.hidden || stream) return;
  stream = new EventSource(main.dataset.stream);
  stream.onmessage = function (e) {
    main.dataset.stream = main.dataset.stream.replace(/seen=\d+/, "seen=" + e.data);
    update();
  };
}
if (main && window.EventSource) {
  addEventListener("load", function () {
    setTimeout(function () { // the page itself is loaded first
      d.addEventListener("visibilitychange", followChanges);
      followChanges();
    }, 1e3);
  });
}
})();
