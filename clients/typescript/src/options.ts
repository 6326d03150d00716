import { NotConfigured } from "./errors.ts";

export interface ClientOptions {
  /** The key; by default the environment variable `DELAYHUB_API_KEY`. */
  apiKey?: string | undefined;
  /** How long a request may take until its answer begins, and to wait for each piece of it. 30 by default. */
  timeoutSeconds?: number | undefined;
  /** How often a request is repeated, where that is safe. 3 by default. */
  retries?: number | undefined;
  /** The longest pause that the site may ask for; for a longer one, the error is thrown at once. 60 by default. */
  mostWaitSeconds?: number | undefined;
  /** In place of the network, for your tests. */
  fetch?: ((request: Request, init: RequestInit) => Promise<Response>) | undefined;
  /** In place of a pause, for your tests. */
  pause?: ((seconds: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
}

/** The version of this package, which is that of the sites that it was made for. */
export const VERSION = "0.1.0";

/** The longest time that timers know, in milliseconds: a longer one would end at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** What of `process` is used where there is one: browsers have none. */
const host = (globalThis as { process?: { env?: Record<string, string | undefined>; versions?: { node?: string } } })
  .process;

export type Options = Required<{ [name in Exclude<keyof ClientOptions, "apiKey">]: NonNullable<ClientOptions[name]> }> & {
  /** The API's address, without its version and without a slash at its end. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** The options of a client, checked. Throws NotConfigured or RangeError. */
export function checked(url: string | undefined, given: ClientOptions): Options {
  const { timeoutSeconds = 30, retries = 3, mostWaitSeconds = 60 } = given;
  if (!(timeoutSeconds > 0)) throw new RangeError(`timeoutSeconds must be positive, got ${timeoutSeconds}`);
  for (const [name, value] of Object.entries({ retries, mostWaitSeconds })) {
    if (!(value >= 0)) throw new RangeError(`${name} may not be negative, got ${value}`);
  }
  return {
    base: baseOf((url || (host?.env?.["DELAYHUB_URL"] ?? "")).trim()),
    headers: headersWith((given.apiKey || (host?.env?.["DELAYHUB_API_KEY"] ?? "")).trim()),
    timeoutSeconds,
    retries,
    mostWaitSeconds,
    fetch: given.fetch ?? ((request, init) => globalThis.fetch(request, init)),
    pause: given.pause ?? pause,
  };
}

/** The API's address for that of a site (its API is at `/api/v1`), or of an API, which ends with `/v1`. */
export function baseOf(given: string): string {
  if (!given) throw new NotConfigured("no address: give one, or set DELAYHUB_URL, such as https://delay.example");
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    // What stands before an @ may be a password.
    const shown = JSON.stringify(given.replace(/.*@/s, "…@"));
    throw new RangeError(`the address must be like https://delay.example, got ${shown}`);
  }
  const bare = (url.origin + url.pathname).replace(/\/+$/, "");
  return bare.endsWith("/v1") ? bare.slice(0, -"/v1".length) : `${bare}/api`;
}

function headersWith(apiKey: string): Record<string, string> {
  if (!apiKey) throw new NotConfigured("no API key: give apiKey, or set DELAYHUB_API_KEY");
  if (!/^[!-~]+$/.test(apiKey)) throw new RangeError("apiKey must be plain letters, digits and signs without a space");
  const node = host?.versions?.node;
  return {
    Authorization: `Bearer ${apiKey}`,
    Accept: "application/json, application/problem+json",
    // Browsers name themselves.
    ...(node ? { "User-Agent": `delayhub-client/${VERSION} node/${node}` } : {}),
  };
}

/** Waits so long; rejects with the signal's reason as soon as that is aborted. */
function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(seconds * 1000, LONGEST_TIMER));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
