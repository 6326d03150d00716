// What is of this client alone. What it shares with the Python client is tested by that one's tests, run over both.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";

import { Client, NotConfigured, NotFound, UnexpectedAnswer, Unreachable, VERSION, WaitTimeout } from "../src/index.ts";

const SITE = "https://delay.example";
const json = (value, init) => new Response(JSON.stringify(value), { headers: { "Content-Type": "application/json" }, ...init });

/** A client whose requests are answered by that function; and what it was asked. */
function mocked(answer, options = {}) {
  const asked = [];
  const fetch = async (request, init) => {
    asked.push(request);
    return answer(request, init);
  };
  return { asked, client: new Client(SITE, { apiKey: "dh_s3cret", fetch, pause: async () => {}, ...options }) };
}

/** A client of a server of this machine, which is given what the function makes of each request. */
async function served(context, handler, options = {}) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => (server.close(), server.closeAllConnections()));
  return new Client(`http://127.0.0.1:${server.address().port}`, { apiKey: "k", retries: 0, ...options });
}

const JOB = { params: { path: { id: "1" } } };

test("the address of a site or of an API is enough", async () => {
  const addresses = {
    "https://delay.example": "https://delay.example/api/v1/jobs/1",
    "http://127.0.0.1:8000/": "http://127.0.0.1:8000/api/v1/jobs/1",
    "https://shop.example/hub/": "https://shop.example/hub/api/v1/jobs/1",
    "https://shop.example/timeouts/v1": "https://shop.example/timeouts/v1/jobs/1",
    "https://shop.example/timeouts/v1/": "https://shop.example/timeouts/v1/jobs/1",
    "http://[::1]:8000": "http://[::1]:8000/api/v1/jobs/1",
  };
  for (const [given, wanted] of Object.entries(addresses)) {
    const fetch = async ({ url }) => (assert.equal(url, wanted), json({}));
    await new Client(given, { apiKey: "k", fetch }).GET("/v1/jobs/{id}", JOB);
  }
});

test("another address, and options that cannot be, are refused", () => {
  const wrong = ["delay.example", "ftp://delay.example", "https://", `${SITE}?x=1`, "https://a:b@delay.example", "http://d e"];
  for (const address of wrong) assert.throws(() => new Client(address, { apiKey: "k" }), RangeError, address);
  const cannot = [{ timeoutSeconds: 0 }, { timeoutSeconds: NaN }, { retries: -1 }, { mostWaitSeconds: -1 }, { apiKey: "a\nb" }];
  for (const options of cannot) assert.throws(() => new Client(SITE, { apiKey: "k", ...options }), RangeError);
});

test("a password in the address is not repeated", () => {
  for (const address of ["https://a:hush@delay.example", "https://a:hu%40sh:hush@:x/"]) {
    assert.throws(() => new Client(address, { apiKey: "k" }), (error) => error instanceof RangeError && !/hush/.test(error));
  }
});

test("what is missing is named with its variable", () => {
  assert.throws(() => new Client("", { apiKey: "k" }), (error) => error instanceof NotConfigured && /DELAYHUB_URL/.test(error));
  assert.throws(() => new Client(SITE), (error) => error instanceof NotConfigured && /DELAYHUB_API_KEY/.test(error));
});

test("the key is not shown", () => {
  assert.doesNotMatch(inspect(mocked().client, { depth: 9, showHidden: true }), /s3cret/);
});

test("a program that knows no process, as in a browser, sends no User-Agent and needs nothing of Node", () => {
  const program = `
    delete globalThis.process;
    const { Client } = await import(${JSON.stringify(new URL("../src/index.ts", import.meta.url))});
    const fetch = async (request) => Response.json({ sent: request.headers.get("User-Agent"), key: request.headers.get("Idempotency-Key") });
    const { data } = await new Client("${SITE}", { apiKey: "k", fetch }).POST("/v1/jobs", { body: { biz_type: "a" } });
    if (data.sent !== null || !/^"[0-9a-f]{32}"$/.test(data.key)) throw new Error(JSON.stringify(data));
  `;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("Node names itself, with this package's version", async () => {
  const { asked, client } = mocked(() => json({}));
  await client.GET("/v1/jobs/{id}", JOB);
  assert.match(asked[0].headers.get("User-Agent"), new RegExp(`^delayhub-client/${VERSION} node/`));
});

test("an idempotency key of the caller's own is kept, in the body or in a header", async () => {
  const { asked, client } = mocked(() => json({}));
  await client.POST("/v1/jobs", { body: { biz_type: "a", idempotency_key: "mine" } });
  await client.POST("/v1/jobs", { body: { biz_type: "a" }, params: { header: { "Idempotency-Key": '"mine"' } } });
  await client.POST("/v1/jobs", { body: { biz_type: "a" }, headers: { "idempotency-key": '"mine"' } });
  for (let made = 0; made < 2; made += 1) await client.POST("/v1/jobs/bulk", { body: { jobs: [{ biz_type: "a" }] } });
  await client.POST("/v1/jobs/{id}/cancel", JOB);

  const keys = asked.map(({ headers }) => headers.get("Idempotency-Key"));
  assert.deepEqual(keys.slice(0, 3), [null, '"mine"', '"mine"']);
  assert.notEqual(keys[3], keys[4]);
  assert.equal(keys[5], null);
});

test("what JSON has not is refused before it is sent", async () => {
  const { asked, client } = mocked(() => json({}));
  const bad = { delay: NaN, priority: Infinity, body: { id: 10n }, due_at: new Date("soon") };
  for (const [name, value] of Object.entries(bad)) {
    const body = { biz_type: "a", [name]: value };
    await assert.rejects(client.POST("/v1/jobs", { body }), /NaN|Infinity|BigInt|due_at cannot be Invalid Date/);
  }
  assert.deepEqual(asked, []);
});

test("a date is sent as the API takes it", async () => {
  const { asked, client } = mocked(() => json({}));
  await client.POST("/v1/jobs", { body: { biz_type: "a", due_at: new Date(0) } });
  assert.equal((await asked[0].json()).due_at, "1970-01-01T00:00:00.000Z");
});

test("a part of a path that would lead elsewhere is refused", async () => {
  const { asked, client } = mocked(() => json({}));
  for (const id of ["", ".", "..", undefined]) {
    await assert.rejects(client.POST("/v1/jobs/{id}/cancel", { params: { path: { id } } }), RangeError);
  }
  await client.GET("/v1/jobs/{id}", { params: { path: { id: "../a?b#c é" } } });
  assert.deepEqual(asked.map(({ url }) => url), [`${SITE}/api/v1/jobs/..%2Fa%3Fb%23c%20%C3%A9`]);
});

test("a request cannot be led to another host with the key", async () => {
  const { asked, client } = mocked(() => json({}));
  await client.GET("/v1/jobs/{id}", { ...JOB, baseUrl: "https://evil.example", fetch: () => assert.fail() });
  assert.equal(asked[0].url, `${SITE}/api/v1/jobs/1`);

  const atRoot = new Client("https://delay.example/v1", { apiKey: "k", fetch: () => assert.fail() });
  for (const path of ["@evil.example/v1/jobs", ".evil.example/v1/jobs"]) await assert.rejects(atRoot.GET(path), RangeError);
});

test("a redirect is not followed", async (context) => {
  const client = await served(context, (_, answer) => answer.writeHead(302, { Location: "https://evil.example/" }).end());
  await assert.rejects(client.GET("/v1/jobs/{id}", JOB), UnexpectedAnswer);
});

test("JSON that breaks off is an unexpected answer", async () => {
  const { client } = mocked(() => new Response('{"a":', { headers: { "Content-Type": "application/json" } }));
  await assert.rejects(client.GET("/v1/jobs/{id}", JOB), UnexpectedAnswer);
});

test("a signal ends a request, and a pause before the next, with its own reason", async (context) => {
  const reason = new Error("enough");
  const silent = await served(context, () => {}, { retries: 3 });
  await assert.rejects(silent.GET("/v1/jobs/{id}", { ...JOB, signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });

  const ending = new AbortController();
  const full = await served(context, (_, answer) => {
    answer.writeHead(429, { "Retry-After": "30" }).end();
    setTimeout(() => ending.abort(reason), 20);
  }, { retries: 3 });
  await assert.rejects(full.GET("/v1/jobs/{id}", { ...JOB, signal: ending.signal }), reason);
  await assert.rejects(full.GET("/v1/jobs/{id}", { ...JOB, signal: ending.signal }), reason);
});

test("a site that says nothing, or stops in its answer, is given up, and may have done it", async (context) => {
  const begun = (_, answer) => answer.writeHead(200, { "Content-Type": "application/json" }).write("{");
  for (const handler of [() => {}, begun]) {
    const client = await served(context, handler, { timeoutSeconds: 0.05 });
    const late = (error) => error instanceof Unreachable && error.wasSent && /: no answer in time$/.test(error.message);
    await assert.rejects(client.POST("/v1/jobs/{id}/cancel", JOB), late);
  }
});

test("what could not be connected to is asked again, and a connection that broke is not", async () => {
  const broken = (facts) => () => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("no route"), { code: "EHOSTUNREACH", ...facts }) });
  };
  for (const [syscall, times] of [["connect", 4], ["read", 1], ["write", 1]]) {
    const { asked, client } = mocked(broken({ syscall }));
    const unsent = (error) => error instanceof Unreachable && error.wasSent === (syscall !== "connect");
    await assert.rejects(client.POST("/v1/jobs/{id}/cancel", JOB), unsent);
    assert.equal(asked.length, times);
  }
});

test("an answer that keeps coming, and a caller that reads a stream slowly, are not late", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const after = async (milliseconds) => {
    await new Promise((resolve) => setImmediate(resolve)); // by then the client that waits has set its timer
    context.mock.timers.tick(milliseconds);
  };
  let left = [];
  const slow = async (controller) => {
    await after(600);
    if (left.length) controller.enqueue(new TextEncoder().encode(left.shift()));
    else controller.close();
  };
  const body = () => ((left = ["[", "1", ",", "2", "]"]), new ReadableStream({ pull: slow }, { highWaterMark: 0 }));
  const headers = { "Content-Type": "application/json" };
  const { client } = mocked(() => new Response(body(), { headers }), { timeoutSeconds: 1 });
  assert.deepEqual((await client.GET("/v1/jobs/{id}", JOB)).data, [1, 2]);

  const { data } = await client.GET("/v1/jobs/export", { parseAs: "stream" });
  let text = "";
  for await (const piece of data) {
    text += new TextDecoder().decode(piece);
    await after(5000);
  }
  assert.equal(text, "[1,2]");

  const stuck = (_, { signal }) => {
    const pull = async (controller) => (await after(1001), controller.error(signal.reason ?? new Error("not aborted")));
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers });
  };
  const late = { name: "Unreachable", message: /no answer in time$/ };
  await assert.rejects(mocked(stuck, { timeoutSeconds: 1, retries: 0 }).client.GET("/v1/jobs/{id}", JOB), late);
});

test("no timeout is longer than what timers know, and so none at all", async () => {
  const { client } = mocked(() => new Promise((resolve) => setTimeout(resolve, 20, json({ id: "1" }))), { timeoutSeconds: Infinity });
  assert.deepEqual((await client.GET("/v1/jobs/{id}", JOB)).data, { id: "1" });
});

test("what is waited for is given up after its time, or by a signal, and errors of asking are thrown", async () => {
  const { client } = mocked(() => json({ status: "pending" }), { pause: undefined });
  const read = () => client.GET("/v1/jobs/{id}", JOB);
  await assert.rejects(client.until(read, () => false, { timeoutSeconds: 0.02 }), WaitTimeout);
  await assert.rejects(client.until(read, () => false, { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });

  const gone = mocked(() => json({ detail: "no" }, { status: 404 })).client;
  await assert.rejects(gone.until(() => gone.GET("/v1/jobs/{id}", JOB), () => true), NotFound);
});

test("the site holds no answer back for longer than half of the timeout", async () => {
  const { asked, client } = mocked(() => json({}), { timeoutSeconds: 9 });
  for (const wait of [3, 30]) {
    await client.POST("/v1/claims", { body: { biz_types: ["a"], wait } });
    await client.GET("/v1/jobs/{id}", { params: { ...JOB.params, query: { wait } } });
  }
  await client.POST("/v1/jobs", { body: { biz_type: "a", body: { wait: 30 } } });

  const [short, , long, , job] = await Promise.all(asked.map((request) => request.text()));
  assert.deepEqual([short, long].map((body) => JSON.parse(body).wait), [3, 4]);
  assert.deepEqual([asked[1], asked[3]].map(({ url }) => new URL(url).searchParams.get("wait")), ["3", "4"]);
  assert.equal(JSON.parse(job).body.wait, 30);
});
