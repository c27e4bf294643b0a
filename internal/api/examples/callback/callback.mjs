// Receives webhooks and accepts only those that Chequer signed. Run it with node callback.mjs.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { WEBHOOK_SECRET, PORT } = process.env;

// genuine reports whether Chequer signed these bytes within the last five minutes.
function genuine(headers, body) {
  const timestamp = headers["x-processing-timestamp"] ?? "";
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const hash = createHash("sha512").update(body).digest("hex");
  const message = ["chequer-event-v1", timestamp, headers["x-processing-event-id"], hash].join("\n");
  const expected = createHmac("sha512", WEBHOOK_SECRET).update(message).digest();
  // There are two signatures while the endpoint's keys are being rotated.
  return (headers["x-processing-signature-v2"] ?? "").split(",").some((hex) => {
    const given = Buffer.from(hex, "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // the exact bytes, before parsing
  if (!genuine(request.headers, body)) {
    response.writeHead(403).end();
    return;
  }
  // Record the id, so that a repeated event counts once; then act.
  console.log(JSON.parse(body).type);
  response.writeHead(200).end();
}).listen(Number(PORT), "127.0.0.1");
