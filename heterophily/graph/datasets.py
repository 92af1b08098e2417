"""Benchmark graphs by name: one row of facts per dataset, read through PyG's own classes.

Raw files are looked for in a folder of the user's, which is never written to, then in the cache folder, and
are otherwise downloaded there. What was read must agree with the row of facts.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import re
import socket
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
import torch
from torch import Tensor

from heterophily.config import no_such
from heterophily.files import OutputError, move, write_file
from heterophily.graph.graph import Graph, GraphError, Split, random_splits
from heterophily.graph.synthetic import synthetic


class Source(NamedTuple):
    """The paper to cite and the site of the files."""

    paper: str
    year: int
    url: str


@dataclass(frozen=True)
class Facts:
    """What is known of a dataset; ``load`` checks every number that is not None."""

    name: str
    title: str
    reader: str | Callable[[Path | None], Graph]
    """The class of ``torch_geometric.datasets`` that reads it ("Filtered" is ours); or a function that is
    given the data folder, None where there is none, and returns the graph."""
    nodes: int
    columns: int
    """Columns of ``edge_index`` as the class gives it; some classes list both directions, some have loops."""
    edges: int | None
    """Undirected edges, without loops and duplicates."""
    features: int
    classes: int
    homophily: float | None
    """Share of these edges, among those between labelled nodes, that join nodes of one class."""
    source: Source
    splits: int = 10
    metric: str = "accuracy"
    key: str = ""
    """What the class calls it, if not by its name."""
    under: str = ""
    """Folder below the data folder that is the class's root."""
    note: str = ""
    """What to know before using it."""


COMMIT = "f1fc0d14b3b019c562737240d06ec83b07d16a8f"
"""Geom-GCN before July 2022, when it replaced Cornell's files; PyG pins it for Chameleon and Squirrel too."""

# fmt: off
GEOM_GCN = Source("Pei et al., Geom-GCN: Geometric Graph Convolutional Networks, ICLR", 2020,
                  f"https://github.com/graphdml-uiuc-jlu/geom-gcn/tree/{COMMIT}")
GEOM_GCN_NOW = GEOM_GCN._replace(url="https://github.com/graphdml-uiuc-jlu/geom-gcn")
PLANETOID = Source("Yang et al., Revisiting Semi-Supervised Learning with Graph Embeddings, ICML", 2016,
                   f"https://github.com/kimiyoung/planetoid (splits: {GEOM_GCN_NOW.url})")
CRITICAL = Source("Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, ICLR", 2023,
                  "https://github.com/yandex-research/heterophilous-graphs")
LINKX = Source("Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS", 2021,
               "https://github.com/CUAI/Non-Homophily-Large-Scale")

HETERO = "HeterophilousGraphDataset"
TWINS = "Most test nodes have a training node with the same neighbors and label; see the filtered version."
RANDOM = "No official splits: ten random ones of the labelled nodes, 50/25/25 %, seed 0."
PUBLISHED = "Numbers as published."

DATASETS = {facts.name: facts for facts in (
    # name, title, reader, nodes, columns, edges, features, classes, homophily, source
    Facts("texas", "Texas", "WebKB", 183, 325, 279, 1703, 5, 0.061, GEOM_GCN,
          note="One class is a single node, absent from training in splits 0, 1, 2 and 7."),
    Facts("wisconsin", "Wisconsin", "WebKB", 251, 515, 450, 1703, 5, 0.178, GEOM_GCN),
    Facts("cornell", "Cornell (old files)", "WebKB", 183, 298, 277, 1703, 5, 0.296, GEOM_GCN,
          note="The files of 2020 to 2022, behind most printed results: Texas's features and labels on "
               "Cornell's graph. One class is a single node, absent from training in splits 1 to 6 and 9."),
    Facts("cornell-corrected", "Cornell (corrected)", "WebKB", 183, 298, 277, 1703, 5, 0.123, GEOM_GCN_NOW,
          key="cornell", under="webkb-corrected",
          note="The files since July 2022. Scores are not comparable with those on the old ones."),
    Facts("chameleon", "Chameleon", "WikipediaNetwork", 2277, 36101, 31371, 2325, 5, 0.230, GEOM_GCN,
          note=TWINS),
    Facts("squirrel", "Squirrel", "WikipediaNetwork", 5201, 217073, 198353, 2089, 5, 0.222, GEOM_GCN,
          note=TWINS),
    Facts("actor", "Actor", "Actor", 7600, 30019, 26659, 932, 5, 0.217, GEOM_GCN, under="actor",
          note='Geom-GCN calls it "film".'),
    Facts("cora", "Cora", "Planetoid", 2708, 10556, 5278, 1433, 7, 0.810, PLANETOID, key="Cora",
          note="The splits leave out the 223 nodes outside the largest component."),
    Facts("citeseer", "CiteSeer", "Planetoid", 3327, 9104, 4552, 3703, 6, 0.736, PLANETOID, key="CiteSeer",
          note="15 nodes have no features and no true label: they are given class 0 and are in the splits. "
               "Splits 4 and 5 leave out 1,207 nodes."),
    Facts("pubmed", "PubMed", "Planetoid", 19717, 88648, 44324, 500, 3, 0.802, PLANETOID, key="PubMed"),
    Facts("chameleon-filtered", "Chameleon (filtered)", "Filtered", 890, 8854, 8854, 2325, 5, 0.236,
          CRITICAL, key="chameleon", note="Chameleon without most twin nodes; each edge is listed once."),
    Facts("squirrel-filtered", "Squirrel (filtered)", "Filtered", 2223, 46998, 46998, 2089, 5, 0.207,
          CRITICAL, key="squirrel", note="Squirrel without most twin nodes; each edge is listed once."),
    Facts("minesweeper", "Minesweeper", HETERO, 10000, 78804, 39402, 7, 2, 0.683, CRITICAL, metric="roc_auc"),
    Facts("tolokers", "Tolokers", HETERO, 11758, 1038000, 519000, 10, 2, 0.595, CRITICAL, metric="roc_auc"),
    Facts("roman-empire", "Roman-empire", HETERO, 22662, 65854, 32927, 300, 18, 0.047, CRITICAL,
          note=PUBLISHED),
    Facts("amazon-ratings", "Amazon-ratings", HETERO, 24492, 186100, 93050, 300, 5, 0.380, CRITICAL,
          note=PUBLISHED),
    Facts("questions", "Questions", HETERO, 48921, 307080, 153540, 301, 2, 0.840, CRITICAL, metric="roc_auc",
          note=PUBLISHED),
    Facts("reed98", "Reed98", "LINKXDataset", 962, 37624, 18812, 745, 2, 0.522, LINKX,
          note=f"97 nodes are unlabelled. {RANDOM}"),
    Facts("cornell5", "Cornell5", "LINKXDataset", 18660, 1581554, 790777, 4735, 2, 0.546, LINKX,
          note=f"1,838 nodes are unlabelled. {RANDOM}"),
    Facts("penn94", "Penn94", "LINKXDataset", 41554, 2724458, 1362229, 4814, 2, None, LINKX, splits=5,
          note=f"Five official splits; some nodes are unlabelled. {PUBLISHED} The published homophily, 0.47, "
               "counts unlabelled nodes as a class, so it is not checked."),
    Facts("genius", "Genius", "LINKXDataset", 421961, 984979, None, 12, 2, None, LINKX, metric="roc_auc",
          note=f"{RANDOM} {PUBLISHED} Directed, with duplicates: published numbers of edges (984,979; "
               "922,868) and homophily (0.62; 0.59) depend on what becomes of these and are not checked."),
)}
# fmt: on

GEOM = ["out1_node_feature_label.txt", "out1_graph_edges.txt"]
SPLITS = [f"{{low}}_split_0.6_0.2_{i}.npz" for i in range(10)]
RAW = {
    "WebKB": ("{key}/raw", [*GEOM, *SPLITS]),
    "WikipediaNetwork": ("{key}/geom_gcn/raw", [*GEOM, *SPLITS]),
    "Actor": ("raw", [*GEOM, *(name.replace("{low}", "film") for name in SPLITS)]),
    "Planetoid": (
        "{key}/geom-gcn/raw",
        [f"ind.{{low}}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")]
        + SPLITS,
    ),
    HETERO: ("{low}/raw", ["{low}.npz"]),
    "LINKXDataset": ("{key}/raw", ["data.mat"]),
    "Filtered": ("heterophilous-graphs", ["{low}_filtered.npz"]),
}
"""Folder and names of the raw files by reader. PyG's classes know them too, but take seconds to import."""
EXTRA = {"penn94": ["fb100-Penn94-splits.npy"]}


class DownloadError(GraphError):
    """Raw files that are neither on this machine nor to be had from their source."""


def load(name: str, data: str | os.PathLike[str] | None = None, **options: Any) -> Graph:
    """Load a graph of ``DATASETS``, or draw one: ``load("synthetic", homophily=0.1)``.

    ``data``, or else the environment variable ``HETEROPHILY_DATA``, names a folder with raw files as PyG's
    classes lay them out; nothing is written there. What it does not have is looked for in the cache folder
    (``HETEROPHILY_CACHE``, or else the user's), and downloaded into it if need be. ``options`` are those of
    ``synthetic``; the other graphs have none.

    Features, labels and edges are as PyG gives them; features with less than a tenth of their entries
    different from zero are sparse CSR, others dense.
    """
    wanted = canonical(name)
    if wanted == "synthetic":
        return synthetic(**options)
    if options:
        raise GraphError(f"{wanted} takes no options ({', '.join(options)} given); only synthetic does")
    facts = DATASETS[wanted]
    folders = [cache_folder() / "data"]
    if given := data or os.environ.get("HETEROPHILY_DATA"):
        folders.insert(0, Path(given).expanduser().absolute())
        if not folders[0].is_dir():
            origin = "data" if data else "HETEROPHILY_DATA"
            raise GraphError(f"{origin} names {given}, which is no folder; name one that holds raw files")
    if callable(facts.reader):
        return _checked(facts, facts.reader(folders[0] if given else None))
    for folder in folders:
        if not _missing(facts, folder):
            return _graph(facts, folder)
    return _download(facts, folders)


def register(facts: Facts) -> None:
    """Add a dataset to ``DATASETS``, from a file of your own; a name that is taken is refused."""
    spelled = re.sub(r"[^a-z0-9]+", "-", facts.name.lower()).strip("-")  # files are named after it
    if facts.name != spelled:
        raise GraphError(f"a dataset's name is written {spelled!r}, not {facts.name!r}")
    if facts.name == "synthetic" or DATASETS.get(facts.name, facts) != facts:
        raise GraphError(f"there is a dataset {facts.name!r} already; choose another name")
    DATASETS[facts.name] = facts


def raw_files(name: str, data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the raw files that ``load`` reads a dataset from, where they are on this machine."""
    wanted = canonical(name)
    if wanted == "synthetic" or callable(DATASETS[wanted].reader):
        return []
    given = data or os.environ.get("HETEROPHILY_DATA")
    for folder in ([Path(given).expanduser().absolute()] if given else []) + [cache_folder() / "data"]:
        if not _missing(DATASETS[wanted], folder):
            return _files(DATASETS[wanted], folder)
    return []


def datasets_in(folder: Path) -> list[str]:
    """Return the datasets whose raw files are all below a folder."""
    return [name for name, row in DATASETS.items() if not (callable(row.reader) or _missing(row, folder))]


def canonical(name: str) -> str:
    """Return a dataset's name as ``DATASETS`` spells it, or "synthetic"; refuse one that is neither."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    names = ["synthetic", *DATASETS]
    if wanted not in names:
        raise GraphError(no_such("dataset", name, names))
    return wanted


def cache_folder() -> Path:
    """The cache folder: ``data`` in it has raw files, ``processed`` what took long to read."""
    given = os.environ.get("HETEROPHILY_CACHE")
    return Path(given or platformdirs.user_cache_dir("heterophily", False)).expanduser().absolute()


def _files(facts: Facts, folder: Path) -> list[Path]:
    """The raw files that a dataset consists of: where PyG's class has them, by the names it gives them."""
    assert isinstance(facts.reader, str)
    place, names = RAW[facts.reader]
    names = [*names, *EXTRA.get(facts.name, [])]
    key = facts.key or facts.name
    low = key.lower().replace("-", "_")
    return [folder / facts.under / part.format(key=key, low=low) for part in (f"{place}/{n}" for n in names)]


def _missing(facts: Facts, folder: Path) -> list[Path]:
    return [file for file in _files(facts, folder) if not file.is_file()]


def _download(facts: Facts, folders: list[Path]) -> Graph:
    """Download into a folder of its own; files that prove whole and right move on to the cache folder."""
    from heterophily.graph.pyg import open_dataset

    home = folders[-1]
    timeout = socket.getdefaulttimeout()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=home, ignore_cleanup_errors=True) as stage:
            dataset = open_dataset(facts, Path(stage))
            Path(dataset.raw_dir).mkdir(parents=True)
            socket.setdefaulttimeout(timeout or 30.0)  # PyG sets none
            dataset.download()
            graph = _graph(facts, Path(stage))
            for file in _files(facts, Path(stage)):
                move(file, home / file.relative_to(stage))
            return graph
    except _network_errors() as error:
        why = f"could not be downloaded ({type(error).__name__}: {error})"
        raise DownloadError(_advice(facts, folders, why)) from error
    except GraphError as error:
        what = str(error).replace(f"{stage}{os.sep}", "")
        why = f"what was downloaded is broken or has changed at its source and was not kept ({what})"
        raise DownloadError(_advice(facts, folders, why)) from error
    finally:
        socket.setdefaulttimeout(timeout)


def _network_errors() -> tuple[type[Exception], ...]:
    """What a download may end in; PyG downloads through aiohttp."""
    import aiohttp

    return OSError, http.client.HTTPException, aiohttp.ClientError


def _advice(facts: Facts, folders: list[Path], why: str) -> str:
    """Which files are needed, where they come from and where to put them."""
    files = _files(facts, folders[-1])
    place = files[0].parent
    names = [file.name for file in files if not file.name.endswith(tuple(f"_{i}.npz" for i in range(1, 10)))]
    if facts.reader == "LINKXDataset":  # where PyG's name is not the source's
        from torch_geometric.datasets import LINKXDataset

        names[0] += f" (which is {LINKXDataset.datasets[facts.name][names[0]]})"
    message = (
        f"{facts.name} is not on this machine, and {why}. It needs {', '.join(names)} from "
        f"{facts.source.url}. Put that into {place}, or into {place.relative_to(folders[-1])} below a folder "
        "of your own, and name that folder by HETEROPHILY_DATA or data="
    ).replace("_0.npz", "_{0..9}.npz")
    for folder in folders:
        missing = _missing(facts, folder)
        if len(missing) < len(files):
            message += f". {missing[0].parent} lacks only {', '.join(file.name for file in missing)}"
    return message


def _graph(facts: Facts, folder: Path) -> Graph:
    """Read the raw files, check them against the facts, and make the graph."""
    kept = cache_folder() / "processed" / f"{facts.name}.pt"
    files = _files(facts, folder)
    recalled = _recall(kept, files)
    tensors = _read(facts, folder) if recalled is None else recalled
    _check(facts, tensors, folder)
    if recalled is None:
        _keep(kept, files, tensors)
    if "train_mask" in tensors:
        masks = zip(*(tensors[f"{part}_mask"].bool().unbind(1) for part in ("train", "val", "test")))
        splits = tuple(Split(train, val, test, str(i)) for i, (train, val, test) in enumerate(masks))
    else:
        splits = random_splits(tensors["y"], facts.splits, train=0.5, validation=0.25, seed=0)
    x, y, edge_index = (tensors[part] for part in ("x", "y", "edge_index"))
    return Graph(x, y, edge_index, splits, facts.classes, facts.name, metric=facts.metric)


def _read(facts: Facts, folder: Path) -> dict[str, Tensor]:
    """Read the raw files by PyG's class."""
    from heterophily.graph import pickles
    from heterophily.graph.pyg import open_dataset

    dataset = open_dataset(facts, folder)
    try:
        pickles.check(_files(facts, folder))
        with warnings.catch_warnings():  # some of PyG's readers set filters
            dataset.process()
    except Exception as error:
        raise GraphError(
            f"{facts.name}: the files in {dataset.raw_dir} could not be read "
            f"({type(error).__name__}: {error}); one is damaged or not what its name says. "
            f"Get them again from {facts.source.url}"
        ) from error
    tensors = dataset.made.to_dict()
    return tensors | {"x": _thin(tensors["x"].float())}


def _thin(x: Tensor) -> Tensor:
    """Features that are mostly zero as CSR."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse")  # torch says, once per process, that CSR is in beta
        return x.to_sparse_csr() if int(x.count_nonzero()) < 0.1 * x.numel() else x


def _fingerprint(files: list[Path]) -> str:
    """Changes with what the raw files contain, with PyG's version and with what ``_graph`` keeps (1)."""
    digest = hashlib.sha256(f"1 {metadata.version('torch_geometric')}".encode())
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _recall(kept: Path, files: list[Path]) -> dict[str, Tensor] | None:
    """What was kept of these very files; None if nothing was or it can't be read."""
    if kept.exists():
        with suppress(Exception), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse")
            fingerprint, tensors = torch.load(kept, weights_only=True)
            return tensors if fingerprint == _fingerprint(files) else None
    return None


def _keep(kept: Path, files: list[Path], tensors: dict[str, Tensor]) -> None:
    """Keep the tensors for the next time; not where nothing can be written."""
    with suppress(OSError, OutputError):
        stream = io.BytesIO()
        torch.save((_fingerprint(files), tensors), stream)
        write_file(kept, stream.getvalue())


def _check(facts: Facts, tensors: dict[str, Tensor], folder: Path) -> None:
    """Refuse tensors that disagree with the facts: say in what, and in which file to look."""
    splits = tensors["train_mask"].shape[1] if "train_mask" in tensors else facts.splits
    found = _numbers(tensors["x"], tensors["y"], tensors["edge_index"], splits)
    wrong = _disagreements(facts, found)
    if not wrong:
        return
    parts = {"columns": ("edges", "graph"), "edges": ("edges", "graph"), "splits": ("split",)}
    files = [path for path in _files(facts, folder) if any(p in path.name for p in parts.get(wrong[0], ()))]
    message = f"{_difference(facts, found, wrong)}; look at {(files or _files(facts, folder))[0]}. "
    for other in DATASETS.values():
        if not callable(other.reader) and not _disagreements(other, found):
            place = _files(other, folder)[0].parent
            message += f"The files fit {other.name}: move them to {place} and load that name. "
    raise GraphError(f"{message}The right files come from {facts.source.url}")


def _checked(facts: Facts, graph: Graph) -> Graph:
    """Name a graph that a function made as its row of facts does, and refuse one that disagrees with it."""
    found = _numbers(graph.x, graph.y, graph.edge_index, len(graph.splits))
    if wrong := _disagreements(facts, found):
        raise GraphError(f"{_difference(facts, found, wrong)}; mend its row of facts, or the reader")
    return replace(graph, name=facts.name, metric=facts.metric)


def _numbers(x: Tensor, y: Tensor, edge_index: Tensor, splits: int) -> dict[str, float]:
    """Count what a row of facts says of a graph."""
    u, v = edge_index
    nodes = 1 + int(
        torch.cat([u, v, torch.tensor([len(y) - 1])]).max()
    )  # more than labels: edges lead astray
    pairs = torch.unique((torch.minimum(u, v) * nodes + torch.maximum(u, v))[u != v])
    ends = torch.nn.functional.pad(y, (0, nodes - len(y)), value=-1)[
        torch.stack([pairs // nodes, pairs % nodes])
    ]
    same = (ends[0] == ends[1])[(ends >= 0).all(0)]
    return {
        "nodes": nodes,
        "columns": len(u),
        "edges": len(pairs),
        "features": x.shape[1],
        "classes": int(y.max()) + 1,
        "homophily": round(float(same.double().mean()), 3),
        "splits": splits,
    }


def _difference(facts: Facts, found: dict[str, float], wrong: list[str]) -> str:
    """Say which numbers are others than the facts."""
    return f"{facts.name}: " + ", ".join(
        f"{field} should be {getattr(facts, field)} but is {found[field]}" for field in wrong
    )


def _disagreements(facts: Facts, found: dict[str, float]) -> list[str]:
    """Names of the numbers that are known and others than those found; a homophily may be 0.002 off."""
    known = {field: getattr(facts, field) for field in found}
    return [f for f, fact in known.items() if fact is not None and not abs(found[f] - fact) <= 0.002]
