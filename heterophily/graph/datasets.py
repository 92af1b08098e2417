"""Benchmark graphs by name: one row of facts per dataset, read through PyG's own classes.

Raw files are looked for in a folder of the user's, which is never written to, then in the cache folder, and
are otherwise downloaded there. What was read must agree with the row of facts.
"""

from __future__ import annotations

import difflib
import hashlib
import http.client
import io
import os
import socket
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import numpy as np
import platformdirs
import torch
import torch_geometric
from torch import Tensor
from torch_geometric import datasets as pyg
from torch_geometric.data import Data, InMemoryDataset, download_url

from heterophily.files import OutputError, move, write_file
from heterophily.graph import pickles
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
    reader: str
    """The class of ``torch_geometric.datasets`` that reads it; "Filtered" is ours."""
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

SLOW = 1.0
"""Seconds of reading above which the result is kept in the cache folder: Chameleon and Squirrel are text."""


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
    for folder in folders:
        if not _missing(facts, folder):
            return _graph(facts, folder)
    return _download(facts, folders)


def raw_files(name: str, data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the raw files that ``load`` reads a dataset from, where they are on this machine."""
    wanted = canonical(name)
    if wanted == "synthetic":
        return []
    given = data or os.environ.get("HETEROPHILY_DATA")
    for folder in ([Path(given).expanduser().absolute()] if given else []) + [cache_folder() / "data"]:
        if not _missing(DATASETS[wanted], folder):
            return _files(DATASETS[wanted], folder)
    return []


def canonical(name: str) -> str:
    """Return a dataset's name as ``DATASETS`` spells it, or "synthetic"; refuse one that is neither."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    names = ["synthetic", *DATASETS]
    if wanted not in names:
        near = difflib.get_close_matches(wanted, names, n=1)
        lead = f"did you mean {near[0]!r}? The" if near else "the"
        raise GraphError(f"there is no dataset {name!r}; {lead} names are {', '.join(names)}")
    return wanted


def cache_folder() -> Path:
    """The cache folder: ``data`` in it has raw files, ``processed`` what took long to read."""
    given = os.environ.get("HETEROPHILY_CACHE")
    return Path(given or platformdirs.user_cache_dir("heterophily", False)).expanduser().absolute()


class _ReadOnly:
    """Mixed into a PyG dataset: it downloads and processes when asked, and writes no processed file."""

    has_download = has_process = False
    made: Data

    def save(self, data_list: list[Data], path: str) -> None:
        (self.made,) = data_list

    def load(self, path: str) -> None:
        pass


class _Filtered(_ReadOnly, InMemoryDataset):
    """The filtered Chameleon and Squirrel, for which PyG has no class."""

    def __init__(self, root: str, name: str) -> None:
        self.name = name
        super().__init__(root)

    @property
    def raw_dir(self) -> str:
        return os.path.join(self.root, "heterophilous-graphs")

    @property
    def raw_file_names(self) -> str:
        return f"{self.name}_filtered.npz"

    def download(self) -> None:
        download_url(f"{pyg.HeterophilousGraphDataset.url}/{self.raw_file_names}", self.raw_dir)

    def process(self) -> None:
        with np.load(self.raw_paths[0], allow_pickle=False) as file:
            raw = {name: torch.from_numpy(file[name]) for name in file.files}
        masks = {f"{part}_mask": raw[f"{part}_masks"].t() for part in ("train", "val", "test")}
        self.made = Data(raw["node_features"], raw["edges"].t(), y=raw["node_labels"], **masks)


def _open(facts: Facts, folder: Path) -> Any:
    """PyG's dataset over the raw files below ``folder``; nothing is read yet."""
    root, name = str(folder / facts.under), {"name": facts.key or facts.name}
    if facts.reader == "Filtered":
        return _Filtered(root, **name)
    base = getattr(pyg, facts.reader)
    at = {"url": f"https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/{COMMIT}"}
    changes = at if facts.name == "cornell" else {}  # PyG's class downloads the new files
    special: dict[str, dict[str, Any]] = {
        "Actor": {},
        "Planetoid": name | {"split": "geom-gcn"},
        "WikipediaNetwork": name | {"geom_gcn_preprocess": True},
    }
    return type(base.__name__, (_ReadOnly, base), changes)(root, **special.get(facts.reader, name))


def _files(facts: Facts, folder: Path) -> list[Path]:
    """The raw files that a dataset consists of."""
    dataset = _open(facts, folder)
    files = [Path(path) for path in dataset.raw_paths]
    if facts.reader == "Planetoid":  # PyG's class does not count its splits among them
        files += [Path(dataset.raw_dir, f"{facts.name}_split_0.6_0.2_{i}.npz") for i in range(10)]
    return files


def _missing(facts: Facts, folder: Path) -> list[Path]:
    return [file for file in _files(facts, folder) if not file.is_file()]


def _download(facts: Facts, folders: list[Path]) -> Graph:
    """Download into a folder of its own; files that prove whole and right move on to the cache folder."""
    home = folders[-1]
    timeout = socket.getdefaulttimeout()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=home, ignore_cleanup_errors=True) as stage:
            dataset = _open(facts, Path(stage))
            Path(dataset.raw_dir).mkdir(parents=True)
            socket.setdefaulttimeout(timeout or 30.0)  # PyG sets none
            dataset.download()
            graph = _graph(facts, Path(stage))
            for file in _files(facts, Path(stage)):
                move(file, home / file.relative_to(stage))
            return graph
    except (OSError, http.client.HTTPException, aiohttp.ClientError) as error:
        why = f"could not be downloaded ({type(error).__name__}: {error})"
        raise DownloadError(_advice(facts, folders, why)) from error
    except GraphError as error:
        what = str(error).replace(f"{stage}{os.sep}", "")
        why = f"what was downloaded is broken or has changed at its source and was not kept ({what})"
        raise DownloadError(_advice(facts, folders, why)) from error
    finally:
        socket.setdefaulttimeout(timeout)


def _advice(facts: Facts, folders: list[Path], why: str) -> str:
    """Which files are needed, where they come from and where to put them."""
    files = _files(facts, folders[-1])
    place = files[0].parent
    names = [file.name for file in files if not file.name.endswith(tuple(f"_{i}.npz" for i in range(1, 10)))]
    if facts.reader == "LINKXDataset":  # where PyG's name is not the source's
        names[0] += f" (which is {pyg.LINKXDataset.datasets[facts.name][names[0]]})"
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
    tensors = _recall(kept, files)
    if tensors is None:
        start = time.perf_counter()
        dataset = _open(facts, folder)
        try:
            pickles.check(files)
            with warnings.catch_warnings():  # some of PyG's readers set filters
                dataset.process()
        except Exception as error:
            raise GraphError(
                f"{facts.name}: the files in {files[0].parent} could not be read "
                f"({type(error).__name__}: {error}); one is damaged or not what its name says. "
                f"Get them again from {facts.source.url}"
            ) from error
        tensors = dataset.made.to_dict()
        tensors["x"] = _thin(tensors["x"].float())
        if time.perf_counter() - start > SLOW:
            _keep(kept, files, tensors)
    _check(facts, tensors, folder)
    if "train_mask" in tensors:
        masks = zip(*(tensors[f"{part}_mask"].bool().unbind(1) for part in ("train", "val", "test")))
        splits = tuple(Split(train, val, test, str(i)) for i, (train, val, test) in enumerate(masks))
    else:
        splits = random_splits(tensors["y"], facts.splits, train=0.5, validation=0.25, seed=0)
    x, y, edge_index = (tensors[part] for part in ("x", "y", "edge_index"))
    return Graph(x, y, edge_index, splits, facts.classes, facts.name, metric=facts.metric)


def _thin(x: Tensor) -> Tensor:
    """Features that are mostly zero as CSR."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse")  # torch says, once per process, that CSR is in beta
        return x.to_sparse_csr() if int(x.count_nonzero()) < 0.1 * x.numel() else x


def _fingerprint(files: list[Path]) -> str:
    """Changes with what the raw files contain, with PyG's version and with what ``_graph`` keeps (1)."""
    digest = hashlib.sha256(f"1 {torch_geometric.__version__}".encode())
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
    x, y, (u, v) = tensors["x"], tensors["y"], tensors["edge_index"]
    nodes = 1 + int(
        torch.cat([u, v, torch.tensor([len(y) - 1])]).max()
    )  # more than labels: edges lead astray
    pairs = torch.unique((torch.minimum(u, v) * nodes + torch.maximum(u, v))[u != v])
    ends = torch.nn.functional.pad(y, (0, nodes - len(y)), value=-1)[
        torch.stack([pairs // nodes, pairs % nodes])
    ]
    same = (ends[0] == ends[1])[(ends >= 0).all(0)]
    found = {
        "nodes": nodes,
        "columns": len(u),
        "edges": len(pairs),
        "features": x.shape[1],
        "classes": int(y.max()) + 1,
        "homophily": round(float(same.double().mean()), 3),
        "splits": tensors["train_mask"].shape[1] if "train_mask" in tensors else facts.splits,
    }
    wrong = _disagreements(facts, found)
    if not wrong:
        return
    parts = {"columns": ("edges", "graph"), "edges": ("edges", "graph"), "splits": ("split",)}
    files = [path for path in _files(facts, folder) if any(p in path.name for p in parts.get(wrong[0], ()))]
    message = f"{facts.name}: " + ", ".join(
        f"{field} should be {getattr(facts, field)} but is {found[field]}" for field in wrong
    )
    message += f"; look at {(files or _files(facts, folder))[0]}. "
    for other in DATASETS.values():
        if not _disagreements(other, found):
            place = _files(other, folder)[0].parent
            message += f"The files fit {other.name}: move them to {place} and load that name. "
    raise GraphError(f"{message}The right files come from {facts.source.url}")


def _disagreements(facts: Facts, found: dict[str, float]) -> list[str]:
    """Names of the numbers that are known and others than those found; a homophily may be 0.002 off."""
    known = {field: getattr(facts, field) for field in found}
    return [f for f, fact in known.items() if fact is not None and not abs(found[f] - fact) <= 0.002]
