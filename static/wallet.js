// Pays with a browser wallet, see provider.js. All texts and numbers come from the server.
(function () {
"use strict";
var d = document, say = d.getElementById("say"), {hex, switchNetwork, errorKey, find} = browserWallets, wallets = [], askedWallet, notice;
if (!say || !window.BigInt) return;

// The texts, and the boxes: each method has a box, the element for the buttons of the wallets.
function words() { return d.getElementById("wallet-words"); }
function boxes() { return Array.from(d.querySelectorAll(".wallets")); }
function box(method) { return boxes().find(b => b.dataset.method === method); }
function encodeWord(digits) { return digits.toLowerCase().padStart(64, "0"); }

// A sent payment is remembered, also after a reload, until another amount is due.
function sent() { return !!history.state && history.state.sent === words().dataset.turn; }
function remember(turn) { history.replaceState(Object.assign({}, history.state, {sent: turn}), ""); }

function text(key, wallet, b) {
  var facts = Object.assign({}, b.dataset, {wallet: wallet.name || words().dataset.unnamed});
  return words().dataset[key].replace(/{(\w+)}/g, (_, fact) => facts[fact]);
}

// The transaction with the exact amount. 0xa9059cbb selects the function transfer(address,uint256). See ERC-20,
// transfer, and the Contract ABI Specification, "Formal Specification of the Encoding".
function transaction(payment, from) {
  var request = {from: from, to: payment.address, value: "0x" + hex(payment.units), chainId: "0x" + hex(payment.chain)};
  if (!payment.contract) return request;
  return Object.assign(request, {to: payment.contract, value: "0x0", data: "0xa9059cbb" + encodeWord(payment.address.slice(2)) + encodeWord(hex(payment.units))});
}

// The page may change while the wallet asks the shopper. The request to send uses the amount that is due after
// the shopper's answer.
async function pay(wallet, method) {
  if (askedWallet || sent()) return;
  var b = box(method), turn = words().dataset.turn, sending, key;
  var ask = (method, params) => wallet.provider.request({method, params});
  askedWallet = wallet;
  show("ask", wallet, b);
  try {
    var accounts = await ask("eth_requestAccounts");
    if (!accounts.length) throw {code: 4001};
    await switchNetwork(ask, b.dataset.chain);
    var now = box(method);
    if (!now || now.dataset.chain !== b.dataset.chain) throw {key: "changed"};
    sending = true;
    await ask("eth_sendTransaction", [transaction(now.dataset, accounts[0])]);
    remember(words() ? words().dataset.turn : turn);
  } catch (e) { key = errorKey(e || {}, sending); }
  askedWallet = null;
  show(key, wallet, b);
}

// Shows the state of a payment. Without a key the payment was sent.
function show(key, wallet, b) {
  if (!words()) return;
  notice = key && {method: b.dataset.method, text: text(key, wallet, b)};
  say.textContent = notice ? notice.text : text("done", wallet, b) + ". " + b.dataset.sent;
  draw();
}

// The contents of a box: a button for each wallet, and the state of the payment.
function contents(b) {
  var done = sent(), note = done ? b.dataset.sent : !askedWallet && notice && notice.method === b.dataset.method ? notice.text : "";
  var list = (done ? wallets.slice(0, 1) : wallets).map((wallet, i) => {
    var button = d.createElement("button");
    button.type = "button";
    button.id = b.id + i;
    button.className = i ? "btn alt" : "btn";
    button.textContent = text(done ? "done" : askedWallet === wallet ? "ask" : "pay", wallet, b);
    if (done || askedWallet) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", () => pay(wallet, b.dataset.method));
    return button;
  });
  if (note) list.push(Object.assign(d.createElement("p"), {textContent: note}));
  return list;
}

// The link that opens the page in a wallet's own browser is hidden if this browser has a wallet, and in a frame, which the
// link cannot leave.
function apps() {
  if (wallets.length || parent !== window) d.querySelectorAll(".app").forEach(a => { a.hidden = true; });
}

function draw() {
  apps();
  if (!words() || !wallets.length) return;
  boxes().forEach(b => {
    var focus = b.contains(d.activeElement) && d.activeElement.id;
    b.replaceChildren(...contents(b));
    b.hidden = false;
    b.parentNode.classList.remove("only-nojs");
    if (focus) (d.getElementById(focus) || b.firstChild).focus({preventScroll: true});
  });
}

find(all => { wallets = all; draw(); });
d.addEventListener("swap", draw);
apps();
})();
