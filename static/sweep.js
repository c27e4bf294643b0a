// Lets the browser's wallet send the transactions of a sweep, in order, see provider.js. The server says before each whether it may be
// sent, and records its hash. All texts and numbers come from the server.
(function () {
"use strict";
var d = document, page = d.getElementById("carriers"), say = d.getElementById("say"), {hex, switchNetwork, errorKey, find} = browserWallets;
if (!page || !window.BigInt) return;
var words = page.dataset, carriers = Array.from(page.querySelectorAll("[data-carrier]")), wallets = [], busy, unrecorded;

function text(key, facts) { return words[key].replace(/{(\w+)}/g, (_, fact) => facts[fact]); }
function nameOf(wallet) { return {wallet: wallet.name || words.unnamed}; }
// The first transaction that was not sent.
function next() { return carriers.find(c => !c.hidden && !c.dataset.tx); }

// Posts the rows of a carrier, and returns the answer; throws its text if the server refuses.
async function post(address, carrier, more) {
  var form = new URLSearchParams(Object.assign({form: words.token, rows: carrier.dataset.rows, proof: carrier.dataset.proof}, more));
  var response = await fetch(address, {method: "POST", body: form, headers: {Accept: "application/json"}}), answer = await response.json();
  if (answer.error || !response.ok) throw {refusal: answer.error || words.failed};
  return answer;
}

async function send(wallet, carrier) {
  if (busy || unrecorded) return;
  var ask = (method, params) => wallet.provider.request({method, params}), sending, tx;
  busy = wallet;
  say.textContent = text("ask", nameOf(wallet));
  draw();
  try {
    var accounts = await ask("eth_requestAccounts");
    if (!accounts.length) throw {code: 4001};
    await switchNetwork(ask, words.chain);
    await post(words.check, carrier);
    sending = true;
    tx = await ask("eth_sendTransaction", [{from: accounts[0], to: words.to, value: "0x0", data: carrier.dataset.data, gas: carrier.dataset.gas, chainId: "0x" + hex(words.chain)}]);
  } catch (e) { say.textContent = e && e.refusal || text(errorKey(e || {}, sending), nameOf(wallet)); }
  busy = null;
  if (tx) {
    carrier.dataset.tx = tx;
    await record(carrier);
  }
  draw();
}

// Records the hash of a sent transaction. The next one waits until the server has it.
async function record(carrier) {
  unrecorded = carrier;
  try {
    var answer = await post(words.record, carrier, {tx: carrier.dataset.tx});
    unrecorded = null;
    carrier.querySelector(".fate").textContent = answer.text;
    say.textContent = next() ? answer.text : words.all;
  } catch (e) {
    say.textContent = (e && e.refusal ? e.refusal + " " : "") + text("unrecorded", {hash: carrier.dataset.tx});
  }
  draw();
}

function button(label, act, i) {
  var b = d.createElement("button");
  b.type = "button";
  b.className = i ? "b" : "b go";
  b.textContent = label;
  if (busy) b.setAttribute("aria-disabled", "true");
  b.addEventListener("click", act);
  return b;
}

function draw() {
  carriers.forEach(c => {
    var list = [];
    if (c === unrecorded) list.push(button(words.again, () => record(c), 0));
    else if (c.dataset.tx) list.push(Object.assign(d.createElement("span"), {className: "tag ok", textContent: words.done}));
    else if (c === next() && !unrecorded) list = wallets.map((w, i) => button(text(busy === w ? "ask" : "send", nameOf(w)), () => send(w, c), i));
    c.querySelector(".bs").replaceChildren(...list);
  });
}

addEventListener("beforeunload", e => { if (busy || unrecorded) e.preventDefault(); });
find(all => {
  wallets = all;
  if (!wallets.length) say.textContent = words.none;
  else if (say.textContent === words.none) say.textContent = "";
  draw();
});
})();
