/**
 * What goes wrong between a client and a site, one tree; catch what your program treats differently.
 *
 *     ApiError
 *     ├── NotConfigured              no address or no key: neither given nor in the environment
 *     ├── Unreachable                no answer came; wasSent: the request may have been carried out
 *     ├── UnexpectedAnswer           an answer came that is none of this API's
 *     ├── WaitTimeout                what was waited for has not ended in that time
 *     └── Problem                    the site refused: status, code, detail, errors, requestId
 *         ├── InvalidRequest         400, 405, 411, 413, 415, 422: errors names the fields
 *         ├── Unauthorized           401: the key is missing, unknown, expired or revoked
 *         ├── Forbidden              403: the key lacks a scope
 *         ├── NotFound               404: it does not exist, or the key may not see it
 *         ├── Conflict               409: something else is in the way
 *         │   ├── WrongState         the job or operation is in a state that does not allow it; state
 *         │   ├── ClaimLost          the claim of a pulled job does not hold any more; state of the job
 *         │   ├── SeveralJobs        the business key names several live jobs; ids
 *         │   └── IdempotencyKeyTaken  the idempotency key stands for another request; also 422; jobId
 *         ├── PreconditionFailed     412, or 409 for a stale version: it has changed since; version
 *         ├── PreconditionRequired   428: the site asks for the version with this change
 *         ├── RateLimited            429: too many; retryAfter are the seconds to wait
 *         │   └── NoRoomToWait       as many requests wait for a job as the site has places for
 *         └── ServerError            500 and above
 *             └── ServerUnavailable  502, 503, 504: for now
 */
export class ApiError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class NotConfigured extends ApiError {}

export class Unreachable extends ApiError {
  /** Whether the request may have reached the site and been carried out there. */
  readonly wasSent: boolean;

  constructor(message: string, options: ErrorOptions & { wasSent: boolean }) {
    super(message, options);
    this.wasSent = options.wasSent;
  }
}

export class UnexpectedAnswer extends ApiError {}

export class WaitTimeout extends ApiError {}

/** What is wrong with one field of a request; with all of it where `field` is null. */
export interface FieldError {
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

/** What is known of a refusal beside its document. */
export interface Refusal {
  readonly status: number;
  /** The seconds to wait that the answer names. */
  readonly retryAfter?: number | undefined;
  /** How the site's log names the request. */
  readonly requestId?: string;
}

export class Problem extends ApiError {
  readonly status: number;
  /** The problem document (RFC 9457); has only a detail where a proxy answered. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The kind of problem: the last part of the document's type. */
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly retryAfter: number | undefined;
  readonly requestId: string;

  constructor(request: string, document: Readonly<Record<string, unknown>>, refusal: Refusal) {
    const detail = String(document["detail"] || document["title"] || "no reason was given");
    super(`${request} was answered ${refusal.status}: ${detail}`);
    this.status = refusal.status;
    this.document = document;
    this.code = codeOf(document);
    this.detail = detail;
    this.errors = fieldErrors(document["errors"]);
    this.retryAfter = refusal.retryAfter;
    this.requestId = refusal.requestId ?? "";
  }
}

export class InvalidRequest extends Problem {}
export class Unauthorized extends Problem {}
export class Forbidden extends Problem {}
export class NotFound extends Problem {}
export class Conflict extends Problem {}

export class WrongState extends Conflict {
  /** The state of the operation, or the status of the job, now. */
  get state(): string {
    return String(this.document["state"] ?? "");
  }
}

export class ClaimLost extends Conflict {
  /** The status of the job now. */
  get state(): string {
    return String(this.document["state"] ?? "");
  }
}

export class SeveralJobs extends Conflict {
  get ids(): readonly string[] {
    const ids = this.document["ids"];
    return Array.isArray(ids) ? ids.map(String) : [];
  }
}

export class IdempotencyKeyTaken extends Conflict {
  /** The job that the key stands for; empty where the site does not say. */
  get jobId(): string {
    return String(this.document["job_id"] ?? "");
  }
}

export class PreconditionFailed extends Problem {
  /** Its version now, where the site says so. */
  get version(): number | undefined {
    const version = this.document["version"];
    return typeof version === "number" ? version : undefined;
  }
}

export class PreconditionRequired extends Problem {}
export class RateLimited extends Problem {}
export class NoRoomToWait extends RateLimited {}
export class ServerError extends Problem {}
export class ServerUnavailable extends ServerError {}

type Kind = typeof Problem;

const BY_STATUS: Readonly<Record<number, Kind>> = {
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  412: PreconditionFailed,
  428: PreconditionRequired,
  429: RateLimited,
  502: ServerUnavailable,
  503: ServerUnavailable,
  504: ServerUnavailable,
};

const BY_CODE: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["wrong_state", WrongState],
  ["claim_lost", ClaimLost],
  ["several_jobs", SeveralJobs],
  ["idempotency_key_taken", IdempotencyKeyTaken],
  ["version_conflict", PreconditionFailed],
  ["too_many_waits", NoRoomToWait],
]);

/** The error for an answer of 400 or more: of its code's class, else of its status's. */
export function problem(request: string, document: Readonly<Record<string, unknown>>, refusal: Refusal): Problem {
  const { status } = refusal;
  const kind = BY_CODE.get(codeOf(document)) ?? BY_STATUS[status] ?? (status >= 500 ? ServerError : InvalidRequest);
  return new kind(request, document, refusal);
}

/** The code at the end of a problem's type, which is an address or a URN. */
function codeOf(document: Readonly<Record<string, unknown>>): string {
  return String(document["type"] ?? "").replace(/\/+$/, "").split(/[/:]/).pop() ?? "";
}

function fieldErrors(listed: unknown): FieldError[] {
  if (!Array.isArray(listed)) return [];
  return listed
    .filter((entry) => typeof entry === "object" && entry !== null)
    .map(({ field, code, message }) => ({ field: field ?? null, code: String(code ?? ""), message: String(message ?? "") }));
}
