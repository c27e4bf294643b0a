// Signs a plan and makes other vectors with viem, from the documents alone. It prints the JSON of viem.json:
//   NODE_PATH=node_modules node viem.cjs ../../plan/testdata/plan.json > viem.json
const { readFileSync } = require("node:fs");
const { createHash } = require("node:crypto");
const { encodeFunctionData, hashDomain, hashTypedData, keccak256, parseAbi, parseSignature, serializeTransaction, toHex, concat } = require("viem");
const { mnemonicToAccount } = require("viem/accounts");

const words = "test test test test test test test test test test test junk";
const passphrase = "Zürich";
const account = (path, pass = passphrase) => mnemonicToAccount(words, { path, passphrase: pass });

// The example of EIP-712.
const mail = {
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "version", type: "string" },
      { name: "chainId", type: "uint256" },
      { name: "verifyingContract", type: "address" },
    ],
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person" },
      { name: "contents", type: "string" },
    ],
  },
  primaryType: "Mail",
  domain: { name: "Ether Mail", version: "1", chainId: 1, verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC" },
  message: {
    from: { name: "Cow", wallet: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
    to: { name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
    contents: "Hello, Bob!",
  },
};

const transfer = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

const abi = parseAbi([
  "struct Call3 { address target; bool allowFailure; bytes callData; }",
  "function aggregate3(Call3[] calls) payable",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);
const multicall3 = "0xcA11bde05977b3631167028862bE2a173976CA11";

const content = readFileSync(process.argv[2]);
const plan = JSON.parse(content);
const hash = createHash("sha256").update(content).digest();

// message returns the members of the authorization of a row.
function message(row) {
  const n = Buffer.alloc(8);
  n.writeBigUInt64BE(BigInt(row.n));
  return {
    from: row.from,
    to: plan.to,
    value: BigInt(row.amount),
    validAfter: 0n,
    validBefore: BigInt(Date.parse(plan.valid_until) / 1000),
    nonce: keccak256(concat([toHex("chequer-sweep-v1"), toHex(hash), toHex(n)])),
  };
}

// signTyped returns the signature of the authorization of a row.
function signTyped(row) {
  return account(row.path).signTypedData({
    domain: { name: row.name, version: row.version, chainId: plan.chain_id, verifyingContract: row.contract },
    types: transfer,
    primaryType: "TransferWithAuthorization",
    message: message(row),
  });
}

// callOf returns the call of the token of a row.
function callOf(row, signature) {
  const { r, s, v } = parseSignature(signature);
  const m = message(row);
  return {
    target: row.contract,
    allowFailure: true,
    callData: encodeFunctionData({
      abi,
      functionName: "transferWithAuthorization",
      args: [m.from, m.to, m.value, m.validAfter, m.validBefore, m.nonce, Number(v), r, s],
    }),
  };
}

// transaction returns a transaction of type 2 with the fees of a row or of the payer.
function transaction(cost, rest) {
  return { type: "eip1559", chainId: plan.chain_id, maxPriorityFeePerGas: BigInt(cost.tip), maxFeePerGas: BigInt(cost.fee_cap), ...rest };
}

async function signPlan() {
  const rows = [];
  const calls = [];
  for (const row of plan.rows) {
    if (row.way === "own") {
      const t = transaction(row, { nonce: row.nonce, gas: BigInt(row.gas), to: plan.to, value: BigInt(row.amount) });
      rows.push({ n: row.n, transaction: await account(row.path).signTransaction(t) });
      continue;
    }
    const signature = await signTyped(row);
    rows.push({ n: row.n, signature });
    calls.push(callOf(row, signature));
  }
  const payer = [];
  for (const [i, carrier] of plan.payer.transactions.entries()) {
    const data = encodeFunctionData({ abi, functionName: "aggregate3", args: [calls.splice(0, carrier.rows)] });
    const t = transaction(plan.payer, { nonce: plan.payer.nonce + i, gas: BigInt(carrier.gas), to: multicall3, data });
    payer.push(await account("m/44'/60'/0'/0/0").signTransaction(t));
  }
  return { format: "chequer-sweep-signed", version: 1, plan: plan.id, plan_sha256: hash.toString("hex"), to: plan.to, rows, payer };
}

// signTransactions signs transactions whose fields have lengths at the limits of RLP.
async function signTransactions() {
  const list = [];
  for (const [nonce, value, size] of [[0, 0n, 0], [127, 127n, 1], [128, 128n, 55], [255, 256n, 56], [65536, 10n ** 18n, 255], [7, 2n ** 256n - 1n, 70000]]) {
    const fields = { type: "eip1559", chainId: 43114, nonce, maxPriorityFeePerGas: BigInt(nonce), maxFeePerGas: 30_000_000_000n, gas: 21000n, to: multicall3, value, data: "0x" + "7f".repeat(size) };
    const raw = await account("m/44'/60'/0'/0/0", "").signTransaction(fields);
    list.push({ nonce, value: value.toString(), size, signing_hash: keccak256(serializeTransaction(fields)), hash: keccak256(raw) });
  }
  return list;
}

async function main() {
  const paths = ["m/44'/60'/0'/0/0", "m/44'/60'/0'/0/19", "m/44'/60'/1'/0/0", "m/44'/60'/1'/0/2147483647", "m/44'/60'/7'/3/5"];
  const signed = await signPlan();
  console.log(JSON.stringify({
    words,
    passphrase,
    addresses: paths.map((path) => ({ path, plain: account(path, "").address, protected: account(path).address })),
    mail: { separator: hashDomain({ domain: mail.domain, types: mail.types }), digest: hashTypedData(mail) },
    transactions: await signTransactions(),
    signed: JSON.stringify(signed) + "\n",
  }, null, 1));
}

main();
