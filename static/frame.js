// Sends the payment's status from a frame to the embedding page, if that page has a listed origin.
(function () {
"use strict";
if (parent === window) return;
var d = document, posted, listed = d.currentScript.dataset.origins.split(" ").concat(location.origin);
var embedders = location.ancestorOrigins ? [location.ancestorOrigins[0]] : listed;

function post(message) {
  message.pay = 1;
  embedders.forEach(function (origin) { if (listed.indexOf(origin) >= 0) parent.postMessage(message, origin); });
}

function status() {
  var live = d.getElementById("live");
  if (!live || live.dataset.status === posted) return;
  posted = live.dataset.status;
  post({type: "status", id: live.dataset.self.split("?")[0].split("/").pop(), status: posted});
}

d.addEventListener("swap", status);
d.addEventListener("keydown", function (e) { if (e.key === "Escape") post({type: "close"}); });
post({type: "ready"});
status();
})();
