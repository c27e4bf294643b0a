// Reads an invoice. Run it with node read.mjs FOREIGN_ID.
import { createHash, createHmac, randomBytes } from "node:crypto";

const { CHEQUER_BASE_URL, CHEQUER_API_KEY, CHEQUER_API_SECRET } = process.env;

// sign returns the headers of a request with a request signature.
function sign(method, url, body = "", idempotencyKey = "") {
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const nonce = randomBytes(16).toString("hex");
  const { pathname, search } = new URL(url);
  const hash = createHash("sha512").update(body).digest("hex");
  const message = ["chequer-v1", timestamp, nonce, method, pathname + search, idempotencyKey, hash].join("\n");
  return {
    "X-Processing-Key": CHEQUER_API_KEY,
    "X-Processing-Timestamp": timestamp,
    "X-Processing-Nonce": nonce,
    "X-Processing-Signature": createHmac("sha512", CHEQUER_API_SECRET).update(message).digest("hex"),
  };
}

const url = CHEQUER_BASE_URL + "/api/v2/invoices/" + process.argv[2];
const response = await fetch(url, { headers: sign("GET", url) });
console.log(await response.text());
if (!response.ok) {
  console.error(response.status, response.headers.get("X-Error-Code"));
  process.exitCode = 1;
}
