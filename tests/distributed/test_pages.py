"""docs/many-machines.md says what was measured, and its job files say what the commands understand."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from torch.distributed.run import get_args_parser

from tests.command import Ask

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "docs" / "many-machines"


@pytest.fixture(scope="module")
def shards() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shards", ROOT / "benchmarks" / "shards.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_was_measured(shards: ModuleType) -> None:
    text = shards.PAGE.read_text(encoding="utf-8")
    measured: dict[str, Any] = json.loads(shards.MEASURED.read_text(encoding="utf-8"))
    assert shards.page(text, measured) == text, "run: python benchmarks/shards.py"
    assert f"{measured['time_ratio']:.2f} ×" in text


@pytest.mark.parametrize("file", sorted(JOBS.glob("*.slurm")), ids=lambda file: file.name)
def test_a_slurm_job_is_bash_with_known_options(file: Path, ask: Ask) -> None:
    assert subprocess.run(["bash", "-n", file], check=False).returncode == 0
    text = file.read_text().replace("\\\n", " ")
    (line,) = (line for line in text.splitlines() if line.startswith("srun"))
    assert_known(shlex.split(line), ask)


def test_a_kubernetes_job_starts_as_many_pods_as_torchrun_waits_for(ask: Ask) -> None:
    service, job = yaml.safe_load_all((JOBS / "kubernetes.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    command = pod["containers"][0]["command"]
    assert f"--nnodes={job['spec']['completions']}" in command
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    first = f"{job['metadata']['name']}-0.{service['metadata']['name']}"
    assert f"--rdzv-endpoint={first}:29500" in command and pod["subdomain"] == service["metadata"]["name"]
    assert_known(command, ask)


def assert_known(command: list[str], ask: Ask) -> None:
    """Refuse options that torchrun or our command does not have."""
    at = command.index("heterophily")
    ours, theirs = command[at + 1 :], command[:at]
    help_of_ours = ask(ours[0], "--help").out
    help_of_torchrun = get_args_parser().format_help()
    for words, known in ((ours, help_of_ours), (theirs, help_of_torchrun)):
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert re.search(rf"{option}\b", known), f"{option} is unknown"
