"""Checkpoints of a run on several processes: JSON and safetensors, whole or not at all.

    checkpoint.json                        which run it is, and the newest checkpoint of each stage
    STAGE-EPOCH.safetensors                weights, moments of Adam, best weights, early stopping
    STAGE-EPOCH-of-rank-R.safetensors      what is there for the nodes and edges of one process

Every process writes its own file; when all have, checkpoint.json is replaced, and only then are older files
removed. A run may go on with another number of processes: files of nodes and edges are read in slices.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor

from heterophily.distributed.world import World
from heterophily.files import make_folder, to_text, write_files

FORMAT = 1
HEAD = "checkpoint.json"
Named = dict[str, Tensor]


class CheckpointError(ValueError):
    """A checkpoint that cannot be gone on from."""


@dataclass(frozen=True)
class Saved:
    """A checkpoint of a stage."""

    folder: Path
    stem: str
    processes: int
    numbers: dict[str, Any]

    def replicated(self, device: torch.device) -> Named:
        """Return what every process has."""
        with _telling(self.folder):
            return load_file(self.folder / f"{self.stem}.safetensors", str(device))

    def rows(self, lengths: Mapping[str, int], world: World) -> Named:
        """Return the entries of own nodes or edges; ``lengths`` says how many this process has of each."""
        found: Named = {}
        files = [self.folder / f"{self.stem}-of-rank-{r}.safetensors" for r in range(self.processes)]
        for name, length in lengths.items():
            start, whole = world.before(length)
            with _telling(self.folder):
                parts, before = [], 0
                for file in files:
                    with safe_open(file, "pt") as tensors:
                        piece = tensors.get_slice(name)
                        count = piece.get_shape()[0]
                        low, high = max(start - before, 0), min(start + length - before, count)
                        if low < high:
                            parts.append(piece[low:high])
                        before += count
                if before != whole:
                    raise CheckpointError(
                        f"{self.folder} has {before:,} entries of {name!r} where this graph has {whole:,}; "
                        "it is of another graph"
                    )
                found[name] = torch.cat(parts).to(world.device)
        return found


class Keeper:
    """Writes checkpoints of one run into a folder every so many epochs, and finds the newest."""

    def __init__(
        self, folder: Path | None, every: int, run: Mapping[str, Any], world: World, resume: bool = False
    ):
        self.folder, self.every, self.world = folder, every, world
        self.head: dict[str, Any] = {"format": FORMAT, "run": json.loads(json.dumps(run)), "stages": {}}
        if folder is None:
            return
        make_folder(folder)
        if (folder / HEAD).exists():
            self._go_on(folder / HEAD, resume)

    def _go_on(self, file: Path, resume: bool) -> None:
        with _telling(file.parent):
            head = json.loads(file.read_text(encoding="utf-8"))
        if not resume:
            raise CheckpointError(
                f"{file.parent} holds a checkpoint; add --resume to go on from it, or name another folder"
            )
        if head.get("format") != FORMAT:
            raise CheckpointError(f"{file} has format {head.get('format')!r}; this version reads {FORMAT}")
        mine, theirs = self.head["run"], head["run"]
        if other := [name for name in mine if mine[name] != theirs.get(name)]:
            raise CheckpointError(
                f"{file.parent} is of another run: its {', '.join(other)} differ; name another folder"
            )
        self.head = head

    @property
    def newest(self) -> str:
        """Say in words where a run would go on."""
        if not self.head["stages"]:
            return "from the beginning"
        name, last = list(self.head["stages"].items())[-1]
        return f"after epoch {last['epoch']} of the stage {name!r}"

    def due(self, epoch: int) -> bool:
        """Say whether a checkpoint is due after an epoch."""
        return self.folder is not None and epoch % self.every == 0

    def saved(self, stage: str) -> Saved | None:
        """Return the newest checkpoint of a stage, if there is one."""
        found = self.head["stages"].get(stage)
        if found is None or self.folder is None:
            return None
        return Saved(self.folder, found["files"], found["processes"], found["numbers"])

    def save(self, stage: str, epoch: int, replicated: Named, rows: Named, numbers: dict[str, Any]) -> None:
        """Write a checkpoint; all processes call this, and return when it stands."""
        if self.folder is None:
            return
        slug = stage.lower().replace(" ", "-")
        stem = f"{slug}-{epoch:06}"
        files = {f"{stem}-of-rank-{self.world.rank}.safetensors": to_bytes(_plain(rows))}
        if self.world.rank == 0:
            files[f"{stem}.safetensors"] = to_bytes(_plain(replicated))
        write_files(self.folder, files)
        self.world.wait()
        last = {"epoch": epoch, "files": stem, "processes": self.world.size, "numbers": numbers}
        self.head["stages"][stage] = last
        if self.world.rank == 0:
            write_files(self.folder, {HEAD: to_text(self.head)})
            for file in self.folder.glob(f"{slug}-*.safetensors"):
                if not file.name.startswith(stem):
                    file.unlink(missing_ok=True)
        self.world.wait()


class _telling:
    """Turn what goes wrong in reading a checkpoint into an error that names its folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not isinstance(error, CheckpointError) and isinstance(error, Exception):
            raise CheckpointError(
                f"the checkpoint in {self.folder} cannot be read ({error}); remove the folder and begin anew"
            ) from None


def _plain(named: Named) -> Named:
    # A clone each: safetensors refuses tensors that share their memory.
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in named.items()}
