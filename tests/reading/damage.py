"""Small good files, and all the ways in which files go bad."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import torch

IDS = ["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8"]


def tables(draw: random.Random) -> tuple[pd.DataFrame, pd.DataFrame]:
    """An edge list and a node table: ids of text or numbers, a label with blanks, columns of all kinds."""
    ids = IDS if draw.random() < 0.5 else draw.sample(range(-5, 10**6), len(IDS))
    pairs = [(draw.choice(ids), draw.choice(ids)) for _ in range(12)]
    nodes = {
        "id": ids,
        "kind": [draw.choice(["p", "q"]) for _ in ids[2:]] + ["p", "q"],
        "size": [round(draw.uniform(-9, 9), 3) for _ in ids],
        "on": [draw.choice([True, False]) for _ in ids],
        "town": [draw.choice(["Ulm", 'Ö, "x"', "NA", ""]) for _ in ids],
        "tags": ["|".join(draw.sample("uvwxyz", 2)) for _ in ids],
    }
    nodes["kind"][draw.randrange(len(ids) - 2)] = ""
    return pd.DataFrame(pairs, columns=["source", "target"]), pd.DataFrame(nodes)


def written(frame: pd.DataFrame, form: str, draw: random.Random) -> bytes:
    """A table in one of the forms of file that are read."""
    if form == "parquet":
        stream = io.BytesIO()
        frame.to_parquet(stream, compression=draw.choice(["snappy", None]))
        return stream.getvalue()
    if form == "jsonl":
        return frame.to_json(orient="records", lines=True).encode()
    if form == "json":
        return json.dumps(frame.to_dict("records"), default=str).encode()
    text = frame.to_csv(index=False, sep={"tsv": "\t"}.get(form) or draw.choice(",;|")).encode()
    return gzip.compress(text, mtime=0) if form == "csv.gz" else text


def graph_file(form: str, folder: Path, draw: random.Random) -> bytes:
    """A small whole graph in one of the forms of file that are read."""
    g = networkx.gnm_random_graph(6, 8, seed=draw.randrange(100))
    for node in g:
        g.nodes[node].update(kind=draw.choice("pq"), size=draw.random())
    file = folder / f"good.{form}"
    if form in ("gml", "graphml"):
        getattr(networkx, f"write_{form}")(g, file)
    else:
        arrays = {
            "edge_index": np.array(g.edges).T,
            "x": np.random.default_rng(0).random((6, 2), dtype=np.float32),
            "y": np.array([0, 1, 0, 1, -1, 0]),
        }
        if form == "npz":
            np.savez(file, **arrays)
        else:
            torch.save({name: torch.from_numpy(value) for name, value in arrays.items()}, file)
    return file.read_bytes()


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content after one to three accidents."""
    for _ in range(draw.randint(1, 3)):
        content = draw.choice(ACCIDENTS)(content, draw)
    return content


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randint(0, len(content))]


def _flip(content: bytes, draw: random.Random) -> bytes:
    if not content:
        return content
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << draw.randrange(8))]) + content[place + 1 :]


def _insert(content: bytes, draw: random.Random) -> bytes:
    place = draw.randint(0, len(content))
    odd = [
        b'"',
        b"\0",
        b"\r",
        b"\n",
        b",",
        b"\xff",
        b"\xef\xbb\xbf",
        b"#",
        b"NaN",
        b"1e999",
        b"'",
        b"[",
        b"{}",
        b" ",
    ]
    return content[:place] + draw.choice(odd) + content[place:]


def _swap(content: bytes, draw: random.Random) -> bytes:
    old, new = draw.sample([b",", b";", b"\t", b"|", b" ", b":", b"\n", b'"', b".", b"0", b"1"], 2)
    return content.replace(old, new, draw.choice([1, 2, -1]))


def _lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    place = draw.randrange(len(lines))
    return b"".join(
        draw.choice(
            [
                lines[:place] + lines[place + 1 :],
                lines[:place] + [lines[place]] + lines[place:],
                lines[::-1],
                draw.sample(lines, len(lines)),
                lines[:place] + [lines[place].strip()] + lines[place + 1 :],
            ]
        )
    )


def _drop(content: bytes, draw: random.Random) -> bytes:
    start = draw.randint(0, len(content))
    return content[:start] + content[start + draw.randint(1, 8) :]


ACCIDENTS = (_cut, _flip, _insert, _swap, _lines, _drop)
