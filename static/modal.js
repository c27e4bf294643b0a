// Sets window.btcpay, by which shop plug-ins made for BTCPay Server show the page of an invoice over the shop's page. A
// browser without dialogs opens the page itself. shown is the ID of the invoice; hidden is true from hideFrame until leave.
var prefix = self.src.split("/modal/")[0], shown, hidden, handlers = {};

function call(name, value) { if (handlers[name]) handlers[name](value); }
function on(name) { return function (handler) { handlers[name] = handler; }; }
function address() { return prefix + "/invoice?id=" + encodeURIComponent(shown) + "&view=modal"; }

// append adds a hidden dialog with the page of an invoice.
function append(id) {
  shown = id;
  hidden = 0;
  if (frame) { dialog.onclose = null; discard(); }
  if (window.HTMLDialogElement) build(address(), d.title, leave);
}

// leave is called when the dialog is closed. If the shopper closed it with its button or with Escape on the shop's page, the frame
// sent no message, so leave dispatches one.
function leave() {
  if (!hidden) {
    var message = new MessageEvent("message", {data: "close", origin: origin});
    dispatchEvent(message);
    call("receive", message);
  }
  hidden = 0;
  call("leave");
}

function showFrame() {
  if (!shown) return;
  if (!frame) append(shown);
  if (!frame) { location.assign(address()); return; }
  if (dialog.open) return;
  call("enter");
  show();
}

function hideFrame() {
  if (!frame) return;
  hidden = dialog.open;
  dialog.close();
}

function showInvoice(id) { append(id); showFrame(); }

addEventListener("message", function (e) {
  if (!isFrom(e) || !e.data) return;
  ready = 1;
  if (e.data.pay) return; // for embed.js
  if (e.data === "close") hideFrame();
  call("receive", e);
});

window.btcpay = {
  showFrame: showFrame, hideFrame: hideFrame, showInvoice: showInvoice, appendInvoiceFrame: append, appendAndShowInvoiceFrame: showInvoice,
  onModalWillEnter: on("enter"), onModalWillLeave: on("leave"), onModalReceiveMessage: on("receive"),
  setApiUrlPrefix: function (url) { prefix = url.replace(/\/+$/, ""); origin = new URL(prefix).origin; }
};
})();
