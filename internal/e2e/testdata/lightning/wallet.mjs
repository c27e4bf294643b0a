// The wallet service of Nostr Wallet Connect (NIP-47) of @getalby/sdk before a node of lnd. The only argument is JSON:
//
//   relay, secret, client       URL of the relay; private key of the wallet, and public key of the client
//   lnd, macaroon               URL of the REST API, and the macaroon in hexadecimal digits
//   methods                     the methods of the connection
//   nip04                       reads and writes NIP-04 only, and its info event names no encryption
//   silent                      publishes no notification
//   delay                       time before each answer, in milliseconds
//   clock                       difference of the times in its answers, in seconds
//
// It prints "ready", then a line of JSON for each request: its method, and its encryption.
import { webcrypto } from "node:crypto";
import WebSocket from "ws";

globalThis.crypto ??= webcrypto; // Node before version 20 has none
globalThis.WebSocket ??= WebSocket; // Node before version 22 has none
const { NWCWalletService, NWCWalletServiceKeyPair } = await import("@getalby/sdk/nwc");

const options = JSON.parse(process.argv[2]);
const keys = new NWCWalletServiceKeyPair(options.secret, options.client);
const service = new NWCWalletService({ relayUrls: [options.relay] });

// call calls the REST API of lnd.
async function call(method, path, content) {
  const answer = await fetch(options.lnd + path, {
    method,
    headers: { "Grpc-Metadata-macaroon": options.macaroon },
    body: content && JSON.stringify(content),
  });
  const result = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(result.message), { code: result.code });
  return result;
}

const hex = (base64) => Buffer.from(base64, "base64").toString("hex");
const states = { OPEN: "pending", ACCEPTED: "accepted", SETTLED: "settled", CANCELED: "failed" };

// transaction returns an invoice of lnd in the form of NIP-47.
function transaction(invoice) {
  const made = Number(invoice.creation_date);
  return {
    type: "incoming",
    state: states[invoice.state],
    invoice: invoice.payment_request,
    description: invoice.memo,
    preimage: hex(invoice.r_preimage),
    payment_hash: hex(invoice.r_hash),
    amount: Number(invoice.value_msat),
    fees_paid: 0,
    created_at: made + options.clock,
    expires_at: made + Number(invoice.expiry) + options.clock,
    ...(invoice.state === "SETTLED" && { settled_at: Number(invoice.settle_date) + options.clock }),
  };
}

// answer returns the result of a handler, or its error.
async function answer(work) {
  await new Promise((resolve) => setTimeout(resolve, options.delay));
  try {
    return { result: await work(), error: undefined };
  } catch (error) {
    const code = error.code === 5 ? "NOT_FOUND" : "INTERNAL";
    return { result: undefined, error: { code, message: error.message } };
  }
}

const handler = {
  getInfo: () =>
    answer(async () => {
      const info = await call("GET", "/v1/getinfo");
      return {
        alias: info.alias,
        color: info.color,
        pubkey: info.identity_pubkey,
        network: "regtest",
        block_height: info.block_height,
        block_hash: info.block_hash,
        methods: options.methods,
        notifications: options.silent ? [] : ["payment_received"],
      };
    }),
  makeInvoice: (params) =>
    answer(async () => {
      const made = await call("POST", "/v1/invoices", {
        value_msat: String(params.amount),
        memo: params.description,
        expiry: String(params.expiry),
      });
      return transaction(await call("GET", "/v1/invoice/" + hex(made.r_hash)));
    }),
  lookupInvoice: (params) =>
    answer(async () => {
      const hash = params.payment_hash ?? (await call("GET", "/v1/payreq/" + params.invoice)).payment_hash;
      return transaction(await call("GET", "/v1/invoice/" + hash));
    }),
};

// publish publishes an event of the wallet.
async function publish(kind, tags, content) {
  const template = { kind, created_at: Math.floor(Date.now() / 1000), tags, content };
  const event = await service.signEvent(template, options.secret);
  await Promise.any(service.pool.publish([options.relay], event));
}

// notify publishes notifications of settled requests, in both encryptions.
async function notify() {
  const stream = await fetch(options.lnd + "/v1/invoices/subscribe", { headers: { "Grpc-Metadata-macaroon": options.macaroon } });
  let text = "";
  for await (const chunk of stream.body) {
    text += Buffer.from(chunk).toString();
    for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
      const invoice = JSON.parse(text.slice(0, end)).result;
      if (invoice.state !== "SETTLED") continue;
      const content = JSON.stringify({ notification_type: "payment_received", notification: transaction(invoice) });
      const tags = [["p", options.client]];
      for (const [kind, encryption] of options.nip04 ? [[23196, "nip04"]] : [[23196, "nip04"], [23197, "nip44_v2"]]) {
        await publish(kind, tags, await service.encrypt(keys, content, encryption)).catch(() => {}); // no client listens
      }
    }
  }
}

const decrypt = service.decrypt.bind(service);
service.decrypt = async (pair, content, encryption) => {
  if (options.nip04 && encryption !== "nip04") throw new Error("unknown encryption " + encryption);
  const text = await decrypt(pair, content, encryption);
  console.log(JSON.stringify({ method: JSON.parse(text).method, encryption }));
  return text;
};

const notifications = options.silent ? [] : ["payment_received"];
if (options.nip04) {
  await service._checkConnected();
  await publish(13194, [["notifications", notifications.join(" ")]], options.methods.join(" "));
} else {
  await service.publishWalletServiceInfoEvent(options.secret, options.methods, notifications);
}
await service.subscribe(keys, handler);
if (!options.silent) notify();
console.log("ready");
