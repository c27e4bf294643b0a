// Copies snippets.
(function () {
"use strict";
var d = document, say = d.getElementById("say");
d.addEventListener("click", function (e) {
  var button = e.target.closest("[data-copies]");
  if (!button) return;
  var code = d.getElementById(button.dataset.copies);
  (navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject()).then(function () {
    button.textContent = "Copied";
    say.textContent = "Copied";
    setTimeout(function () { button.textContent = "Copy"; say.textContent = ""; }, 2e3);
  }, function () { getSelection().selectAllChildren(code); });
});
d.querySelectorAll("[data-copies]").forEach(function (button) { button.hidden = false; });
})();
