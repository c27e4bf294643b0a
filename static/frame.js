// Sends the payment's status from a frame to the embedding page, if that page has a listed origin. It sends each change as a
// message for embed.js, and as messages for shop plug-ins made for BTCPay Server, with the status names of its versions 2 and 1.
(function () {
"use strict";
if (parent === window) return;
var d = document, posted, kind, listed = d.currentScript.dataset.origins.split(" ").concat(location.origin);
var embedders = location.ancestorOrigins ? [location.ancestorOrigins[0]] : listed;

var settled = ["Settled", "complete"], expired = ["Expired", "expired"];
var statuses = {seen: ["Processing", "paid"], paid: settled, overpaid: settled, expired: expired, late: expired, declined: ["Invalid", "invalid"]};

function send(message) {
  embedders.forEach(function (origin) { if (listed.indexOf(origin) >= 0) parent.postMessage(message, origin); });
}
function post(message) { message.pay = 1; send(message); }

function status() {
  var live = d.getElementById("live"), id = live && live.dataset.self.split("?")[0].split("/").pop();
  if (live && live.dataset.status !== posted) {
    posted = live.dataset.status;
    post({type: "status", id: id, status: posted});
  }
  if (live && live.className !== kind) {
    kind = live.className;
    (statuses[kind.split(" ")[1]] || []).forEach(function (name) { send({invoiceId: id, status: name}); });
  }
}

d.addEventListener("swap", status);
d.addEventListener("keydown", function (e) { if (e.key === "Escape") { post({type: "close"}); send("close"); } });
post({type: "ready"});
send("loaded");
status();
})();
