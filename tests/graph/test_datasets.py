"""Loading by name: the real graphs where they are at hand, small files of the same form everywhere."""

import functools
import gc
import http.server
import os
import shutil
import subprocess
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import torch
from torch_geometric import datasets as pyg

from heterophily.graph import datasets
from heterophily.graph.datasets import DATASETS, DownloadError, load
from heterophily.graph.graph import Graph, GraphError, MissingClassWarning
from heterophily.graph.pyg import open_dataset
from tests.forked import Forks

DATA = os.environ.get("HETEROPHILY_DATA", "")
ABSENT = ("roman-empire", "amazon-ratings", "questions", "penn94", "genius")
real = pytest.mark.skipif(not DATA, reason="HETEROPHILY_DATA is not set: the real graphs are not at hand")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a cache folder of its own and no data folder."""
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HETEROPHILY_DATA", raising=False)


def quietly(name: str, data: str | Path | None = None) -> Graph:
    """Load without the warning about the one-node class of Texas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)
        return load(name, data)


def listing(folder: str | Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in Path(folder).rglob("*"))


# The real graphs


@real
@pytest.mark.parametrize("name", [name for name in DATASETS if name not in ABSENT])
def test_a_real_graph_agrees_with_its_facts_and_its_folder_stays_as_it_was(name: str) -> None:
    before = listing(DATA)
    graph = quietly(name, DATA)
    facts = DATASETS[name]
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes, len(graph.splits)) == (
        facts.nodes,
        facts.columns,
        facts.features,
        facts.classes,
        facts.splits,
    )
    assert (graph.name, graph.metric) == (name, facts.metric)
    assert graph.x.is_sparse_csr == (name not in {"pubmed", "minesweeper", "tolokers"})
    assert listing(DATA) == before


@real
def test_texas_warns_once_of_the_class_that_some_splits_do_not_train_on() -> None:
    with pytest.warns(MissingClassWarning, match="texas") as caught:
        load("texas", DATA)
    assert len(caught) == 1


@pytest.mark.parametrize("name", DATASETS)
def test_raw_files_have_the_places_and_names_that_pygs_classes_give_them(name: str, tmp_path: Path) -> None:
    theirs = [Path(path) for path in open_dataset(DATASETS[name], tmp_path).raw_paths]
    assert datasets._files(DATASETS[name], tmp_path)[: len(theirs)] == theirs


@real
def test_wikipedia_is_read_as_pygs_class_reads_it(tmp_path: Path) -> None:
    shutil.copytree(Path(DATA, "chameleon", "geom_gcn"), tmp_path / "chameleon" / "geom_gcn")
    data = pyg.WikipediaNetwork(str(tmp_path), "chameleon")[0]
    ours = open_dataset(DATASETS["chameleon"], Path(DATA))
    ours.process()
    assert set(data.to_dict()) == set(ours.made.to_dict())
    assert all(torch.equal(data[name], ours.made[name]) for name in data.to_dict())


@real
def test_a_graph_that_was_read_before_needs_no_pyg(forks: Forks) -> None:
    quietly("wisconsin", DATA)
    script = (
        "import sys; from heterophily import load; "
        f"assert load('wisconsin', {DATA!r}).num_nodes == 251; "
        "assert not [name for name in sys.modules if name.startswith('torch_geometric')]"
    )
    subprocess.run(
        [forks.commands / "python", "-c", script], cwd=Path(datasets.__file__).parents[2], check=True
    )


@real
def test_features_are_those_of_pygs_own_dataset(tmp_path: Path) -> None:
    shutil.copytree(Path(DATA, "wisconsin"), tmp_path / "wisconsin")
    data = pyg.WebKB(str(tmp_path), "wisconsin")[0]
    graph = load("wisconsin", DATA)
    assert torch.equal(graph.x.to_dense(), data.x)
    assert torch.equal(graph.y, data.y) and torch.equal(graph.edge_index, data.edge_index)
    assert all(torch.equal(split.test, data.test_mask[:, i]) for i, split in enumerate(graph.splits))


@real
@pytest.mark.parametrize("name, other", [("cornell", "cornell-corrected"), ("cornell-corrected", "cornell")])
def test_the_other_version_of_cornell_is_recognized(tmp_path: Path, name: str, other: str) -> None:
    def raw(folder: Path, name: str) -> Path:
        return folder / DATASETS[name].under / "cornell" / "raw"

    shutil.copytree(raw(Path(DATA), other), raw(tmp_path, name))
    with pytest.raises(GraphError, match="homophily should be") as caught:
        quietly(name, tmp_path)
    message = str(caught.value)
    assert f"The files fit {other}: move them to {raw(tmp_path, other)}" in message
    assert str(raw(tmp_path, name) / "out1_node_feature_label.txt") in message


# Small files of the same form


def small_npz(folder: Path, name: str, nodes: int = 40, classes: int = 2, density: float = 1.0) -> Path:
    """Write the npz file of a HeterophilousGraphDataset: a ring, and ten splits by halves and quarters."""
    rng = np.random.default_rng(0)
    part = (np.arange(nodes) // classes + np.arange(10)[:, None]) % 4
    path = folder / name.replace("-", "_") / "raw" / f"{name.replace('-', '_')}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        node_features=(rng.random((nodes, 20)) < density).astype(np.float32),
        node_labels=np.arange(nodes) % classes,
        edges=np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes], 1),
        train_masks=part < 2,
        val_masks=part == 2,
        test_masks=part == 3,
    )
    return path


def expect(monkeypatch: pytest.MonkeyPatch, name: str, **numbers: float | None) -> None:
    """Put other numbers into the table of facts, by default those of ``small_npz``."""
    ring = {"nodes": 40, "columns": 80, "edges": 40, "features": 20, "classes": 2, "homophily": 0.0}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], **{**ring, **numbers}))


@pytest.mark.parametrize("name, classes, metric", [
    ("roman-empire", 18, "accuracy"),
    ("amazon-ratings", 5, "accuracy"),
    ("questions", 2, "roc_auc"),
])  # fmt: skip
def test_heterophilous_graphs_are_read_from_their_npz_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, classes: int, metric: str
) -> None:
    nodes = 16 * classes
    small_npz(tmp_path, name, nodes, classes)
    expect(monkeypatch, name, nodes=nodes, columns=2 * nodes, edges=nodes, classes=classes)
    monkeypatch.setenv("HETEROPHILY_DATA", str(tmp_path))
    graph = load(name)
    assert (graph.num_nodes, graph.num_classes, graph.metric) == (nodes, classes, metric)
    assert [split.name for split in graph.splits] == [str(i) for i in range(10)]
    assert all(int(split.train.sum()) == nodes // 2 for split in graph.splits)


def test_penn94_is_read_with_its_five_official_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "penn94" / "raw"
    raw.mkdir(parents=True)
    ring = scipy.sparse.coo_array((np.ones(30), (np.arange(30), (np.arange(30) + 1) % 30)), shape=(30, 30))
    info = np.stack(
        [np.arange(30) % 2, np.arange(30) % 3, *np.zeros((5, 30))], 1
    )  # the second column is gender
    scipy.io.savemat(raw / "data.mat", {"A": scipy.sparse.csc_matrix(ring + ring.T), "local_info": info})
    labelled = np.flatnonzero(info[:, 1] > 0)
    parts = {"train": labelled[:10], "valid": labelled[10:15], "test": labelled[15:]}
    np.save(raw / "fb100-Penn94-splits.npy", np.array([parts] * 5, dtype=object), allow_pickle=True)
    expect(monkeypatch, "penn94", nodes=30, columns=60, edges=30, features=7, homophily=0.0)
    graph = load("penn94", tmp_path)
    assert graph.y[:3].tolist() == [-1, 0, 1]
    assert (
        len(graph.splits) == 5
        and graph.splits[4].train.nonzero().flatten().tolist() == labelled[:10].tolist()
    )


def test_genius_gets_ten_seeded_random_splits_of_its_labelled_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "genius" / "raw"
    raw.mkdir(parents=True)
    edges = np.array([[0, 1, 1, 2, 2], [1, 0, 1, 3, 3]])  # both directions, a loop, a duplicate
    label = np.arange(20)[:, None] % 3 - 1
    scipy.io.savemat(raw / "data.mat", {"edge_index": edges, "node_feat": np.ones((20, 12)), "label": label})
    expect(monkeypatch, "genius", nodes=20, columns=5, edges=2, features=12, homophily=None)
    graph, again = load("genius", tmp_path), load("genius", tmp_path)
    assert graph.metric == "roc_auc" and graph.num_edges == 5 and len(graph.splits) == 10
    labelled = int((graph.y >= 0).sum())
    for split, same in zip(graph.splits, again.splits):
        assert torch.equal(split.train, same.train)
        assert not (graph.y[split.train | split.validation | split.test] < 0).any()
        assert int(split.train.sum()) == round(labelled / 2)


@pytest.mark.parametrize("density, sparse", [(0.05, True), (0.5, False)])
def test_features_that_are_mostly_zero_are_sparse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, density: float, sparse: bool
) -> None:
    small_npz(tmp_path, "questions", density=density)
    expect(monkeypatch, "questions")
    assert load("questions", tmp_path).x.is_sparse_csr == sparse


def test_names_may_be_written_in_any_case_and_with_underscores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_npz(tmp_path, "roman-empire")
    expect(monkeypatch, "roman-empire")
    assert load("Roman_Empire", tmp_path).name == "roman-empire"


def test_a_read_only_folder_is_enough_and_nothing_is_written_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = small_npz(tmp_path / "data", "questions").parent
    expect(monkeypatch, "questions")
    folders = [tmp_path / "data", raw.parent, raw]
    before = listing(tmp_path / "data")
    try:
        for folder in folders:
            folder.chmod(0o555)
        load("questions", tmp_path / "data")
        load("questions", tmp_path / "data")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert listing(tmp_path / "data") == before


def test_a_cache_folder_that_cannot_be_written_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_npz(tmp_path, "questions")
    expect(monkeypatch, "questions")
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "file"))
    assert load("questions", tmp_path).num_nodes == 40


# What is wrong, where, what to do


@pytest.fixture
def leaks(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    """NumPy leaves a damaged npz file open; collect it here, where the warning does no harm."""
    yield
    gc.collect()


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list() -> None:
    with pytest.raises(
        GraphError, match="there is no dataset 'Texsa'; did you mean 'texas'\\? The datasets are"
    ) as caught:
        load("Texsa")
    assert all(name in str(caught.value) for name in ["synthetic", *DATASETS])
    with pytest.raises(GraphError, match="there is no dataset 'q'; the datasets are"):
        load("q")


def test_options_are_for_the_synthetic_graph_only() -> None:
    assert load("Synthetic", num_nodes=100, num_classes=3).num_classes == 3
    with pytest.raises(GraphError, match="texas takes no options .homophily given."):
        load("texas", homophily=0.5)


def test_a_data_folder_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GraphError, match="data names .*nowhere, which is no folder"):
        load("texas", tmp_path / "nowhere")
    monkeypatch.setenv("HETEROPHILY_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(GraphError, match="HETEROPHILY_DATA names .*elsewhere, which is no folder"):
        load("texas")


@pytest.mark.parametrize("field, fact, found", [
    ("nodes", 41, 40), ("columns", 81, 80), ("edges", 39, 40), ("features", 21, 20), ("classes", 3, 2),
    ("homophily", 0.5, 0.0), ("splits", 9, 10),
])  # fmt: skip
def test_a_number_that_disagrees_with_the_facts_is_named_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, fact: float, found: float
) -> None:
    path = small_npz(tmp_path, "questions")
    expect(monkeypatch, "questions", **{field: fact})
    with pytest.raises(GraphError, match=f"questions: {field} should be {fact} but is {found}; ") as caught:
        load("questions", tmp_path)
    assert f"look at {path}. " in str(caught.value) and DATASETS["questions"].source.url in str(caught.value)


def test_an_edge_to_a_node_that_is_not_there_disagrees_with_the_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "genius" / "raw"
    raw.mkdir(parents=True)
    arrays = {
        "edge_index": [[0, 1], [1, 70]],
        "node_feat": np.ones((20, 12)),
        "label": np.arange(20)[:, None] % 2,
    }
    scipy.io.savemat(raw / "data.mat", arrays)
    expect(monkeypatch, "genius", nodes=20, columns=2, edges=2, features=12, homophily=None)
    with pytest.raises(GraphError, match="nodes should be 20 but is 71"):
        load("genius", tmp_path)


@pytest.mark.usefixtures("leaks")
def test_a_damaged_file_is_an_error_that_names_its_folder(tmp_path: Path) -> None:
    path = small_npz(tmp_path, "questions")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(
        GraphError, match="questions: the files in .*raw could not be read .BadZipFile"
    ) as caught:
        load("questions", tmp_path)
    assert str(path.parent) in str(caught.value)


# Downloads


@pytest.mark.parametrize("name, change, files", [
    ("questions", (pyg.HeterophilousGraphDataset, "url"), ["questions.npz"]),
    ("texas", (pyg.WebKB, "url"), ["out1_graph_edges.txt", "texas_split_0.6_0.2_{0..9}.npz"]),
    ("cora", (pyg.Planetoid, "url"), ["ind.cora.test.index", "cora_split_0.6_0.2_{0..9}.npz"]),
    ("squirrel-filtered", (pyg.HeterophilousGraphDataset, "url"), ["squirrel_filtered.npz"]),
])  # fmt: skip
def test_a_failed_download_names_the_files_the_folder_and_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: tuple[type, str], files: list[str]
) -> None:
    monkeypatch.setattr(*change, "http://127.0.0.1:9/nothing-listens-here")
    with pytest.raises(
        DownloadError, match=f"{name} is not on this machine, and could not be downloaded"
    ) as caught:
        load(name)
    message = str(caught.value)
    place = datasets._files(DATASETS[name], tmp_path / "cache" / "data")[0].parent
    for part in [*files, str(place), "HETEROPHILY_DATA", DATASETS[name].source.url]:
        assert part in message
    assert "\n" not in message
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []


def test_old_cornell_is_downloaded_from_before_its_correction() -> None:
    old, new = (open_dataset(DATASETS[name], Path()) for name in ("cornell", "cornell-corrected"))
    assert datasets.COMMIT in old.url and new.url == pyg.WebKB.url


def test_a_folder_with_some_of_the_files_is_told_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyg.WebKB, "url", "http://127.0.0.1:9/nothing-listens-here")
    raw = tmp_path / "data" / "texas" / "raw"
    raw.mkdir(parents=True)
    for file in datasets._files(DATASETS["texas"], tmp_path / "data")[:-1]:
        file.touch()
    with pytest.raises(DownloadError, match="texas.raw lacks only texas_split_0.6_0.2_9.npz"):
        load("texas", tmp_path / "data")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder served on this machine, from where PyG downloads the heterophilous graphs."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def end_headers(self) -> None:
            if (tmp_path / "site" / "promise").exists():  # promise more than is there: the line goes dead
                self._headers_buffer = [
                    b"Content-Length: 99999\r\n" if line.startswith(b"Content-Length") else line
                    for line in self._headers_buffer
                ]
            super().end_headers()

    (tmp_path / "site").mkdir()
    handler = functools.partial(Quiet, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(pyg.HeterophilousGraphDataset, "url", url)
        yield tmp_path / "site"
        server.shutdown()
        thread.join()


def test_what_was_downloaded_once_is_found_in_the_cache(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(small_npz(tmp_path, "questions"), site)
    expect(monkeypatch, "questions")
    first = load("questions")
    (site / "questions.npz").unlink()
    assert torch.equal(load("questions").x, first.x)
    data = tmp_path / "cache" / "data"
    assert [str(p.relative_to(data)) for p in data.rglob("*") if p.is_file()] == [
        os.path.join("questions", "raw", "questions.npz")
    ]


@pytest.mark.usefixtures("leaks")
@pytest.mark.parametrize("promised", [True, False])
def test_half_a_download_is_never_taken_for_a_whole_file(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, promised: bool
) -> None:
    path = small_npz(tmp_path, "questions")
    (site / "questions.npz").write_bytes(path.read_bytes()[:1000])
    if promised:
        (site / "promise").touch()
    expect(monkeypatch, "questions")
    with pytest.raises(DownloadError, match="questions is not on this machine, and"):
        load("questions")
    (site / "promise").unlink(missing_ok=True)
    shutil.copy(path, site)
    assert load("questions").num_nodes == 40


def test_a_download_that_is_another_dataset_is_not_kept(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(small_npz(tmp_path, "questions"), site)
    with pytest.raises(DownloadError, match="was not kept .questions: nodes should be 48921 but is 40"):
        load("questions")
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []


# What was read is kept


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A small graph, and a list that grows by each reading."""
    small_npz(tmp_path, "questions", density=0.05)
    expect(monkeypatch, "questions")
    readings: list[str] = []
    process = pyg.HeterophilousGraphDataset.process

    def counting(self: pyg.HeterophilousGraphDataset) -> None:
        readings.append(self.name)
        process(self)

    monkeypatch.setattr(pyg.HeterophilousGraphDataset, "process", counting)
    return readings


def test_what_was_read_is_not_read_again(counted: list[str], tmp_path: Path) -> None:
    first, second = load("questions", tmp_path), load("questions", tmp_path)
    assert len(counted) == 1
    assert torch.equal(first.x.to_dense(), second.x.to_dense()) and second.x.is_sparse_csr
    assert torch.equal(first.edge_index, second.edge_index) and torch.equal(first.y, second.y)
    assert all(torch.equal(a.train, b.train) for a, b in zip(first.splits, second.splits))


def test_other_raw_files_are_read_anew(counted: list[str], tmp_path: Path) -> None:
    before = load("questions", tmp_path)
    small_npz(tmp_path, "questions", density=0.09)
    assert not torch.equal(before.x.to_dense(), load("questions", tmp_path).x.to_dense())


def test_another_version_of_pyg_reads_anew(
    counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load("questions", tmp_path)
    monkeypatch.setattr(datasets.metadata, "version", lambda package: "99.0")
    load("questions", tmp_path)
    assert len(counted) == 2


def test_a_damaged_kept_file_is_read_anew_and_mended(counted: list[str], tmp_path: Path) -> None:
    load("questions", tmp_path)
    kept = tmp_path / "cache" / "processed" / "questions.pt"
    kept.write_bytes(kept.read_bytes()[:700])
    load("questions", tmp_path)
    load("questions", tmp_path)
    assert len(counted) == 2
    assert [p.name for p in kept.parent.iterdir()] == ["questions.pt"]


def test_two_processes_that_load_at_once_do_not_disturb_each_other(
    site: Path, forks: Forks, tmp_path: Path
) -> None:
    shutil.move(small_npz(tmp_path, "questions"), site)
    script = f"""
from dataclasses import replace
from heterophily.graph import datasets
from torch_geometric import datasets as pyg
pyg.HeterophilousGraphDataset.url = {pyg.HeterophilousGraphDataset.url!r}
ring = dict(nodes=40, columns=80, edges=40, features=20, homophily=0.0)
datasets.DATASETS["questions"] = replace(datasets.DATASETS["questions"], **ring)
for _ in range(30):
    assert datasets.load("questions").num_nodes == 40
"""
    root = str(Path(datasets.__file__).parents[2])
    run = [forks.commands / "python", "-c", script]
    both = [subprocess.Popen(run, cwd=root, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    kept = {p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()}
    assert kept == {"questions.npz", "questions.pt"}
