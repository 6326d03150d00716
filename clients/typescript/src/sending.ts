import { ApiError, type Problem, problem, UnexpectedAnswer, Unreachable } from "./errors.ts";
import { LONGEST_TIMER, type Options } from "./options.ts";
import { isRepeatable, pauseAfter, retryAfterOf } from "./retrying.ts";

/** What an answer is to be: JSON, any text or bytes as a whole, or a stream whose pieces the caller reads. */
export type Expected = "json" | "whole" | "stream";

/** How many characters of an answer that is no JSON a message shows. */
const SHOWN = 200;
/**
 * Errors of Node before anything of a request was sent, unless what failed was to read or to write on a connection that
 * was there. Other programs do not tell them apart: it may have been sent.
 */
const NOT_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|.*CERT.*|UNABLE_TO_.*)$/;

/** Sends a request, and again where that is safe; gives an answer that is no refusal. Throws ApiError. */
export async function send(request: Request, expected: Expected, options: Options): Promise<Response> {
  const path = pathOf(request, options);
  // What was given on of a stream cannot be taken back.
  const repeatable = expected !== "stream" && isRepeatable(request.method, path);
  const retries = expected === "stream" ? 0 : options.retries;
  for (let failures = 1; ; failures += 1) {
    try {
      return await new Sending(request.clone(), options).answer(expected);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const seconds = pauseAfter(error, { repeatable, failures }, { ...options, retries });
      if (seconds === undefined) throw error;
      await options.pause(seconds, request.signal);
    }
  }
}

/** How messages name a request: its method, and its path below the API's version. */
export function nameOf(request: Request, options: Options): string {
  return `${request.method} ${pathOf(request, options).replace(/^\/v1/, "")}`;
}

function pathOf(request: Request, { base }: Options): string {
  return request.url.slice(base.length).replace(/\?.*/, "");
}

/** One attempt. */
class Sending {
  readonly #request: Request;
  readonly #options: Options;
  readonly #name: string;
  readonly #late = new AbortController();

  constructor(request: Request, options: Options) {
    this.#request = request;
    this.#options = options;
    this.#name = nameOf(request, options);
  }

  async answer(expected: Expected): Promise<Response> {
    const signal = AbortSignal.any([this.#request.signal, this.#late.signal]);
    const response = await this.#inTime(() => this.#options.fetch(this.#request, { signal }));
    const pieces = response.body && this.#pieces(response.body);
    if (response.ok && expected === "stream") return copyOf(response, pieces);
    const body = pieces && (await new Response(pieces).arrayBuffer());
    if (!response.ok) throw this.#refusal(response, textOf(body));
    if (expected === "json" && body?.byteLength && !/\bjson\b/.test(response.headers.get("Content-Type") ?? "")) {
      const shown = textOf(body).slice(0, SHOWN);
      throw new UnexpectedAnswer(`${this.#name} was answered ${response.status} with what is no JSON: '${shown}'`);
    }
    return copyOf(response, body?.byteLength ? body : null);
  }

  /** The body of an answer; each piece has the time of the whole timeout, from when it is asked for. */
  #pieces(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await this.#inTime(() => reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  async #inTime<T>(step: () => Promise<T>): Promise<T> {
    const most = Math.min(this.#options.timeoutSeconds * 1000, LONGEST_TIMER);
    const timer = setTimeout(() => this.#late.abort(), most);
    try {
      return await step();
    } catch (error) {
      throw this.#failure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Why no answer came. What the caller aborted fails with the caller's own reason. */
  #failure(error: unknown): unknown {
    if (this.#request.signal.aborted) return this.#request.signal.reason;
    const cause = ((error as Error | undefined)?.cause ?? error) as
      | { code?: unknown; message?: unknown; syscall?: unknown }
      | undefined;
    const code = String(cause?.code ?? "");
    const isOnTheWay = /^(read|write)/.test(String(cause?.syscall ?? ""));
    const late = this.#late.signal.aborted;
    const reason = late ? "no answer in time" : cause?.message || code || String(error);
    const where = `${this.#request.method} ${this.#request.url.replace(/\?.*/, "")}`;
    return new Unreachable(`${where}: ${reason}`, { wasSent: late || isOnTheWay || !NOT_SENT.test(code), cause: error });
  }

  #refusal(response: Response, text: string): Problem | UnexpectedAnswer {
    if (response.status < 400) {
      // Browsers say no more of a redirect that is not followed.
      const how = response.type === "opaqueredirect" ? "with a redirect" : response.status;
      const where = response.headers.get("Location") ?? "elsewhere";
      return new UnexpectedAnswer(`${this.#name} was answered ${how}, to ${where}: give that site's address`);
    }
    return problem(this.#name, documentOf(response, text), {
      status: response.status,
      retryAfter: retryAfterOf(response.headers),
      requestId: response.headers.get("X-Request-ID") ?? "",
    });
  }
}

/** The problem document of a refusal; one with a detail alone where it was not made by our API. */
function documentOf(response: Response, text: string): Record<string, unknown> {
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document === "object" && document !== null && !Array.isArray(document)) return { ...document };
  } catch {
    // A proxy, or what else is at that address.
  }
  const isText = response.headers.get("Content-Type")?.startsWith("text/plain");
  const said = isText ? text.slice(0, SHOWN) : "";
  return { detail: said || `${response.statusText} (not by DelayHub: a proxy, or another address)`.trimStart() };
}

function textOf(body: ArrayBuffer | null): string {
  return body ? new TextDecoder().decode(body) : "";
}

function copyOf({ status, statusText, headers }: Response, body: BodyInit | null): Response {
  return new Response(body, { status, statusText, headers });
}
