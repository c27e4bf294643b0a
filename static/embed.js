// Opens payment links, <a href="…" data-pay>, in a dialog over the merchant's page. Without this
// script, on phones, and where the browser refuses the frame they are plain links.
(function () {
"use strict";
var d = document, self = d.currentScript, origin = new URL(self.src).origin, dialog, frame, link, ready;

function emit(type, detail) { link.dispatchEvent(new CustomEvent("pay:" + type, {bubbles: true, detail: detail})); }
function add(to, name, css) {
  var e = d.createElement(name);
  e.style.cssText = css;
  return to.appendChild(e);
}

function open(a) {
  link = a;
  ready = 0;
  dialog = add(d.body, "dialog", "padding:0;border:0;background:none;width:440px;max-width:none;height:min(820px,94vh);max-height:none;overflow:visible");
  frame = add(dialog, "iframe", "display:block;width:100%;height:100%;border:0;border-radius:16px;background:Canvas;box-shadow:0 0 0 100vmax rgb(10 14 30/.5)");
  var close = add(dialog, "button", "position:absolute;top:0;left:100%;margin-left:8px;width:44px;height:44px;border:0;border-radius:22px;background:Canvas;color:CanvasText;font:24px/1 sans-serif;cursor:pointer");
  close.textContent = "\u00d7";
  close.setAttribute("aria-label", self.dataset.close || "Close");
  close.onclick = function () { dialog.close(); };
  frame.title = a.textContent;
  dialog.setAttribute("aria-label", a.textContent);
  frame.allow = "clipboard-write";
  frame.onload = function () { wait(1e3); };
  frame.src = a.href;
  wait(1e4);
  dialog.onclose = function () { dialog.remove(); frame = 0; link.focus(); emit("close"); };
  dialog.showModal();
  frame.focus();
  emit("open");
}

// If no message from the frame arrives in time, the browser has refused the frame, and the link opens as a page.
function wait(ms) {
  var waited = frame;
  setTimeout(function () { if (frame && frame === waited && !ready) location.assign(link.href); }, ms);
}

addEventListener("message", function (e) {
  var m = e.data;
  if (!frame || e.origin !== origin || e.source !== frame.contentWindow || !m || m.pay !== 1) return;
  ready = 1;
  if (m.type === "close") dialog.close();
  if (m.type === "status") emit("status", {id: String(m.id), status: String(m.status)});
});

d.addEventListener("click", function (e) {
  var a = e.target.closest("a[data-pay]");
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.origin !== origin ||
    !window.HTMLDialogElement || matchMedia("(pointer:coarse),(max-width:640px)").matches) return;
  e.preventDefault();
  open(a);
});
})();
