// The beginning of embed.js and modal.js: a dialog over the merchant's page that shows a payment page in a frame.
(function () {
"use strict";
var d = document, self = d.currentScript, origin = new URL(self.src).origin, dialog, frame, ready;

function add(to, name, css) {
  var e = d.createElement(name);
  e.style.cssText = css;
  return to.appendChild(e);
}

// build adds a hidden dialog with the page at an address. When the dialog is closed, it is removed, and closed is called. On a
// narrow screen it covers the window, with the button that closes it above the page.
function build(url, title, closed) {
  var narrow = matchMedia("(max-width:560px)").matches;
  ready = 0;
  dialog = add(d.body, "dialog", "border:0;max-width:none;max-height:none;overflow:visible;box-sizing:border-box;" + (narrow ?
    "padding:52px 0 0;margin:0;width:100vw;height:100%;background:rgb(10 14 30/.8)" : "padding:0;width:440px;height:min(820px,94vh);background:none"));
  frame = add(dialog, "iframe", "display:block;width:100%;height:100%;border:0;background:Canvas;border-radius:" + (narrow ? "16px 16px 0 0" : "16px;box-shadow:0 0 0 100vmax rgb(10 14 30/.5)"));
  var close = add(dialog, "button", "position:absolute;width:44px;height:44px;border:0;border-radius:22px;background:Canvas;color:CanvasText;font:24px/1 sans-serif;cursor:pointer;" + (narrow ?
    "top:4px;right:4px" : "top:0;left:100%;margin-left:8px"));
  close.textContent = "\u00d7";
  close.setAttribute("aria-label", self.dataset.close || "Close");
  close.onclick = function () { dialog.close(); };
  frame.title = title;
  dialog.setAttribute("aria-label", title);
  frame.allow = "clipboard-write";
  frame.onload = function () { wait(1e3); };
  frame.src = url;
  dialog.onclose = function () { discard(); closed(); };
}

// discard removes the dialog.
function discard() { dialog.remove(); frame = 0; }

// show shows the dialog.
function show() {
  dialog.showModal();
  frame.focus();
  wait(1e4);
}

// wait opens the page without a frame if no message from the frame arrives within ms milliseconds, because the browser then
// refused the frame.
function wait(ms) {
  var waited = frame;
  setTimeout(function () { if (frame && frame === waited && !ready && dialog.open) location.assign(frame.src); }, ms);
}

// isFrom reports whether a message is from the page in the frame.
function isFrom(e) { return frame && e.origin === origin && e.source === frame.contentWindow; }
