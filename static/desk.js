// Improves the desk's pages, which work without it: one open menu at a time, keys, passkeys, the token in
// the fragment of a link, the time zone, and pages that update themselves.
(function () {
"use strict";
var d = document;
d.documentElement.classList.remove("nojs");

// Single keys work unless the account has disabled them. None of them sends a form.
var keys = d.querySelector("[data-keys]"), isGoing, going;
function row(step) {
  var all = [].slice.call(d.querySelectorAll("tbody .go1, .list h2 a, .list h3 a")), at = all.indexOf(d.activeElement);
  return all[at < 0 ? 0 : at + step];
}
d.addEventListener("keydown", function (e) {
  var open = d.querySelector("details.menu[open]"), key = e.key, to;
  if (key === "Escape" && open) { open.open = false; open.querySelector("summary").focus(); return; }
  if (!keys || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.matches("input,select,textarea")) return;
  clearTimeout(going);
  if (isGoing) to = keys.querySelector("[data-key='" + CSS.escape(key) + "']");
  else if (key === "/") to = d.getElementById("q");
  else if (key === "j" || key === "k") to = row(key === "j" ? 1 : -1);
  if (to && isGoing) to.click();
  else if (to) { to.focus(); e.preventDefault(); }
  else if (key === "?") location.assign(keys.dataset.keys);
  isGoing = key === "g" && !isGoing;
  if (isGoing) going = setTimeout(function () { isGoing = false; }, 2e3);
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

// A list of time zones with data-zone begins with that of the browser, which may have a name of its own for it.
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
// posts the answer in its field "credential".
function bytes(text) {
  var raw = atob(text.replace(/-/g, "+").replace(/_/g, "/")), out = new Uint8Array(raw.length);
  for (var i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}
function text(buffer) {
  return btoa(String.fromCharCode.apply(null, new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
function options(given) {
  var key = given.publicKey;
  key.challenge = bytes(key.challenge);
  if (key.user) key.user.id = bytes(key.user.id);
  (key.excludeCredentials || []).concat(key.allowCredentials || []).forEach(function (c) { c.id = bytes(c.id); });
  return given;
}
function answer(credential) {
  var r = credential.response, out = { id: credential.id, rawId: text(credential.rawId), type: credential.type, response: { clientDataJSON: text(r.clientDataJSON) }, clientExtensionResults: credential.getClientExtensionResults() };
  if (credential.authenticatorAttachment) out.authenticatorAttachment = credential.authenticatorAttachment;
  ["attestationObject", "authenticatorData", "signature", "userHandle"].forEach(function (name) { if (r[name]) out.response[name] = text(r[name]); });
  if (r.getTransports) out.response.transports = r.getTransports();
  return out;
}
// Browsers allow one ceremony at a time: a new one ends the one before it.
var ceremony;
function askPasskey(form, mediation) {
  if (ceremony) ceremony.abort();
  var mine = ceremony = new AbortController(), offer;
  form.querySelectorAll("[data-of]").forEach(function (field) { field.value = d.getElementById(field.dataset.of).value; });
  return fetch(form.dataset.passkey, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" } })
    .then(function (r) { return r.json(); })
    .then(function (given) {
      if (given.error) throw { message: given.error };
      offer = given.offer;
      var call = options(given.options);
      call.signal = mine.signal;
      if (mediation) call.mediation = mediation;
      return form.dataset.ceremony === "create" ? navigator.credentials.create(call) : navigator.credentials.get(call);
    })
    .then(function (credential) {
      form.elements.offer.value = offer;
      form.elements.credential.value = JSON.stringify(answer(credential));
      form.submit();
    });
}
// The field for the name offers the passkeys of the browser, if it can. The options are renewed before they expire.
function suggest(form) {
  if (!d.querySelector("[autocomplete~=webauthn]") || !PublicKeyCredential.isConditionalMediationAvailable) return;
  PublicKeyCredential.isConditionalMediationAvailable().then(function (can) {
    if (!can) return;
    askPasskey(form, "conditional").catch(function () {});
    var mine = ceremony;
    setTimeout(function () { if (mine === ceremony) suggest(form); }, 84e4);
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
      suggest(form);
    });
  });
  suggest(form);
});

// A form with data-preview shows its values in the preview as they are entered. The file is sent once.
var themed = d.querySelector("form[data-preview]"), sent = 0, isNewFile, timer;
function preview() {
  var request = new XMLHttpRequest(), data = new FormData(themed), number = ++sent, withFile = isNewFile;
  data.set("action", "preview");
  if (withFile) data.set("draft", ""); else data.delete("logo");
  request.open("POST", themed.getAttribute("action"));
  request.responseType = "document";
  request.onload = function () {
    var page = request.response, facts = page && page.querySelector("#preview-facts"), frame = page && page.querySelector(".framed iframe");
    if (number !== sent || !facts) return;
    d.getElementById("preview-facts").replaceChildren.apply(d.getElementById("preview-facts"), [].slice.call(facts.childNodes));
    if (request.status !== 200) return;
    if (withFile) isNewFile = false;
    themed.elements.draft.value = page.querySelector("[name=draft]").value;
    frame.onload = function () { while (frame.previousElementSibling) frame.previousElementSibling.remove(); };
    d.querySelector(".framed").append(frame);
  };
  request.send(data);
}
if (themed) themed.addEventListener("input", function (e) {
  if (e.target.type === "file") isNewFile = true;
  clearTimeout(timer);
  timer = setTimeout(preview, 500);
});

// A page with data-stream loads itself again when its shop has changed, and takes over what is different. A form
// keeps what was typed.
var main = d.querySelector("main[data-stream]"), stream, isLoading, again, told = 0;
function isSame(a, b) {
  return a.nodeName === b.nodeName && (a.nodeType !== 1 || a.getAttribute("class") === b.getAttribute("class"));
}
function changed(old, fresh) {
  if (old.isEqualNode(fresh)) return false;
  if (old.nodeType !== 1) {
    var differs = old.nodeValue !== fresh.nodeValue;
    if (differs) old.nodeValue = fresh.nodeValue;
    return differs;
  }
  if (old.matches("form,.fresh,#updated")) return false;
  if (old.dataset.new) return rows(old, fresh);
  var any = false;
  [].forEach.call(fresh.attributes, function (a) {
    if (a.name !== "open" && old.getAttribute(a.name) !== a.value) { old.setAttribute(a.name, a.value); any = true; }
  });
  [].slice.call(old.attributes).forEach(function (a) {
    if (a.name !== "open" && !fresh.hasAttribute(a.name)) { old.removeAttribute(a.name); any = true; }
  });
  var had = [].slice.call(old.childNodes), has = [].slice.call(fresh.childNodes);
  if (had.length === has.length && had.every(function (n, i) { return isSame(n, has[i]); }))
    return had.reduce(function (any, n, i) { return changed(n, has[i]) || any; }, any);
  var focus = old.contains(d.activeElement) && d.activeElement;
  if (focus && focus.matches("input,select,textarea")) return any;
  old.replaceChildren.apply(old, has);
  focus = focus && [].filter.call(old.querySelectorAll("a"), function (a) { return a.href === focus.href; })[0];
  if (focus) focus.focus({ preventScroll: true });
  return true;
}
// New rows wait behind a link, so that no row moves.
function rows(old, fresh) {
  var shown = {}, count = 0, isNew = true, any = false, link = d.querySelector("#" + old.dataset.new + " a");
  [].forEach.call(old.rows, function (row) { shown[row.querySelector("a").href] = row; });
  [].slice.call(fresh.rows).forEach(function (row) {
    var same = shown[row.querySelector("a").href];
    if (same) { isNew = false; any = changed(same, row) || any; }
    else if (isNew) count++;
  });
  if (count) { link.textContent = link.dataset.text.replace("#", count); link.hidden = false; }
  return any;
}
function update() {
  again = isLoading;
  if (isLoading) return;
  isLoading = true;
  var request = new XMLHttpRequest();
  request.open("GET", location.href.split("#")[0]);
  request.responseType = "document";
  request.setRequestHeader("Desk-Update", "1");
  request.onload = function () {
    var page = request.response, any = false, status = d.getElementById("updated");
    if (request.status !== 200 || !page || !page.querySelector("main[data-stream]")) return;
    [".places", ".bar", ".wrap"].forEach(function (part) { any = changed(d.querySelector(part), page.querySelector(part)) || any; });
    if (!any || Date.now() - told < 5e3) return;
    told = Date.now();
    status.textContent = "";
    setTimeout(function () { status.textContent = status.dataset.text; }, 100);
  };
  request.onloadend = function () {
    setTimeout(function () { isLoading = false; if (again) update(); }, 2e3);
  };
  request.send();
}
// Only a visible page has a stream: browsers allow six connections to a server over HTTP/1.1.
function follow() {
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
    setTimeout(function () { // first the page
      d.addEventListener("visibilitychange", follow);
      follow();
    }, 1e3);
  });
}
})();
