// A receiver of callbacks in Node, without packages: PORT=8000 node node_receiver.mjs
//
// The file ORDERS stands for your database: one line holds the callback's key and its effect, so both are stored or
// neither is. With a database, do both in one transaction:
//   BEGIN; INSERT INTO inbox (id) VALUES ($1) ON CONFLICT DO NOTHING;  -- 0 rows: ROLLBACK, answer 200
//   ... the work ...; COMMIT;                                          -- and only then answer
import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const { DELAYHUB_SECRET, ORDERS, PORT } = process.env;
const KEY = Buffer.from((DELAYHUB_SECRET ?? "").replace(/^whsec_/, ""), "base64");
if (KEY.length < 24) throw new Error("DELAYHUB_SECRET is no signing secret"); // without a key, anybody could sign
const TOLERANCE_SECONDS = 300;
const MOST_BYTES = 1_048_576;

const taken = new Set(
  existsSync(ORDERS) ? readFileSync(ORDERS, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line).key) : [],
);

function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!/^[^\s.]+$/.test(id ?? "") || !/^[0-9]{1,12}$/.test(timestamp ?? "")) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac("sha256", KEY).update(`${id}.${timestamp}.`).update(body).digest();
  return (signatures ?? "").split(" ").some((signature) => {
    const [version, encoded] = signature.split(",");
    const given = Buffer.from(encoded ?? "", "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function answer(headers, body) {
  if (!isGenuine(headers, body)) return 401;
  if (headers["delayhub-test"] === "1") return 204;
  const key = `${headers["webhook-id"]}:${headers["delayhub-redrive"] ?? "0"}`;
  if (taken.has(key)) return 200;
  appendFileSync(ORDERS, JSON.stringify({ key, closed: JSON.parse(body).order }) + "\n");
  taken.add(key);
  return 204;
}

createServer((request, response) => {
  const parts = [];
  let length = 0;
  request.on("data", (part) => {
    length += part.length;
    if (length <= MOST_BYTES) parts.push(part);
  });
  request.on("end", () => {
    try {
      response.writeHead(length > MOST_BYTES ? 413 : answer(request.headers, Buffer.concat(parts))).end();
    } catch (error) {
      console.error(error);
      response.writeHead(500).end(); // DelayHub tries again
    }
  });
}).listen(Number(PORT), "127.0.0.1");
