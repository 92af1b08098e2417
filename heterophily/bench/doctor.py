"""Looks whether all is well with this machine: versions, device, folders, and a model that trains."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from heterophily._version import __version__
from heterophily.bench.protocol import evaluate
from heterophily.graph.datasets import DATASETS, cache_folder, datasets_in
from heterophily.graph.synthetic import synthetic
from heterophily.models import MODELS
from heterophily.sparse import features, multiply
from heterophily.training.device import choose_device

GIB = 2**30
LITTLE = GIB
"""Bytes of free disk below which downloads may fail."""
EXTRAS = {
    "networkx": "GraphML, GML and NetworkX graphs",
    "psycopg": "studies on several machines (extra: postgresql)",
    "tensorboard": "epochs to TensorBoard",
    "mlflow": "epochs to MLflow",
    "wandb": "epochs to Weights & Biases",
}
"""What may be installed besides, and what for."""


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    fact: str
    """What was found."""
    state: str = "fine"
    """fine, note (works, could be better) or broken."""
    mend: str = ""
    """What to do about it."""


def examine() -> Iterator[Check]:
    """Look at one thing after the other; what fails does not keep the next from being looked at."""
    looks: list[Callable[[], Check]] = [
        python, installed, packages, extras, arithmetic, gpu, data_folder, cache, a_training,
    ]  # fmt: skip
    for look in looks:
        try:
            yield look()
        except Exception as error:
            name = look.__name__.replace("_", " ")
            mend = "report it with what `heterophily doctor --json` prints"
            yield Check(name, f"{type(error).__name__}: {error}", "broken", mend)


def python() -> Check:
    """The interpreter."""
    return Check("python", f"{platform.python_version()} at {sys.executable}, {platform.platform()}")


def installed() -> Check:
    """The package itself."""
    where = f"{__version__} at {Path(__file__).parents[1]}"
    try:
        known = importlib.metadata.version("heterophily")
    except importlib.metadata.PackageNotFoundError:
        return Check("heterophily", f"{where}, not installed", "note", "pip install . in its folder")
    if known != __version__:
        mend = "two copies are in the way of each other; pip install . in the folder of the newer one"
        return Check("heterophily", f"{where}, but {known} is installed", "note", mend)
    return Check("heterophily", where)


def packages() -> Check:
    """What it depends on, each as new as it must be."""
    wanted = []
    for line in importlib.metadata.requires("heterophily") or []:
        if "extra ==" not in line and (found := re.match(r"([\w.-]+)\s*>=\s*([\d.]+)", line)):
            wanted.append((found[1], found[2]))
    there, wrong = [], []
    for name, least in wanted:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append((name, f"{name} is missing"))
            continue
        there.append(f"{name} {version}")
        if numbers(version) < numbers(least):
            wrong.append((name, f"{name} {version} is older than {least}"))
    if wrong:
        mend = f"pip install --upgrade {' '.join(name for name, _ in wrong)}"
        return Check("packages", "; ".join(words for _, words in wrong), "broken", mend)
    return Check("packages", ", ".join(there))


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, to be compared; 2.13.0+cpu is (2, 13, 0).

    >>> numbers("2.13.0+cpu") > numbers("2.9")
    True
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def extras() -> Check:
    """What may be installed besides."""
    there = [name for name in EXTRAS if importlib.util.find_spec(name)]
    absent = [f"{name} ({use})" for name, use in EXTRAS.items() if name not in there]
    words = f"{', '.join(there) or 'none'}" + (f"; not installed: {', '.join(absent)}" if absent else "")
    return Check("extras", words)


def arithmetic() -> Check:
    """The one sparse product that all models stand on, on the CPU."""
    off = product_error(torch.device("cpu"))
    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    words = f"{threads} of {cores} cores used; the sparse product is right to {off:.0e}"
    if off > 1e-5:
        return Check("cpu", words, "broken", "reinstall torch: pip install --force-reinstall torch")
    if threads > cores:
        mend = f"more threads than cores slow each other down; set OMP_NUM_THREADS={cores}"
        return Check("cpu", words, "note", mend)
    return Check("cpu", words)


def product_error(device: torch.device) -> float:
    """Return how far the sparse product is from the dense one."""
    generator = torch.Generator().manual_seed(0)
    dense = torch.rand(64, 64, generator=generator)
    dense = (dense * (dense > 0.9)).to(device)  # thin enough to be taken for sparse
    x = torch.rand(64, 8, generator=generator).to(device)
    return float((multiply(features(dense), x) - dense @ x).abs().max())


def gpu() -> Check:
    """CUDA devices; why there is none where one may be expected."""
    if torch.cuda.is_available():
        names = []
        for index in range(torch.cuda.device_count()):
            facts = torch.cuda.get_device_properties(index)
            free = torch.cuda.mem_get_info(index)[0]
            names.append(f"{facts.name}, {free / GIB:.0f} of {facts.total_memory / GIB:.0f} GiB free")
        words = f"{'; '.join(names)}; CUDA {torch.version.cuda}"
        if product_error(torch.device("cuda")) > 1e-3:
            return Check(
                "gpu", f"{words}; it computes wrongly", "broken", "use --device cpu; update the driver"
            )
        return Check("gpu", words)
    if shutil.which("nvidia-smi") is None:
        return Check("gpu", "none; models train on the CPU")
    if torch.version.cuda is None:
        mend = "install a CUDA build of torch, see https://pytorch.org/get-started/locally/"
        return Check(
            "gpu", f"there is an NVIDIA driver, but torch {torch.__version__} has no CUDA", "note", mend
        )
    mend = "run nvidia-smi; update the driver, or give this process access to the device"
    return Check("gpu", f"torch has CUDA {torch.version.cuda}, but finds no device", "note", mend)


def data_folder() -> Check:
    """The folder of raw files that the user has named."""
    named = os.environ.get("HETEROPHILY_DATA")
    if not named:
        return Check(
            "data", "HETEROPHILY_DATA is not set; graphs are downloaded into the cache when asked for"
        )
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        mend = "name a folder that exists, or unset HETEROPHILY_DATA"
        return Check("data", f"HETEROPHILY_DATA names {folder}, which is no folder", "broken", mend)
    there = datasets_in(folder)
    if not there:
        mend = "lay raw files out as PyG does: `heterophily train NAME` says which go where"
        return Check("data", f"{folder} has no dataset", "note", mend)
    return Check("data", f"{folder} has {len(there)} of {len(DATASETS)} datasets: {', '.join(there)}")


def cache() -> Check:
    """The folder for downloads: writable, with room."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        mend = "set HETEROPHILY_CACHE to a folder that you may write to"
        return Check("cache", f"{folder} cannot be written to ({error.strerror})", "broken", mend)
    free = shutil.disk_usage(folder).free
    there = datasets_in(folder / "data")
    words = f"{folder}, {free / GIB:.1f} GiB free, downloaded: {', '.join(there) or 'nothing yet'}"
    if free < LITTLE:
        return Check("cache", words, "note", "make room, or set HETEROPHILY_CACHE to a larger disk")
    return Check("cache", words)


def a_training() -> Check:
    """HDP on a small graph: from the graph to a score."""
    start = time.perf_counter()
    graph = synthetic(200, homophily=0.1, splits=1)
    config = MODELS["hdp"].config.parse(
        {"epoch": 60, "epoch_init": 60, "hidden_dim": 32, "embedding_dim": 32}
    )
    device = choose_device("auto")
    found = evaluate(graph, "hdp", config, [0], 0, device).mean
    seconds = time.perf_counter() - start
    words = f"HDP on 200 nodes, 60 epochs on {device}: accuracy {100 * found:.1f} in {seconds:.1f} s"
    if found < 2 / graph.num_classes:
        return Check("a training", words, "broken", "run the tests of the package: make test")
    return Check("a training", words)
