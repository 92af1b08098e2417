"""Raw files of benchmark graphs, read by PyG's own classes: each an object that writes no processed file.

PyG takes seconds to import, so this file is imported only where something has to be read or downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric import datasets as pyg
from torch_geometric.data import Data, InMemoryDataset, download_url
from torch_geometric.utils import coalesce

from heterophily.graph.datasets import COMMIT, Facts


class ReadOnly:
    """Mixed into a PyG dataset: it downloads and processes when asked, and writes no processed file."""

    has_download = has_process = False
    made: Data

    def save(self, data_list: list[Data], path: str) -> None:
        (self.made,) = data_list

    def load(self, path: str) -> None:
        pass


class Filtered(ReadOnly, InMemoryDataset):
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


class Wikipedia(ReadOnly, pyg.WikipediaNetwork):
    """Chameleon and Squirrel: millions of numbers as text, which PyG's class reads one by one."""

    def process(self) -> None:
        nodes, edges, *splits = (Path(path) for path in self.raw_paths)
        _, features, labels = zip(*(line.split("\t") for line in nodes.read_text().splitlines()[1:]))
        width = features[0].count(",") + 1
        if any(row.count(",") != width - 1 for row in features):
            raise ValueError(f"not every line of {nodes.name} has {width} features")
        x = numbers(",".join(features)).reshape(-1, width)
        pairs = np.loadtxt(edges, dtype=np.int64, delimiter="\t", skiprows=1)
        masks: dict[str, list[torch.Tensor]] = {}
        for split in splits:
            with np.load(split, allow_pickle=False) as file:
                for name in file.files:
                    masks.setdefault(name, []).append(torch.from_numpy(file[name]).bool())
        self.made = Data(
            torch.from_numpy(x),
            coalesce(torch.from_numpy(pairs.T.copy()), num_nodes=len(x)),
            y=torch.tensor([int(label) for label in labels]),
            **{name: torch.stack(columns, 1) for name, columns in masks.items()},
        )


def numbers(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the numbers between the commas of a text, all at once where each is one digit."""
    signs = np.frombuffer(text.encode(), np.uint8)
    digits, commas = signs[::2], signs[1::2]
    if len(signs) % 2 and (commas == ord(",")).all() and ((digits >= ord("0")) & (digits <= ord("9"))).all():
        return (digits - ord("0")).astype(np.float32)
    return np.fromstring(text, dtype=np.float32, sep=",")


def open_dataset(facts: Facts, folder: Path) -> Any:
    """PyG's dataset over the raw files below ``folder``; nothing is read yet."""
    assert isinstance(facts.reader, str)
    root, name = str(folder / facts.under), {"name": facts.key or facts.name}
    if facts.reader == "Filtered":
        return Filtered(root, **name)
    if facts.reader == "WikipediaNetwork":
        return Wikipedia(root, **name, geom_gcn_preprocess=True)
    base = getattr(pyg, facts.reader)
    at = {"url": f"https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/{COMMIT}"}
    changes = at if facts.name == "cornell" else {}  # PyG's class downloads the new files
    special: dict[str, dict[str, Any]] = {
        "Actor": {},
        "Planetoid": name | {"split": "geom-gcn"},
    }
    return type(base.__name__, (ReadOnly, base), changes)(root, **special.get(facts.reader, name))
