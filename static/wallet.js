// Pays by a wallet in the browser: EIP-6963 finds it, EIP-1193 talks to it.
// Nothing is sent anywhere else; every word and number is the server's.
(function () {
"use strict";
var d = document, say = d.getElementById("say"), wallets = [], asked, told;
if (!say || !window.BigInt) return;

function words() { return d.getElementById("wallet-words"); }
function boxes() { return Array.from(d.querySelectorAll(".wallets")); }
function box(method) { return boxes().find(b => b.dataset.method === method); }
function hex(number) { return BigInt(number).toString(16); }
function word(digits) { return digits.toLowerCase().padStart(64, "0"); }

// What was sent is remembered through a reload, until something is due anew.
function sent() { return !!history.state && history.state.sent === words().dataset.turn; }
function keep(turn) { history.replaceState(Object.assign({}, history.state, {sent: turn}), ""); }

function text(key, wallet, b) {
  var facts = Object.assign({}, b.dataset, {wallet: wallet.name || words().dataset.unnamed});
  return words().dataset[key].replace(/{(\w+)}/g, (_, fact) => facts[fact]);
}

// The request for the amount as an exact number: see ERC-20, transfer, and the
// Contract ABI Specification, "Formal Specification of the Encoding".
function transaction(x, from) {
  var request = {from: from, to: x.address, value: "0x" + hex(x.units), chainId: "0x" + hex(x.chain)};
  if (!x.contract) return request;
  return Object.assign(request, {to: x.contract, value: "0x0", data: "0xa9059cbb" + word(x.address.slice(2)) + word(hex(x.units))});
}

// Brings the wallet to the network, or throws.
async function reach(ask, chain) {
  if (BigInt(await ask("eth_chainId")) === BigInt(chain)) return;
  await ask("wallet_switchEthereumChain", [{chainId: "0x" + hex(chain)}]);
  if (BigInt(await ask("eth_chainId")) !== BigInt(chain)) throw {code: 4200};
}

// The page may change while the wallet asks: what is sent is what is due then.
async function pay(wallet, method) {
  if (asked || sent()) return;
  var b = box(method), turn = words().dataset.turn, sending, key;
  var ask = (method, params) => wallet.provider.request({method, params});
  asked = wallet;
  show("ask", wallet, b);
  try {
    var accounts = await ask("eth_requestAccounts");
    if (!accounts.length) throw {code: 4001};
    await reach(ask, b.dataset.chain);
    var now = box(method);
    if (!now || now.dataset.chain !== b.dataset.chain) throw {key: "changed"};
    sending = true;
    await ask("eth_sendTransaction", [transaction(now.dataset, accounts[0])]);
    keep(words() ? words().dataset.turn : turn);
  } catch (e) { key = trouble(e || {}, sending); }
  asked = null;
  show(key, wallet, b);
}

// See EIP-1193, "Provider Errors", EIP-1474, "Error codes", and EIP-3326. An
// error that is not known may come after something was sent.
function trouble(e, sending) {
  var inner = e.data && e.data.originalError || {}, code = inner.code || e.code;
  if (code === 4001) return "rejected";
  if (code === -32002) return "pending";
  if (code === 4902) return "unknown";
  if (code === 4900 || code === 4901) return "offline";
  if (code === 4200 && !sending) return "elsewhere";
  if (/insufficient|exceeds (the )?balance/i.test(e.message + " " + inner.message)) return "funds";
  return e.key || (sending ? "unsure" : "failed");
}

// Says how it stands with a payment: without a key, that it is sent.
function show(key, wallet, b) {
  if (!words()) return;
  told = key && {method: b.dataset.method, text: text(key, wallet, b)};
  say.textContent = told ? told.text : text("done", wallet, b) + ". " + b.dataset.sent;
  draw();
}

// What stands in a box: a button for each wallet, and how it stands.
function parts(b) {
  var over = sent(), note = over ? b.dataset.sent : !asked && told && told.method === b.dataset.method ? told.text : "";
  var list = (over ? wallets.slice(0, 1) : wallets).map((wallet, i) => {
    var button = d.createElement("button");
    button.type = "button";
    button.id = b.id + i;
    button.className = i ? "btn alt" : "btn";
    button.textContent = text(over ? "done" : asked === wallet ? "ask" : "pay", wallet, b);
    if (over || asked) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", () => pay(wallet, b.dataset.method));
    return button;
  });
  if (note) list.push(Object.assign(d.createElement("p"), {textContent: note}));
  return list;
}

// The way into a wallet's own browser is for who has none here, and leaves no frame.
function apps() {
  if (wallets.length || parent !== window) d.querySelectorAll(".app").forEach(a => { a.hidden = true; });
}

function draw() {
  apps();
  if (!words() || !wallets.length) return;
  boxes().forEach(b => {
    var focus = b.contains(d.activeElement) && d.activeElement.id;
    b.replaceChildren(...parts(b));
    b.hidden = false;
    b.parentNode.classList.remove("only-nojs");
    if (focus) (d.getElementById(focus) || b.firstChild).focus({preventScroll: true});
  });
}

// Only the name of a wallet is shown: its picture is its own.
addEventListener("eip6963:announceProvider", e => {
  var {info, provider} = e.detail || {};
  if (!info || !info.uuid || !provider || wallets.some(w => w.id === info.uuid)) return;
  wallets = wallets.filter(w => w.id);
  wallets.push({id: info.uuid, name: String(info.name).slice(0, 30), provider});
  draw();
});
dispatchEvent(new Event("eip6963:requestProvider"));
// The browsers within wallets may know only what was there before EIP-6963.
setTimeout(() => { if (!wallets.length && window.ethereum) { wallets.push({provider: window.ethereum}); draw(); } }, 400);
d.addEventListener("swap", draw);
apps();
})();
