// Opens payment links, <a href="…" data-pay>, in a dialog over the merchant's page. Without this
// script, on phones, and where the browser refuses the frame they are plain links.
var link;

function emit(type, detail) { link.dispatchEvent(new CustomEvent("pay:" + type, {bubbles: true, detail: detail})); }

addEventListener("message", function (e) {
  var m = e.data;
  if (!isFrom(e) || !m || m.pay !== 1) return;
  ready = 1;
  if (m.type === "close") dialog.close();
  if (m.type === "status") emit("status", {id: String(m.id), status: String(m.status)});
});

d.addEventListener("click", function (e) {
  var a = e.target.closest("a[data-pay]");
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.origin !== origin ||
    !window.HTMLDialogElement || matchMedia("(pointer:coarse),(max-width:640px)").matches) return;
  e.preventDefault();
  link = a;
  build(a.href, a.textContent, function () { link.focus(); emit("close"); });
  show();
  emit("open");
});
})();
