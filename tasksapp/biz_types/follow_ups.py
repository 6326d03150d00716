"""Follow-ups of biz types: which biz type's job is made after a success or a death, and that none leads back."""

from __future__ import annotations

from collections.abc import Mapping

from tasksapp.models import BizType

#: A biz type's code, and the codes that follow it.
Graph = Mapping[str, frozenset[str]]


def follow_up_loop(biz_type: BizType, *, using: str) -> list[str]:
    """The codes by which the biz type's follow-ups lead back to it, with itself at both ends; none where they do not.

    It asks the database only where the biz type has follow-ups.
    """
    if not (biz_type.on_success or biz_type.on_dead):
        return []
    others = BizType.objects.using(using).filter(tenant=biz_type.tenant_id).exclude(pk=biz_type.pk)
    graph = {
        code: _following(on_success, on_dead)
        for code, on_success, on_dead in others.values_list("code", "on_success", "on_dead")
    }
    graph[biz_type.code] = _following(biz_type.on_success, biz_type.on_dead)
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
