"""Every kind of problem that the API answers with: its code, its title, what it means and what a caller should do.

The ``type`` of a problem document is the address of a page made from these lines.
"""

from __future__ import annotations

from typing import NamedTuple


class ProblemType(NamedTuple):
    """A kind of problem.

    Args:
        code: its name for machines; the address of its page ends with it, and so does no other's.
        status: the HTTP status that it comes with.
        title: its name for people.
        meaning: when it comes.
        advice: what the caller should do.
    """

    code: str
    status: int
    title: str
    meaning: str
    advice: str


_TYPES = (
    # ---------------------------------------------------------------- the request
    ProblemType(
        "invalid", 400, "The request is not valid",
        "A field, a query parameter or a filter has a value that it cannot have, or a name that does not exist.",
        "Look at errors: each entry names a field, has a code for machines, and a sentence that says what is wrong.",
    ),
    ProblemType(
        "malformed", 400, "The request cannot be read",
        "The body is no strict JSON object in UTF-8, or the request breaks a rule of HTTP or a limit of this site.",
        "Correct the request; detail says what could not be read. Sending it again as it is does not help.",
    ),
    ProblemType(
        "incomplete_body", 400, "The body did not come whole",
        "The connection broke, or fewer bytes came than Content-Length said. Nothing was done.",
        "Send the request again.",
    ),
    ProblemType(
        "malformed_idempotency_key", 400, "The Idempotency-Key header cannot be read",
        "The header is no string in double quotes, is empty, or is longer than 200 characters.",
        'Send one string in quotes, such as Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324".',
    ),
    ProblemType(
        "unknown_host", 400, "The Host header names no host of this site",
        "The name in the address is none that the server was told to answer for (ALLOWED_HOSTS).",
        "Use the site's own name, or let its operator add the name.",
    ),
    ProblemType(
        "took_too_long", 400, "The list took too long to find",
        "The database did not find the page of the list within two seconds: what the filters name is spread over very"
        " many rows, and no index leads there.",
        "Add a biz_type and a status, or narrow the times; order by a time where the list offers that.",
    ),
    ProblemType(
        "encrypted", 409, "Encrypted bodies cannot be searched",
        "The biz type that was named keeps its bodies encrypted at rest, so the database finds nothing in them.",
        "Find the jobs by their biz_id, flow key or times.",
    ),
    ProblemType(
        "length_required", 411, "The body has no length",
        "The body came without a Content-Length, and the web server does not say where such a body ends.",
        "Send the body with a Content-Length.",
    ),
    ProblemType(
        "too_large", 413, "The body is too large",
        "The body has more bytes than a request of this kind may have.",
        "Send less: split a bulk, or keep large data elsewhere and send its address.",
    ),
    ProblemType(
        "unsupported_media_type", 415, "The body is not JSON",
        "The Content-Type of the body is not application/json.",
        "Send JSON, with Content-Type: application/json.",
    ),
    ProblemType(
        "method_not_allowed", 405, "The address does not take this method",
        "There is something at the address, but it does not answer this method.",
        "Use one of the methods in the header Allow.",
    ),
    ProblemType(
        "not_acceptable", 406, "The API answers in JSON only",
        "The request asked for another format.",
        "Accept application/json.",
    ),
    # ---------------------------------------------------------------- who asks
    ProblemType(
        "unauthorized", 401, "The API key is missing or not valid",
        "The request has no API key, or one that is not known, has expired, or was disabled or deleted.",
        "Send Authorization: Bearer and a key that is valid. Ask the site's operator for a new one.",
    ),
    ProblemType(
        "too_many_wrong_keys", 429, "Too many wrong API keys",
        "The address that the request came from has sent too many keys that are not known. A right key still passes.",
        "Send no wrong keys until the time in Retry-After is over.",
    ),
    ProblemType(
        "forbidden", 403, "The request is not allowed",
        "The caller is known, but may not do this.",
        "Use a caller that may, or ask the site's operator.",
    ),
    ProblemType(
        "scope_missing", 403, "The API key lacks a scope",
        "The key is valid, but it has not the scope that this operation needs; detail names it.",
        "Use a key with that scope, or let the site's operator add it to this one.",
    ),
    ProblemType(
        "csrf_failed", 403, "The CSRF token is missing",
        "The request came with the session of a person and would change something, but has no CSRF token of this site.",
        "Send the token as X-CSRFToken, with the Origin or Referer of this site; or use an API key instead.",
    ),
    ProblemType(
        "not_found", 404, "It does not exist",
        "There is nothing at the address, or nothing that this caller may see.",
        "Check the address and the id. A finished job is deleted after the retention of its biz type.",
    ),
    # ---------------------------------------------------------------- the state of things
    ProblemType(
        "wrong_state", 409, "The state does not allow it",
        "A job or an operation is in a state in which this cannot be done to it; the member state says in which.",
        "Read it again and decide: a job that is running or finished, for example, cannot be cancelled any more.",
    ),
    ProblemType(
        "claim_lost", 409, "The claim does not hold any more",
        "Its lease ended before it was extended, or the same claim was ended otherwise before. Another puller may have"
        " the job; the member state says where it stands. Nothing was changed.",
        "Stop working on the job. What you have done counts only where you did it under the job's id, so that the next"
        " attempt finds it. Ask for a longer lease, or extend it in time.",
    ),
    ProblemType(
        "version_conflict", 409, "It has changed since you read it",
        "The version in the body is not the job's version any more; the members version and state say how it is now.",
        "Read it again, and repeat the request with the new version if you still want it.",
    ),
    ProblemType(
        "several_jobs", 409, "Several jobs have this business key",
        "More than one job with this biz type and biz id could be meant; the member ids names them.",
        "Act on one of them by its id.",
    ),
    ProblemType(
        "resolved", 409, "The business key is resolved",
        "The business key was resolved (the order was paid, for example): none of its jobs fires any more, for a week"
        " at least.",
        "There is nothing to do. If the business has changed its mind, lift the resolve, or redrive with lift.",
    ),
    ProblemType(
        "answered", 409, "The business key was answered already",
        "The business key has another answer, with that outcome, and keeps it; or a job has taken it, so that it cannot"
        " be lifted any more. job_id is that job, null where none has asked yet.",
        "Nothing, where the first answer holds. A new question needs a biz id of its own.",
    ),
    ProblemType(
        "link_over", 410, "The link answers nothing any more",
        "The answer link was used, or nobody waits for its answer any more; the member why says which.",
        "There is nothing to do: a link answers once, and until its job is due.",
    ),
    ProblemType(
        "not_first", 409, "Another job of the flow key comes first",
        "The jobs of a flow key of this biz type run in their order; job_id names the one that comes first.",
        "Wait for that job, or end or move it; or give this job an earlier due time.",
    ),
    ProblemType(
        "one_is_live", 409, "Another job of the biz id is live",
        "The biz type keeps one live job of each biz id, and there is one; the member job_id names it.",
        "Use that job, cancel it, or wait until it has ended.",
    ),
    ProblemType(
        "precondition_failed", 412, "It has changed since you read it",
        "The ETag in If-Match is not that of the current state. Nothing was done.",
        "Read it again, and repeat the request with the new ETag if you still want it.",
    ),
    ProblemType(
        "precondition_required", 428, "Say which state you saw",
        "This site takes changes only with an If-Match header or a version, so that no caller overwrites what another"
        " one has changed meanwhile.",
        "Read it, and send its ETag as If-Match; for a job, its version in the body does as well.",
    ),
    ProblemType(
        "idempotency_key_taken", 422, "The idempotency key belongs to another request",
        "An earlier request had the same key and asked for something else; the member job_id names the job it made.",
        "Use a new key for a new request. A key stands for one request, repeated as often as you like.",
    ),
    ProblemType(
        "idempotency_key_in_use", 409, "The first request with this key still runs",
        "Another request with the same idempotency key has not finished yet, so its result is not known.",
        "Send the same request again after the time in Retry-After.",
    ),
    ProblemType(
        "job_deleted", 409, "The job that this request made has been deleted",
        "An earlier request had the same idempotency key and asked for the same. Its job, which the member job_id"
        " names, has ended and was deleted when its retention was over. Nothing was made.",
        "Nothing: what you ask for was done. For another job, use a new key.",
    ),
    # ---------------------------------------------------------------- too much
    ProblemType(
        "too_many_inserts", 429, "The insert rate of the biz type is used up",
        "The biz type takes a limited number of new jobs in a time, for all callers together.",
        "Wait for the time in Retry-After; the headers RateLimit and RateLimit-Policy say how many jobs it takes.",
    ),
    ProblemType(
        "too_much_pending", 429, "The tenant has as many pending jobs as it may",
        "The pending jobs of the tenant, or the bytes of their bodies, have reached its quota; the members quota, limit"
        " and used say which, how much it may have, and how much it had when that was counted last, some seconds ago.",
        "Wait until jobs have run, cancel some, or let the site's operator give the tenant more.",
    ),
    ProblemType(
        "quota_used_up", 409, "The tenant has as many as it may",
        "The tenant has as many series, biz types or API keys as its quota allows; the members quota, limit and used"
        " say which, how many it may have, and how many it has.",
        "Delete some that are not needed, or let the site's operator give the tenant more.",
    ),
    ProblemType(
        "throttled", 429, "Too many requests",
        "This site limits how often a caller may ask.",
        "Wait for the time in Retry-After.",
    ),
    # ---------------------------------------------------------------- biz types
    ProblemType(
        "not_for_this_key", 403, "The API key is for certain biz types only",
        "A key that is for certain biz types adds none: it could not see them afterwards.",
        "Use a key that is for all biz types of its tenant.",
    ),
    ProblemType(
        "code_taken", 409, "There is a biz type of that code already",
        "Each biz type has a code of its own, by which callers know it.",
        "Choose another code, or change the biz type that is there.",
    ),
    ProblemType(
        "name_taken", 409, "The biz type has a series of that name already",
        "Each series has a name of its own in its biz type.",
        "Choose another name, or change the series that is there.",
    ),
    ProblemType(
        "has_jobs", 409, "The biz type has jobs",
        "A biz type is deleted only where it has no jobs, also none that are finished, and no series.",
        "Disable it: it then takes no jobs, and none fire. Or delete its series and, once its jobs are purged, it.",
    ),
    ProblemType(
        "no_callback", 409, "There is nothing to call",
        "The biz type runs a Celery task or is pulled, so there is no receiver that a test call could go to.",
        "Create a job instead.",
    ),
    ProblemType(
        "secrets_unreadable", 409, "What is stored cannot be decrypted",
        "The encryption key that the secrets, the job or the series were stored with is not among those of this site.",
        "Let the site's operator bring the old key back, or set the secrets again.",
    ),
    ProblemType(
        "too_many_tests", 429, "Too many test calls",
        "A caller may send ten test calls a minute.",
        "Wait for the time in Retry-After.",
    ),
    ProblemType(
        "too_many_waits", 429, "Too many requests wait already",
        "Each request with wait= keeps a thread of the web server; as many as this process allows are waiting now.",
        "Ask without wait=, or again after the time in Retry-After.",
    ),
    ProblemType(
        "too_many_exports", 429, "Too many exports at once",
        "Each export keeps a thread of the web server until its last byte is read. A process sends few at once"
        " (the option EXPORTS), and one tenant has at most half of them.",
        "Read the exports that you have open to their end, or close them; try again after the time in Retry-After.",
    ),
    ProblemType(
        "moving", 503, "The tenant is being moved",
        "All that the tenant has is being moved to another site. Nothing was done.",
        "Send the request again after the time in Retry-After; the site where it is then answers it.",
    ),
    ProblemType(
        "moved", 308, "The tenant is on another site",
        "All that the tenant of the key has was moved to another site. Nothing was done here.",
        "Send the same request, with the same key, to the address in Location, and use that site from now on.",
    ),
    ProblemType(
        "busy", 503, "The server is busy",
        "Large requests are being read, test calls wait for answers, or requests wait for the database, and there is no"
        " room for another one. Nothing was done.",
        "Send it again after the time in Retry-After, or in smaller parts.",
    ),
    ProblemType(
        "redis_away", 503, "Jobs cannot be claimed at the moment",
        "Redis, which has the timers and the limits of biz types, does not answer. Claims that you hold can be ended"
        " all the same.",
        "Ask again after the time in Retry-After.",
    ),
    ProblemType(
        "database_away", 503, "The database does not answer",
        "The request may have been carried out or not: the database stopped answering in the middle.",
        "Send it again after the time in Retry-After: a create with its idempotency key, a change with If-Match.",
    ),
    ProblemType(
        "storage_full", 503, "The database's disk is full",
        "The database answers, but has no room for what the request would store. Nothing was done.",
        "Send it again after the time in Retry-After. It works once the site's operator has made room.",
    ),
    ProblemType(
        "database_read_only", 503, "The database takes no changes",
        "The database answers, but is read-only or a standby, as it may be for some seconds in a failover. Nothing was"
        " done.",
        "Send it again after the time in Retry-After.",
    ),
    ProblemType(
        "database_locked", 503, "Something else keeps the database locked",
        "What the request needs was locked for longer than this site waits: by another request for the same rows, or"
        " for the whole table by a migration or a backup. What waited was not done.",
        "Send it again after the time in Retry-After: a create with its idempotency_key, a change with If-Match.",
    ),
    ProblemType(
        "write_conflict", 503, "Other transactions wrote the same rows",
        "The request was tried several times, and met other transactions on the same rows each time. Nothing was done.",
        "Send it again after the time in Retry-After. If it goes on: let fewer callers change the same rows at once.",
    ),
    ProblemType(
        "internal_error", 500, "Something failed on our side",
        "An error that the caller can do nothing about. It is in the site's log, with the request id.",
        "Tell the site's operator the request_id of the document. A create with an idempotency key may be repeated.",
    ),
)  # fmt: skip

#: All kinds, by their codes.
PROBLEM_TYPES = {kind.code: kind for kind in _TYPES}
