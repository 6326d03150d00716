"""Joints: where optional abilities meet in one function. ``python -m tests.joints`` lists them.

A function knows an ability if it names something of it: a column, a function, a class, a module. Two abilities that are
known to one function are a joint. Faults gather there, and each joint makes both abilities harder to change, so
``tests/house/test_joints.py`` lets their number only fall.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from tests.repository import ROOT, functions_of, python_files

#: What the names of each ability look like: identifiers, in lower case with underscores. What every job has is not
#: among them: pauses, breakers, rates, retries, debounce and flow keys are the core's.
ABILITIES = {
    "alerts": r"alerts?|alert_\w+|silences?|silence_\w+|pagers?|outages?|outage_\w+",
    "answers": r"on_resolved|answered\w*|is_answered|answer_link\w*|late_answer|made_link|links_of|\w+_link",
    "audit": r"audit|audit_\w+|deeds?|deed_\w+|\w+_deeds?|record_deed\w*",
    "celery tasks": r"task_name|task_queue|task_runner|forwarded|claim_forwarded|forward_\w+|allowed_tasks",
    "django tasks": r"task_backends?|job_backend|task_results?",
    "encryption": r"encrypted\w*|seals?|seal_\w+|sealed\w*|\w+_sealed|reseal\w*|at_rest|(secret_)?unreadable",
    "exact bytes": r"raw|exact_bytes|exact_body|body_base64|body_text|is_exact",
    "exchanges": r"kept_exchanges?|without_exchange|exchanges?",
    "expiry": r"expires_at|expired|expire_jobs|max_lateness|when_late|too_late",
    "follow-ups": r"on_success|on_dead|follow_ups?|follow_up_\w+|follows|following",
    "insert rates": r"insert_rate|insert_burst|insert_limits?|too_many_inserts",
    "keep-last": r"keep_last|keeps_last|waiting_key|kept_last|one_live_last|last_waits",
    "masks": r"masks?|masked\w*|masking|mask_\w+|unmasked|masked_fields",
    "moves": r"moved_to|tenant_moving|refuse_moving|while_moving|movers?|departures?|moving",
    "mtls": r"client_certificate\w*|ca_bundle|certificate_\w+|client_tls|certificates?",
    "oauth2": r"token_\w+|client_id|asks_for_token|grants?|access_tokens?|no_token|lacks_token|authorized_sender",
    "operations": r"operations?|operation_\w+|planned_at|run_operations?",
    "order": r"ordered|is_ordered|ordered_\w+|flow_order|with_turn|turn|turns|is_out_of_order|first_jobs?_?\w*",
    "own request": r"own_request\w*|own_target|url_hosts|request_rule",
    "pull": r"pull|pulls|pulled|is_pulled|pullers?|pulling|held_claim|pulled_\w+",
    "quotas": r"quotas?|quota_\w+|no_more_jobs|used_up|uses_of",
    "resolve": r"tombstones?|has_tombstones|resolved\w*|\w+_resolved|resolve|lift|lift_\w+",
    "series": r"series|series_\w+|is_series|occurrences?|occurrence_\w+|catch_up|overlaps?|backfill\w*",
    "signing keys": r"public_key\w*|signing_key\w*|previous_public_key|key_pairs?",
    "statistics": r"pulses?|pulse_\w+|histograms?|lateness_p\d+\w*|job_counts?|dead_counts?|upcoming",
    "tracing": r"traceparent|tracing|traced\w*|spans?|creation_span",
    "transfer": r"exports?|exporting|imports?|importer|exporter|transfers?|export_\w+|import_\w+",
}  # fmt: skip
_NAMES = {ability: re.compile(rf"(?:{names})\Z") for ability, names in ABILITIES.items()}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Joint(NamedTuple):
    """A function that knows several abilities.

    Args:
        place: the file below the checkout, and the function's name.
        abilities: which ones, in their order.
    """

    place: str
    abilities: tuple[str, ...]


def joints(*rooms: str) -> list[Joint]:
    """Return the functions of the rooms that know two abilities or more."""
    found: list[Joint] = []
    for path in python_files(*rooms):
        own = set(abilities_of(path.relative_to(ROOT).with_suffix("").parts))
        for function in functions_of(path):
            known = own | set(abilities_of(names_in(function)))
            if len(known) > 1:
                found.append(Joint(f"{path.relative_to(ROOT)}:{function.name}", tuple(sorted(known))))
    return found


def abilities_of(names: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    """Yield the ability of each name that is one's."""
    for name in names:
        plain = _HUMP.sub("_", name).lower().strip("_")
        yield from (ability for ability, pattern in _NAMES.items() if pattern.match(plain))


def names_in(function: ast.AST) -> Iterator[str]:
    """Yield the identifiers of a function, those of functions within it left out."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
        yield from names_in(node)


def counted(found: list[Joint]) -> dict[str, int]:
    """Return how many pairs meet, how often, and how many functions know four abilities or more."""
    pairs = Counter(pair for joint in found for pair in combinations(joint.abilities, 2))
    return {
        "pairs": len(pairs),
        "meetings": pairs.total(),
        "functions of four": sum(len(joint.abilities) >= 4 for joint in found),
    }


def main() -> None:
    found = joints("tasksapp")
    for joint in sorted(found, key=lambda joint: -len(joint.abilities)):
        print(f"{len(joint.abilities):3}  {joint.place}: {', '.join(joint.abilities)}")
    print(counted(found), file=sys.stderr)


if __name__ == "__main__":
    main()
