"""The files of deploy/ agree with each other, with the page about them, and with the settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tasksapp.metrics.catalogue import EVERY
from tests.repository import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes/delayhub.yaml").read_text()))
OPTIONAL: list[dict[str, Any]] = [
    each
    for path in sorted((DEPLOY / "kubernetes/optional").glob("*.yaml"))
    for each in yaml.safe_load_all(path.read_text())
]
#: What each place has of its own: where it listens, how many processes it starts, what it is called.
OWN = re.compile(r"--(host|port|workers|hostname) \S+ ?")


def shared(command: str) -> str:
    """A command without what is each place's own."""
    return OWN.sub("", re.sub(r"^/opt/delayhub/bin/", "", command)).strip()


def command_of(kind: str, place: str) -> str:
    match place:
        case "compose":
            return " ".join(COMPOSE["services"][kind]["command"])
        case "Kubernetes":
            (deployment,) = [
                each
                for each in MANIFESTS
                if (each["kind"], each["metadata"]["name"]) == ("Deployment", f"delayhub-{kind}")
            ]
            return " ".join(deployment["spec"]["template"]["spec"]["containers"][0]["command"])
        case "systemd":
            (unit,) = DEPLOY.glob(f"systemd/delayhub-{kind}*.service")
            return re.findall(r"^ExecStart=(.*)$", unit.read_text(), flags=re.MULTILINE)[0]
        case "the image":
            (line,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
            return " ".join(yaml.safe_load(line))
    text = (ROOT / "docs/run/deploying.md").read_text()
    named = {"web": "web server", "worker": "worker"}[kind]
    return re.findall(rf"^\| {named} \| `(.*?)` \|", text, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("place", ["Kubernetes", "systemd", "the page"])
@pytest.mark.parametrize("kind", ["web", "worker"])
def test_every_place_starts_a_part_by_the_same_command(kind: str, place: str) -> None:
    assert shared(command_of(kind, place)) == shared(command_of(kind, "compose"))


def test_the_image_starts_a_web_server_by_itself() -> None:
    assert command_of("web", "the image") == command_of("web", "compose")


def test_the_proxy_is_started_again_with_the_web_server_whose_address_it_keeps() -> None:
    assert COMPOSE["services"]["proxy"]["depends_on"]["web"]["restart"] is True


def test_every_variable_in_these_files_is_one_that_the_project_reads() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    known = set(re.findall(r"^\| `(DELAYHUB_\w+)` \|", page, flags=re.MULTILINE))

    files = [path for path in DEPLOY.rglob("*") if path.is_file() and "prometheus" not in path.parts]
    used = {name for path in files for name in re.findall(r"\bDELAYHUB_[A-Z_]+\b", path.read_text())}

    assert used
    assert used <= known


def test_what_the_manifests_say_counts_also_where_the_secret_is_made_of_the_example() -> None:
    example = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "example.env").read_text(), flags=re.MULTILINE))
    [said] = [each["data"] for each in MANIFESTS if each["kind"] == "ConfigMap"]
    sources = {"secretRef": example, "configMapRef": said}

    pods = [each["spec"]["template"]["spec"] for each in MANIFESTS if each["kind"] in {"Deployment", "Job"}]
    containers = [container for pod in pods for container in pod["containers"]]

    assert len(containers) == 3
    for container in containers:
        # Kubernetes: where several sources have a name, the last one counts.
        known = {name: value for each in container["envFrom"] for kind in each for name, value in sources[kind].items()}
        assert {name: known[name] for name in said} == said


def test_no_file_holds_a_secret() -> None:
    given = re.findall(r"^(\w*(?:PASSWORD|SECRET_KEY|KEYS))=(.*)$", (DEPLOY / "example.env").read_text(), re.MULTILINE)

    assert len(given) == 3
    assert {value for _, value in given} == {""}


def test_what_scales_and_what_shuts_out_names_the_parts_that_there_are() -> None:
    pods = [
        each["spec"]["template"]["metadata"]["labels"] for each in MANIFESTS if each["kind"] in {"Deployment", "Job"}
    ]
    deployments = {each["metadata"]["name"] for each in MANIFESTS if each["kind"] == "Deployment"}
    policies = [each["spec"] for each in OPTIONAL if each["kind"] == "NetworkPolicy"]
    scalers = [each["spec"] for each in OPTIONAL if each["kind"] == "HorizontalPodAutoscaler"]

    assert {each["scaleTargetRef"]["name"] for each in scalers} == deployments
    chosen = [policy["podSelector"]["matchLabels"].items() for policy in policies]
    assert [sum(labels.items() >= wanted for labels in pods) for wanted in chosen] == [len(pods), 1]
    assert policies[0]["ingress"] == []
    metrics = {each["external"]["metric"]["name"] for spec in scalers for each in spec["metrics"] if "external" in each}
    assert metrics
    assert metrics <= {each.name for each in EVERY}
