"""Follow-ups of biz types: which biz type's job is made after a success, a death or an answer; none leads back."""

from __future__ import annotations

from collections.abc import Mapping

from tasksapp.models import BizType

#: A biz type's code, and the codes that follow it.
Graph = Mapping[str, frozenset[str]]
#: The columns that name a biz type whose job follows.
FOLLOW_UPS = ("on_success", "on_dead", "on_resolved")


def follow_up_loop(biz_type: BizType, *, using: str) -> list[str]:
    """The codes by which the biz type's follow-ups lead back to it, with itself at both ends; none where they do not.

    It asks the database only where the biz type has follow-ups.
    """
    own = [getattr(biz_type, name) for name in FOLLOW_UPS]
    if not any(own):
        return []
    others = BizType.objects.using(using).filter(tenant=biz_type.tenant_id).exclude(pk=biz_type.pk)
    graph = {code: _following(*codes) for code, *codes in others.values_list("code", *FOLLOW_UPS)}
    graph[biz_type.code] = _following(*own)
    return way_back(graph, biz_type.code)


def way_back(graph: Graph, code: str) -> list[str]:
    """A way through the graph from the code to itself; none where there is no such way."""
    ways = [[code, following] for following in sorted(graph.get(code, ()))]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == code:
            return way
        if way[-1] not in seen:
            seen.add(way[-1])
            ways += [[*way, following] for following in sorted(graph.get(way[-1], ()))]
    return []


def _following(*codes: str) -> frozenset[str]:
    return frozenset(filter(None, codes))
