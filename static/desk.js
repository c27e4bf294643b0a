// Improves the desk's pages, which work without it: one open menu at a time, keys, passkeys, and the
// token in the fragment of a link.
(function () {
"use strict";
var d = document;
d.documentElement.classList.remove("nojs");

d.addEventListener("keydown", function (e) {
  var open = d.querySelector("details.menu[open]");
  if (e.key === "Escape" && open) { open.open = false; open.querySelector("summary").focus(); return; }
  var search = d.getElementById("q");
  if (e.key !== "/" || !search || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input,select,textarea")) return;
  search.focus();
  e.preventDefault();
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
d.querySelectorAll("form[data-passkey]").forEach(function (form) {
  if (!window.PublicKeyCredential) return;
  form.hidden = false;
  form.addEventListener("submit", function (e) {
    if (form.elements.credential.value) return;
    e.preventDefault();
    var fault = form.querySelector("[data-fault]"), button = form.querySelector("button");
    fault.textContent = "";
    button.setAttribute("aria-busy", "true");
    form.querySelectorAll("[data-of]").forEach(function (field) { field.value = d.getElementById(field.dataset.of).value; });
    fetch(form.dataset.passkey, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" } })
      .then(function (r) { return r.json(); })
      .then(function (given) {
        if (given.error) throw { message: given.error };
        form.elements.offer.value = given.offer;
        return form.dataset.ceremony === "create" ? navigator.credentials.create(options(given.options)) : navigator.credentials.get(options(given.options));
      })
      .then(function (credential) {
        form.elements.credential.value = JSON.stringify(answer(credential));
        form.submit();
      })
      .catch(function (problem) {
        button.removeAttribute("aria-busy");
        fault.textContent = problem.name ? fault.dataset.fault : problem.message || fault.dataset.fault;
      });
  });
});
})();
