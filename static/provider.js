// What pages need to use a browser wallet: EIP-6963 finds it, and EIP-1193 is the interface. The script sends
// nothing to any other place.
var browserWallets = (function () {
"use strict";
function hex(number) { return BigInt(number).toString(16); }

// Switches the wallet to the network, or throws.
async function switchNetwork(ask, chain) {
  if (BigInt(await ask("eth_chainId")) === BigInt(chain)) return;
  await ask("wallet_switchEthereumChain", [{chainId: "0x" + hex(chain)}]);
  if (BigInt(await ask("eth_chainId")) !== BigInt(chain)) throw {code: 4200};
}

// See EIP-1193, "Provider Errors", EIP-1474, "Error codes", and EIP-3326. After an unknown error while
// sending, the transaction may have been sent.
function errorKey(e, sending) {
  var inner = e.data && e.data.originalError || {}, code = inner.code || e.code;
  if (code === 4001) return "rejected";
  if (code === -32002) return "pending";
  if (code === 4902) return "unknown";
  if (code === 4900 || code === 4901) return "offline";
  if (code === 4200 && !sending) return "elsewhere";
  if (/insufficient|exceeds (the )?balance/i.test(e.message + " " + inner.message)) return "funds";
  return e.key || (sending ? "unsure" : "failed");
}

// Calls found with the list of the wallets, each time there is another one, and once after 400 ms. Only the name of a wallet is
// used, and never its picture, which the wallet supplies.
function find(found) {
  var wallets = [];
  addEventListener("eip6963:announceProvider", e => {
    var {info, provider} = e.detail || {};
    if (!info || !info.uuid || !provider || wallets.some(w => w.id === info.uuid)) return;
    wallets = wallets.filter(w => w.id);
    wallets.push({id: info.uuid, name: String(info.name).slice(0, 30), provider});
    found(wallets);
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
  // A wallet's own browser may support only window.ethereum, which is older than EIP-6963.
  setTimeout(() => {
    if (!wallets.length && window.ethereum) wallets.push({provider: window.ethereum});
    found(wallets);
  }, 400);
}
return {hex, switchNetwork, errorKey, find};
})();
