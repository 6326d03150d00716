import createHttp, { type FetchResponse, type MaybeOptionalInit, type ParseAs } from "openapi-fetch";

import type { paths } from "./api.ts";
import { NoRoomToWait, UnexpectedAnswer, WaitTimeout } from "./errors.ts";
import { checked, type ClientOptions, type Options } from "./options.ts";
import { nameOf, send } from "./sending.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";
type MediaType = `${string}/${string}`;
/** The paths that have that method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [name in M]: { responses: unknown } } ? P : never;
}[keyof paths];
/** What a request takes: `params` (`path`, `query`, `header`), `body`, `signal`, `parseAs`. */
export type Init<M extends Method, P extends PathsWith<M>> = MaybeOptionalInit<paths[P], M>;
type Operation<M extends Method, P extends PathsWith<M>> = paths[P][M] & Record<string | number, unknown>;
/** What a request is answered with. */
export interface Answer<M extends Method, P extends PathsWith<M>, As extends ParseAs = "json"> {
  /** The JSON, or what `parseAs` asked for. */
  readonly data: Exclude<FetchResponse<Operation<M, P>, { parseAs: As }, MediaType>["data"], undefined>;
  readonly response: Response;
}
/** What goes with a path: it may be left out where nothing of it has to be given. */
type Rest<Given, All = NonNullable<Given>> = {} extends Given ? [init?: All] : [init: All];
type Verb<M extends Method> = <P extends PathsWith<M>, As extends ParseAs = "json">(
  path: P,
  ...init: Rest<Init<M, P>, NonNullable<Init<M, P>> & { parseAs?: As }>
) => Promise<Answer<M, P, As>>;

/** The paths whose answers are pages of a list. */
export type ListPath = {
  [P in PathsWith<"get">]: Answer<"get", P>["data"] extends { results: readonly unknown[]; next: unknown } ? P : never;
}[PathsWith<"get">];
/** What is in that list. */
export type Row<P extends ListPath> = Answer<"get", P>["data"] extends { results: readonly (infer R)[] } ? R : never;

interface AnyInit {
  params?: { path?: Record<string, unknown>; query?: Record<string, unknown> };
  body?: unknown;
  parseAs?: string;
}
type AnyVerb = (path: string, init: object) => Promise<{ data: unknown; response: Response }>;

/** Requests that make jobs. Each has an idempotency key, so that one whose answer was lost can be sent again. */
const CREATES: readonly string[] = ["/v1/jobs", "/v1/jobs/bulk"];
const IDEMPOTENCY_KEY = "Idempotency-Key";
/** How long the site is asked to hold an answer back, at most, and how often it is asked at most, in seconds. */
const LONG_POLL = 20;
const POLL = 1;

/**
 * A client of a site's REST API: `GET`, `POST`, `PUT`, `PATCH` and `DELETE` take a path of the API and what goes with it.
 *
 *     const delayhub = new Client("https://delay.example", { apiKey: "dh_…" });
 *     const { data: job } = await delayhub.POST("/v1/jobs", { body: { biz_type: "order.close", delay: 1800 } });
 *
 * They throw {@link ApiError}; its subclasses say what is wrong. Without an address or a key in the program, those of
 * `DELAYHUB_URL` and `DELAYHUB_API_KEY` in the environment are taken.
 */
export class Client {
  readonly #options: Options;
  readonly #http: Record<string, AnyVerb>;
  readonly #deprecated = new Set<string>();

  readonly GET: Verb<"get"> = this.#verb("GET");
  readonly POST: Verb<"post"> = this.#verb("POST");
  readonly PUT: Verb<"put"> = this.#verb("PUT");
  readonly PATCH: Verb<"patch"> = this.#verb("PATCH");
  readonly DELETE: Verb<"delete"> = this.#verb("DELETE");

  /** @param url the site's address (its API is at `/api/v1`), or that of an API elsewhere, which ends with `/v1`. */
  constructor(url?: string, options: ClientOptions = {}) {
    this.#options = checked(url, options);
    const { base, headers } = this.#options;
    const http = createHttp<paths>({ baseUrl: base, headers, redirect: "manual", bodySerializer: json });
    this.#http = http as unknown as Record<string, AnyVerb>;
  }

  /** Each row of a list; a page is fetched when the one before is used up. */
  async *pages<P extends ListPath>(path: P, ...[init]: Rest<Init<"get", P>>): AsyncGenerator<Row<P>, void, undefined> {
    const given = (init ?? {}) as AnyInit;
    let query = given.params?.query;
    for (;;) {
      const { data } = await this.#ask("GET", path, { ...given, params: { ...given.params, ...(query && { query }) } });
      const page = data as { results?: Row<P>[]; next?: string | null } | undefined;
      if (!Array.isArray(page?.results)) {
        throw new UnexpectedAnswer(`GET ${path.replace(/^\/v1/, "")} was not answered with a page of a list`);
      }
      yield* page.results;
      if (!page.next) return;
      query = queryOf(page.next);
    }
  }

  /**
   * What is asked for, once it is as it should be; it is asked for once a second, at most.
   *
   *     await delayhub.until(
   *       (wait) => delayhub.GET("/v1/jobs/{id}", { params: { path: { id }, query: { wait } } }),
   *       (job) => job.finished_at !== null,
   *       { timeoutSeconds: 60 },
   *     );
   *
   * @param ask is given for how many seconds the site may hold its answer back, where the operation can.
   * @param isDone whether what was found is what is waited for.
   * @param timeoutSeconds after so long, WaitTimeout is thrown.
   * @param signal ends the pauses; give it to the request, too.
   */
  async until<T>(
    ask: (wait: number) => Promise<{ readonly data: T }>,
    isDone: (found: T) => boolean,
    { timeoutSeconds = Infinity, signal }: { timeoutSeconds?: number; signal?: AbortSignal } = {},
  ): Promise<T> {
    const over = now() + timeoutSeconds;
    for (let asked = 0; ; asked += 1) {
      const began = now();
      // The first answer is not waited for; later ones must come before the client gives up.
      const most = asked ? Math.min(LONG_POLL, this.#options.timeoutSeconds / 2, Math.max(0, over - began)) : 0;
      const { data } = await ask(Math.floor(most)).catch((error: unknown) => {
        if (error instanceof NoRoomToWait) return ask(0);
        throw error;
      });
      if (isDone(data)) return data;
      const left = over - now();
      if (left <= 0) throw new WaitTimeout(`what was waited for has not come after ${timeoutSeconds} seconds`);
      // A site that did not hold its answer back is not asked more often than this.
      if (asked) await this.#options.pause(Math.max(0, Math.min(left, POLL) - (now() - began)), signal);
      signal?.throwIfAborted();
    }
  }

  #verb(method: string): (path: string, init?: object) => Promise<never> {
    return (path, init = {}) => this.#ask(method, path, init) as Promise<never>;
  }

  async #ask(method: string, path: string, init: AnyInit): Promise<{ data: unknown; response: Response }> {
    // It stands right behind the host where the API is at its root: another one would end with what comes here.
    if (!path.startsWith("/v1/")) throw new RangeError(`a path of the API begins with /v1/, got ${JSON.stringify(path)}`);
    for (const [name, value] of Object.entries(init.params?.path ?? {})) {
      // Parsers of URLs resolve these as steps: it would be another address.
      if (/^\.{0,2}$/.test(String(value ?? ""))) throw new RangeError(`${name} cannot be ${JSON.stringify(value)}`);
    }
    const { parseAs = "json" } = init;
    const held = this.#heldBack(path, init);
    const expected = parseAs === "json" || parseAs === "stream" ? parseAs : "whole";
    const fetch = async (request: Request): Promise<Response> => {
      if (needsKey(path, init.body) && method === "POST" && !request.headers.has(IDEMPOTENCY_KEY)) {
        request.headers.set(IDEMPOTENCY_KEY, `"${newKey()}"`);
      }
      const response = await send(request, expected, this.#options);
      this.#tellOfEnd(request, path, response);
      return response;
    };
    try {
      return await this.#http[method]!(path, { ...held, baseUrl: undefined, fetch });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new UnexpectedAnswer(`${method} ${path} was answered with what is no JSON`, { cause: error });
    }
  }

  /** The same, held back by the site for no longer than the client can wait: half of its timeout, at most. */
  #heldBack(path: string, init: AnyInit): AnyInit {
    const query = this.#withWait(init.params?.query);
    const body = path === "/v1/claims" ? this.#withWait(init.body) : init.body;
    return { ...init, ...(query && { params: { ...init.params, query } }), ...(body !== undefined && { body }) };
  }

  #withWait<T>(given: T): T {
    const wait = (given as { wait?: unknown } | null | undefined)?.wait;
    const most = Math.floor(this.#options.timeoutSeconds / 2);
    return typeof wait === "number" && wait > most ? { ...given, wait: most } : given;
  }

  /** Says once for each operation that it will go. */
  #tellOfEnd(request: Request, path: string, { headers }: Response): void {
    if (!headers.has("Deprecation") || this.#deprecated.has(request.method + path)) return;
    this.#deprecated.add(request.method + path);
    const name = nameOf(request, this.#options);
    const end = headers.get("Sunset") ?? "a time that is not fixed";
    console.warn(`${name} is deprecated at ${this.#options.base}/v1 until ${end}: use a newer client`);
  }
}

function needsKey(path: string, body: unknown): boolean {
  return CREATES.includes(path) && ((body ?? {}) as { idempotency_key?: unknown }).idempotency_key == null;
}

function newKey(): string {
  return crypto.getRandomValues(new Uint8Array(16)).reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "");
}

/**
 * A body as JSON; numbers and times that JSON has not are refused: it would send null, and without a delay or a time a
 * job is due at once.
 */
function json(body: unknown): string {
  return JSON.stringify(body, function (this: Record<string, unknown>, name, value: unknown) {
    const given = this[name]; // a date is text by now, or null
    const isNone = given instanceof Date ? value === null : typeof value === "number" && !Number.isFinite(value);
    if (isNone) throw new RangeError(`${name} cannot be ${given}`);
    return value;
  });
}

/**
 * The parameters of the next page. The rest of its address is not used: it is as the site sees itself, which a proxy may
 * have another name for, and the key is sent to no other host.
 */
function queryOf(address: string): Record<string, unknown> {
  const { searchParams } = new URL(address, "https://any.example");
  return Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]));
}

function now(): number {
  return performance.now() / 1000;
}
