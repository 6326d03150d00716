import { type ApiError, NoRoomToWait, Problem, RateLimited, ServerUnavailable, Unreachable } from "./errors.ts";

/** The longest pause before the first repetition, which doubles with each, and the longest that no site asks for. */
const FIRST_PAUSE = 0.5;
const LONGEST_PAUSE = 8;

export interface Attempt {
  /** Whether doing it twice is the same as doing it once. */
  readonly repeatable: boolean;
  /** How many attempts have failed so far. */
  readonly failures: number;
}

/** The seconds before a request is sent again; undefined where the error is to be thrown. */
export function pauseAfter(
  error: ApiError,
  attempt: Attempt,
  { retries, mostWaitSeconds }: { retries: number; mostWaitSeconds: number },
): number | undefined {
  if (attempt.failures > retries || !mayRepeat(error, attempt.repeatable)) return undefined;
  const asked = error instanceof Problem ? error.retryAfter : undefined;
  if (asked === undefined) {
    // Full jitter: callers that failed together do not come back together.
    return Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt.failures - 1));
  }
  return asked > mostWaitSeconds ? undefined : asked + Math.random() * FIRST_PAUSE;
}

function mayRepeat(error: ApiError, repeatable: boolean): boolean {
  if (error instanceof NoRoomToWait) return false; // who asked does better than to wait for a place to wait in
  if (error instanceof RateLimited) return true; // nothing was done
  if (error instanceof Unreachable) return repeatable || !error.wasSent;
  if (error instanceof ServerUnavailable) return repeatable || error.code === "database_locked" || error.code === "write_conflict";
  return error instanceof Problem && error.code === "idempotency_key_in_use"; // the first request is still under way
}

/** What may be done twice, beside reads and what is replaced as a whole: creates, since each has an idempotency key. */
const REPEATABLE = /^\/v1\/(jobs|jobs\/bulk|resolve|resolve\/lift|claims\/[^/]+\/(done|fail|extend|release))$/;

/** Whether doing it twice is the same as doing it once. */
export function isRepeatable(method: string, path: string): boolean {
  return method === "GET" || method === "PUT" || (method === "POST" && REPEATABLE.test(path));
}

/** The seconds to wait that an answer names in `Retry-After`, else in `RateLimit`; undefined where it names none. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text);
  // A proxy may name a moment. The answer's own Date is subtracted, so that clocks need not agree.
  const seconds = (Date.parse(text) - Date.parse(headers.get("Date") ?? "")) / 1000;
  return text.endsWith("GMT") && !Number.isNaN(seconds) ? Math.max(0, seconds) : exhaustedFor(headers);
}

/** The seconds until a limit that is used up is renewed, from `RateLimit: "name";r=0;t=30`. */
function exhaustedFor(headers: Headers): number | undefined {
  const waits = (headers.get("RateLimit") ?? "").split(",").flatMap((policy) => {
    const values = new Map(policy.split(";").slice(1).map((part) => part.trim().split("=", 2) as [string, string]));
    return values.get("r") === "0" && /^\d+$/.test(values.get("t") ?? "") ? [Number(values.get("t"))] : [];
  });
  return waits.length ? Math.max(...waits) : undefined;
}
