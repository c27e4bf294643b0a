// Copies snippets to the clipboard.
(function () {
"use strict";
var d = document, say = d.getElementById("say");
d.addEventListener("click", function (e) {
  var button = e.target.closest("[data-copies]");
  if (!button) return;
  var code = d.getElementById(button.dataset.copies);
  (navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject()).catch(function () {
    getSelection().selectAllChildren(code); // fallback without the clipboard API
    if (!d.execCommand("copy")) throw 0;
  }).then(function () { answer("Copied"); }, function () { answer("Selected: copy it by hand"); });
  function answer(text) {
    button.textContent = say.textContent = text;
    setTimeout(function () { button.textContent = "Copy"; say.textContent = ""; }, 2e3);
  }
});
d.querySelectorAll("[data-copies]").forEach(function (button) { button.hidden = false; });
})();
