"""Receivers that ask who calls them, on a whole site: tokens that two workers share, and a client certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from delayhub.client import Client, Job, JobRequest
from delayhub.clock import SystemClock
from delayhub.demo.site import Site, SiteOptions
from delayhub.local.redis_server import free_port
from tests.acceptance.second_worker import second_worker
from tests.certificates import made, server_context
from tests.integration.tasksapp.delivery.tls_receiver import tls_receiver
from tests.integration.tasksapp.receiver import Answer, Receiver, answering
from tests.integration.tasksapp.token_server import bearers, giving, saying, silent
from tests.kept_folder import PreparedSite
from tests.property_sizes import examples
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(examples(300))]

#: Callbacks that share a token; 10 000 at night.
CALLBACKS, BULK = examples(1_000), 1_000
#: The shortest life that is believed, and for how long jobs come in while tokens end.
LIFE_SECONDS, FLOW_SECONDS = 30, 80
#: Jobs of each biz type whose token server gives no token.
WAITING = 5


@dataclass
class Tokens(Receiver):
    """A token server, whose tokens the receiver takes that has it; its answers by path."""

    answers: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.answer = self._answer

    def asked(self, path: str) -> int:
        """How often a token was asked for at that path."""
        return sum(request.path == path for request in self.received)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        return await self.answers[request.path](request)


@dataclass
class Guarded(Receiver):
    """A receiver that takes callbacks with the tokens that it knows, and answers 401 to all others."""

    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.answer = self._answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return web.Response(status=204 if token in self.known else 401)


@pytest.fixture(scope="module")
def posts() -> Iterator[Receiver]:
    """Where the owner of the site is told of alerts."""
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, posts: Receiver) -> Iterator[Site]:
    settings = {"DELAYHUB_BREAKER_SECONDS": "2", "DELAYHUB_OWNER_URL": posts.url()}
    made = PreparedSite(SiteOptions(data_dir=tmp_path_factory.mktemp("site"), settings=settings))
    with made as site, second_worker(site) as second:
        wait_until(lambda: " ready." in second.log.read_text(), otherwise=second.log_tail)
        yield site
        site.check()


@pytest.fixture(scope="module")
def api(site: Site) -> Iterator[Client]:
    with Client(site.url, api_key=site.api_key) as client:
        yield client


def created(api: Client, code: str, number: int, *, over_seconds: float = 0.0) -> None:
    """Creates so many jobs that are due now, or one after the other over that time."""
    jobs: list[JobRequest] = [
        {"biz_type": code, "body": {"n": n}, "delay": over_seconds * n / number} for n in range(number)
    ]
    for start in range(0, number, BULK):
        assert all(one.id for one in api.jobs.create_many(jobs[start : start + BULK]))


def jobs_of(api: Client, code: str) -> list[Job]:
    return list(api.jobs.list(biz_type=code, page_size=1_000))


def ended(api: Client, code: str) -> Counter[tuple[str, int]]:
    """How many jobs have each status and number of attempts, once none is live."""
    wait_until(
        lambda: not list(api.jobs.list(biz_type=code, status=["pending", "running"], page_size=1)),
        within_seconds=examples(120),
        otherwise=lambda: Counter((job.status, job.attempts, job.last_error) for job in jobs_of(api, code)),
    )
    return Counter((job.status, job.attempts) for job in jobs_of(api, code))


def with_tokens(api: Client, code: str, *, url: str, token_url: str) -> None:
    """Makes a biz type whose callbacks carry tokens of that server."""
    api.biz_types.create(code, url=url)
    set_tokens(api, code, token_url)


def set_tokens(api: Client, code: str, token_url: str) -> None:
    """Asks for the tokens of a biz type at that address."""
    api.biz_types.set_credentials(code, "oauth2", auth_secret="hush", token_url=token_url, client_id="us")


def test_all_callbacks_of_both_workers_carry_one_token_and_one_more_where_the_receiver_refuses_it(api: Client) -> None:
    with Tokens(answers={"/": giving()}) as server, Guarded(known={"token-1"}) as receiver:
        with_tokens(api, "shared", url=receiver.url(), token_url=server.url("/"))

        created(api, "shared", CALLBACKS)

        assert ended(api, "shared") == {("succeeded", 1): CALLBACKS}
        assert Counter(bearers(receiver)) == {"token-1": CALLBACKS}
        assert server.asked("/") == 1
        some = [job.id for job in jobs_of(api, "shared")][:: CALLBACKS // 20]
        workers = {attempt.worker for job in some for attempt in api.jobs.attempts(job)}
        assert len(workers) == 2 or CALLBACKS < 10_000  # one of them may take a few alone

        # it has ended early
        receiver.known, receiver.received = {"token-2"}, []
        created(api, "shared", CALLBACKS)

        assert ended(api, "shared") == {("succeeded", 1): 2 * CALLBACKS}
        assert server.asked("/") == 2
        got = Counter(bearers(receiver))
        assert got["token-2"] == CALLBACKS
        # How many were under way when the first was refused depends on the machine; none is refused twice.
        assert 0 < got["token-1"] <= CALLBACKS


@pytest.mark.nightly  # by day, on a clock of its own: tests/integration/tasksapp/delivery/test_token_keeper.py
def test_tokens_that_end_while_jobs_flow_are_renewed_before_and_no_attempt_is_used(api: Client) -> None:
    clock, given = SystemClock(), dict[str, float]()

    async def gives(request: web.Request) -> web.StreamResponse:
        given[f"token-{len(given)}"] = clock.monotonic()
        return web.json_response({"access_token": [*given][-1], "token_type": "Bearer", "expires_in": LIFE_SECONDS})

    async def takes(request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return web.Response(status=204 if clock.monotonic() < given.get(token, 0) + LIFE_SECONDS else 401)

    with Receiver(gives) as server, Receiver(takes) as receiver:
        with_tokens(api, "flowing", url=receiver.url(), token_url=server.url())

        created(api, "flowing", CALLBACKS, over_seconds=FLOW_SECONDS)

        assert ended(api, "flowing") == {("succeeded", 1): CALLBACKS}
        assert len(receiver.received) == CALLBACKS
    # asked for again at 19 to 25 s of the 27 for which each is used
    assert FLOW_SECONDS // 27 < len(given) <= FLOW_SECONDS // 18 + 2


@pytest.mark.nightly  # by day: tests/integration/tasksapp/biz_types/test_breaker_of_tokens.py
def test_without_a_token_nothing_is_sent_no_attempt_is_used_and_each_job_says_why(api: Client) -> None:
    lies = saying({"access_token": "a\r\nX-Admin: 1", "token_type": "bearer"})
    lacks: dict[str, tuple[Answer, str]] = {
        "lies": (lies, "its answer has no access_token that a header can hold"),
        "echoes": (saying({"error": "your secret is hush"}, status=400), "status 400"),
        "fails": (answering(503), "status 503"),
        "turns": (answering(307, Location="http://169.254.169.254/latest"), "status 307: redirects are not followed"),
        "keeps": (silent, "no whole answer within 10 s"),
        "away": (silent, "the request failed (refused)"),
    }
    with Tokens(answers={f"/{code}": answer for code, (answer, _) in lacks.items()}) as server, Receiver() as receiver:
        for code, (_, reason) in lacks.items():
            port = free_port() if code == "away" else server.port
            with_tokens(api, code, url=receiver.url(), token_url=f"http://127.0.0.1:{port}/{code}")
            created(api, code, WAITING)
            lacks[code] = silent, f"no access token from 127.0.0.1:{port}: {reason}"

        for code, (_, said) in lacks.items():

            def found(code: str = code) -> set[tuple[str, int, str]]:
                return {(job.status, job.attempts, job.last_error) for job in jobs_of(api, code)}

            wait_until(lambda said=said, found=found: found() == {("pending", 0, said)}, otherwise=found)
        assert receiver.received == []

        server.answers = dict.fromkeys(server.answers, giving())
        set_tokens(api, "away", server.url("/away"))
        for code in lacks:
            assert ended(api, code) == {("succeeded", 1): WAITING}
            assert not [job for job in jobs_of(api, code) if job.system_errors]
        assert len(set(bearers(receiver))) == len(lacks)


def test_a_receiver_that_asks_for_a_certificate_answers_200_and_who_has_none_or_another_is_told_why(
    api: Client, posts: Receiver, tmp_path: Path
) -> None:
    authority, another = made("authority"), made("another authority")
    server, client = made("receiver", by=authority), made("delayhub", by=authority, days=13)
    stranger = made("stranger", by=another)
    wanted = {
        "good": (authority, client, ""),
        "without": (authority, None, "the receiver asks for a client certificate"),
        "unknown": (authority, stranger, "the receiver refused the client certificate"),
        "untrusting": (another, client, "the receiver's certificate is not trusted: "),
    }
    with tls_receiver(server_context(server, folder=tmp_path, asks_for=authority)) as port:
        for code, (bundle, shown, _) in wanted.items():
            api.biz_types.create(code, url=f"https://127.0.0.1:{port}/hook", ca_bundle=bundle.pem, max_attempts=1)
            if shown is not None:
                api.biz_types.set_certificate(code, certificate=shown.pem, private_key=shown.key_pem)
        jobs = {code: api.jobs.create(code, body={"order": 42}).id for code in wanted}
        found = {code: api.jobs.wait(job, timeout_seconds=60) for code, job in jobs.items()}

    for code, (*_, reason) in wanted.items():
        job, (attempt,) = found[code], api.jobs.attempts(jobs[code])
        assert job.status == ("dead" if reason else "succeeded")
        assert reason in job.last_error
        assert attempt.status_code == (None if reason else 200)
    told = "certificate_ends"
    wait_until(lambda: any(told in post.body.decode() for post in posts.received), otherwise=lambda: posts.received)
