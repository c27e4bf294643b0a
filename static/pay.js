// Improves a page that works without it: countdown, copying, live updates. All texts and numbers come
// from the server. The script loads nothing from another site.
(function () {
"use strict";
var d = document, live = d.getElementById("live"), say = d.getElementById("say");
if (!live) return;
d.documentElement.classList.remove("nojs");

var stream, poll, tries = 0, deadline = 0, announced = {}, countdown, seconds, cancelled, chosen, lastSkew = skew();
var policy = {createHTML: html => html};
var types = window.trustedTypes ? trustedTypes.createPolicy("live", policy) : policy;

function each(selector, act) { Array.prototype.forEach.call(live.querySelectorAll(selector), act); }
function announce(text) { say.textContent = ""; setTimeout(() => { say.textContent = text; }, 60); }

// skew returns the difference between the time of day and performance.now(). It changes when the clock
// of the device is set and, in some browsers, when the device sleeps.
function skew() { return Date.now() - performance.now(); }

// The server sends the remaining seconds and no time of day, so the shopper's clock does not matter.
function setDeadline(left) {
  var end = left ? performance.now() + left.value * 1e3 : 0;
  if (Math.abs(end - deadline) > 3e4) announced = {}; // the deadline of a new quote
  deadline = end;
}

// tick shows the remaining time and announces its last five minutes and its last minute. At the end of the quote, and after
// the clock of the device jumped, it refreshes the page.
function tick() {
  var clock = d.getElementById("clock");
  if (!clock || !deadline) return;
  var s = Math.max(0, Math.round((deadline - performance.now()) / 1e3)), now = skew();
  clock.previousElementSibling.textContent = clock.dataset.held;
  clock.firstElementChild.textContent = (s / 60 | 0) + ":" + ("0" + s % 60).slice(-2);
  [300, 60].forEach(mark => {
    if (s <= mark && s > mark - 30 && !announced[mark]) { announced[mark] = 1; announce(clock.dataset["say" + mark]); }
  });
  if (!s) deadline = 0;
  if (!s || Math.abs(now - lastSkew) > 5e3) { lastSkew = now; refresh(); }
}

// Times of day are shown in the shopper's time zone.
function showLocalTimes() {
  var format = {day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short", numberingSystem: "latn"};
  each("time[datetime]:not(#clock)", t => { t.textContent = new Date(t.dateTime).toLocaleString(d.documentElement.lang, format); });
}

// The chosen method is kept when the page is updated and, in the history state, when it is reloaded.
function applyChoice() {
  each("input[name=method]", radio => { if (radio.value === chosen) radio.checked = true; });
  each("[name=m]", field => { if (chosen) field.value = chosen; });
}

// A row of methods that is wider than the window scrolls to the chosen method.
function showChoice() {
  applyChoice();
  each(".methods :checked+label", label => {
    var row = label.parentNode, inner = label.getBoundingClientRect(), outer = row.getBoundingClientRect();
    row.scrollLeft += inner.left + inner.right - outer.left - outer.right >> 1;
  });
}

// The server's fragment replaces the live region. The chosen method, the typed refund address, the opened details and the
// focus are kept. With always, the region is replaced even if its version is the same.
function swap(html, always) {
  var next = new DOMParser().parseFromString(types.createHTML(html), "text/html").getElementById("live");
  if (!next) return;
  if (next.dataset.v === live.dataset.v && !always) { setDeadline(next.querySelector("#left")); return; }
  var active = d.activeElement, focus = active && live.contains(active) ? active.id || "live" : 0, kind = live.dataset.k, counting = countdown;
  each("details[open]", old => { var now = next.querySelector("#" + old.id); if (now) now.open = true; });
  each("#refund-address", old => { var now = next.querySelector("#refund-address"); if (now) now.value = old.value; });
  stopCountdown();
  live.replaceWith(next);
  live = next;
  showChoice();
  d.title = live.dataset.title;
  setDeadline(d.getElementById("left"));
  tick();
  showLocalTimes();
  d.dispatchEvent(new Event("swap")); // for wallet.js, frame.js and pos.js
  if (focus) (d.getElementById(focus) || live).focus({preventScroll: true});
  if (live.dataset.k !== kind) announce((live.dataset.say + " " + startReturn()).trim());
  else if (counting) startReturn();
  if (live.dataset.final) stop(); else listen();
}

// startReturn returns to the shop after a visible and announced countdown of ten seconds, which the
// shopper can cancel. The countdown pauses while its button has the focus or the tab is hidden, and
// restarts with any input.
function startReturn() {
  var note = d.getElementById("auto"), to = d.getElementById("return");
  if (!note || !to || cancelled || parent !== window) return ""; // in a frame the embedding page decides
  note.hidden = false;
  showSeconds(10);
  countdown = setInterval(() => {
    if (d.hidden || note.contains(d.activeElement)) return;
    showSeconds(seconds - 1);
    if (seconds < 1) { stopCountdown(); location.assign(to.href); }
  }, 1e3);
  return note.dataset.say;
}

function showSeconds(s) { seconds = s; d.querySelector("#auto b").textContent = s; }
function stopCountdown() { clearInterval(countdown); countdown = 0; }

function cancelReturn() {
  var note = d.getElementById("auto");
  if (!countdown) return;
  cancelled = 1;
  stopCountdown();
  if (note.contains(d.activeElement)) live.focus({preventScroll: true});
  note.hidden = true;
  announce(note.dataset.stays);
}

["keydown", "pointerdown", "wheel", "touchmove"].forEach(type => {
  addEventListener(type, e => { if (e.key === "Escape") cancelReturn(); else if (countdown) showSeconds(10); }, {passive: true});
});

// With check, the server answers without a page if the page has not changed.
function refresh(check) {
  return fetch(live.dataset.self, {cache: "no-store", headers: check ? {"If-None-Match": '"' + live.dataset.v + '"'} : {}}).then(r => { if (r.ok) return r.text().then(swap); }).catch(() => {});
}

// A proxy may drop the stream without a signal. While the stream is open its events, at least a heartbeat
// every 20 seconds, postpone polling. When they stop, the page polls and connects again.
function schedulePoll() {
  clearTimeout(poll);
  if (live.dataset.final) return;
  var open = stream && stream.readyState === 1;
  poll = setTimeout(() => { if (open) stop(); refresh(true).then(open ? listen : schedulePoll); }, open ? 5e4 : d.hidden ? 3e4 : Math.min(4e3 * Math.pow(1.5, tries++), 15e3));
}

function listen() {
  if (live.dataset.final) return;
  schedulePoll();
  if (stream || d.hidden || !window.EventSource) return;
  stream = new EventSource(live.dataset.stream);
  stream.onopen = schedulePoll;
  stream.addEventListener("beat", schedulePoll);
  stream.addEventListener("page", e => { tries = 0; swap(e.data); });
  stream.onerror = () => { if (stream && stream.readyState === 2) stream = null; schedulePoll(); };
}

function stop() { if (stream) stream.close(); stream = null; clearTimeout(poll); }

// The page is refreshed when it becomes visible, such as after a visit to the wallet app, because the
// tab may have been suspended.
function wake() { if (d.hidden || live.dataset.final) return; tries = 0; tick(); stop(); refresh().then(listen); }

// A hidden page closes its stream: over HTTP/1.1 all tabs of a site share six connections.
function sleep() { stop(); schedulePoll(); }
d.addEventListener("visibilitychange", function () { if (d.hidden) sleep(); else wake(); });
addEventListener("pagehide", stop);
addEventListener("online", wake);
addEventListener("pageshow", e => { if (e.persisted) wake(); });

d.addEventListener("click", e => {
  if (e.target.closest("#stay")) { cancelReturn(); return; }
  var button = e.target.closest("[data-copy]");
  if (!button) return;
  copy(button.dataset.copy).then(() => {
    var label = button.firstElementChild, text = label.dataset.text || (label.dataset.text = label.textContent);
    label.textContent = button.dataset.done;
    announce(button.dataset.said);
    setTimeout(() => { label.textContent = text; }, 2e3);
  }, () => {
    var field = button.parentNode, code = field.querySelector("code");
    if (code.textContent !== button.dataset.copy) code.textContent = button.dataset.copy;
    getSelection().selectAllChildren(code);
    (field.querySelector("p") || field.appendChild(d.createElement("p"))).textContent = say.dataset.failed;
    announce(say.dataset.failed);
  });
});

// Pages over plain HTTP have no clipboard API, and frames may lack the permission for it.
function copy(text) { return (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).catch(() => { copyBySelection(text); }); }

function copyBySelection(text) {
  var line = d.body.appendChild(d.createElement("span")), selection = getSelection();
  line.className = "vh";
  line.textContent = text;
  selection.selectAllChildren(line);
  var done = d.execCommand("copy");
  selection.removeAllRanges();
  line.remove();
  if (!done) throw 0;
}

d.addEventListener("change", e => {
  if (e.target.name !== "method") return;
  history.replaceState(Object.assign({}, history.state, {m: chosen = e.target.value}), "");
  applyChoice();
});

// The answer to a simulation is the changed page, or the page with the reason for the refusal.
d.addEventListener("submit", e => {
  var form = e.target;
  if (form.id !== "simulate" || form.dataset.plain) return;
  e.preventDefault();
  fetch(form.getAttribute("action"), {method: "POST", body: new URLSearchParams(new FormData(form, e.submitter))}).then(r => {
    if (!r.ok) throw r;
    return r.text().then(html => { swap(html, true); });
  }).catch(() => { form.dataset.plain = 1; form.requestSubmit(e.submitter); });
});

each("input:checked", radio => { chosen = radio.value; });
if (history.state && history.state.m) chosen = history.state.m;
showChoice();
setDeadline(d.getElementById("left"));
tick();
showLocalTimes();
setInterval(tick, 500);
listen();
})();
