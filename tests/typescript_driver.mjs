// Lets tests in Python use the TypeScript client. A line of JSON on standard input is one request; each line on standard
// output is an event of it. Events that ask for something are answered by a line.
import { createInterface } from "node:readline";

import * as delayhub from "../clients/typescript/src/index.ts";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const clients = new Map();

const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const heard = async () => {
  const { value, done } = await lines.next();
  if (done) process.exit(0);
  return JSON.parse(value);
};
const ask = (event) => {
  tell(event);
  return heard();
};

console.warn = (said) => tell({ event: "warned", said });

/** In place of the network: what the test says. */
async function answered(request) {
  const body = Buffer.from(await request.arrayBuffer()).toString("base64");
  const asked = { event: "fetch", method: request.method, url: request.url, headers: [...request.headers], body };
  const { status, headers, parts, cut, code, message } = await ask(asked);
  if (code) throw new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
  const left = parts.map((part) => Buffer.from(part, "base64"));
  const pull = (controller) => {
    if (left.length) controller.enqueue(new Uint8Array(left.shift()));
    else if (cut) controller.error(new TypeError("terminated", { cause: new Error(cut) }));
    else controller.close();
  };
  return new Response(left.length || cut ? new ReadableStream({ pull }) : null, { status, headers });
}

function clientOf({ url, mocked, ...options }) {
  const name = JSON.stringify([url, mocked, options]);
  if (!clients.has(name)) {
    const pause = (seconds) => ask({ event: "pause", seconds });
    clients.set(name, new delayhub.Client(url, { ...options, pause, ...(mocked && { fetch: answered }) }));
  }
  return clients.get(name);
}

async function carryOut({ call, client: options, method, path, init, ended, timeoutSeconds }) {
  const client = clientOf(options);
  if (call === "pages") {
    for await (const row of client.pages(path, init)) await ask({ event: "part", part: row });
    return {};
  }
  if (call === "stream") {
    const { data } = await client[method](path, { ...init, parseAs: "stream" });
    for await (const piece of data ?? []) await ask({ event: "part", part: Buffer.from(piece).toString("base64") });
    return {};
  }
  if (call === "until") {
    const read = (wait) => client.GET(path, { params: { ...init.params, query: wait ? { wait } : {} } });
    return { data: await client.until(read, (found) => ended.includes(found?.status), { timeoutSeconds }) };
  }
  const { data, response } = await client[method](path, init);
  return { data, etag: response.headers.get("ETag") };
}

for (;;) {
  try {
    tell({ event: "done", ...(await carryOut(await heard())) });
  } catch (error) {
    const { wasSent, status, document, code, detail, errors, retryAfter, requestId, state, ids, jobId, version } = error;
    const facts = { wasSent, status, document, code, detail, errors, retryAfter, requestId, state, ids, jobId, version };
    tell({ event: "failed", kind: error.constructor.name, message: error.message, facts });
  }
}
