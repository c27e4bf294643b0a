// Improves the pages of a terminal: a keypad, a screen that stays on, and a sound when an invoice is paid.
// The script loads nothing from another site.
(function () {
"use strict";
var d = document, keys = d.getElementById("keys"), amount = d.getElementById("amount"), lock;

// The keypad replaces the phone's keyboard.
if (keys && amount) {
  keys.hidden = false;
  amount.inputMode = "none";
  addEventListener("pageshow", function (e) { if (e.persisted) location.reload(); }); // each invoice needs a new token
  keys.addEventListener("click", function (e) {
    var button = e.target.closest("[data-key]"), typed = amount.value, key;
    if (!button) return;
    key = button.dataset.key;
    if (key === "back") amount.value = typed.slice(0, -1);
    else if (key !== "." || !/[.,]/.test(typed)) amount.value = (typed === "0" && key !== "." ? "" : typed) + (key === "." && !typed ? "0" : "") + key;
  });
}

// The QR code must stay visible, so the phone must not lock its screen.
function requestWakeLock() {
  if (d.hidden || !navigator.wakeLock) return;
  navigator.wakeLock.request("screen").then(function (held) { lock = held; d.body.dataset.awake = "1"; }, function () {});
}
// WebKit grants the wake lock, and lets a page play sound, only during a tap or a key press.
["visibilitychange", "click", "keydown"].forEach(function (type) {
  d.addEventListener(type, function () {
    if (!lock || lock.released) requestWakeLock();
    if (live && type !== "visibilitychange") unmute().catch(function () {});
  });
});
requestWakeLock();

// A new audio context in WebKit is suspended at first, and runs soon after if sound is allowed.
// After a tap it is resumed. Without a tap resume would fail, and Chromium would log a warning, so
// the page waits for the context to run.
var Audio = window.AudioContext || window.webkitAudioContext, sound;
function unmute() {
  var activation = navigator.userActivation;
  if (!Audio) return Promise.reject();
  sound = sound || new Audio();
  if (sound.state === "running") return Promise.resolve();
  if (!activation || activation.hasBeenActive) return sound.resume();
  return new Promise(function (resolve) { sound.onstatechange = resolve; });
}

// Plays two notes when the invoice is paid. If the browser allows sound only after more than two seconds, nothing is
// played.
function ring() {
  var late;
  setTimeout(function () { late = 1; }, 2e3);
  unmute().then(function () { if (!late) play(); }, function () {});
}

function play() {
  [[880, 0], [1320, .14]].forEach(function (note) {
    var tone = sound.createOscillator(), volume = sound.createGain(), at = sound.currentTime + note[1];
    tone.frequency.value = note[0];
    volume.gain.setValueAtTime(.3, at);
    volume.gain.exponentialRampToValueAtTime(.001, at + .35);
    tone.connect(volume).connect(sound.destination);
    tone.start(at);
    tone.stop(at + .4);
  });
}
var live = d.getElementById("live"), status = live && live.dataset.status;
d.addEventListener("swap", function () {
  var now = d.getElementById("live").dataset.status;
  if (now === "paid" && status !== "paid") { d.body.dataset.rang = "1"; ring(); }
  status = now;
});
})();
