"""The command line as a user meets it: what it prints, where, and how it takes a mistake."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

import matplotlib.image
import pandas as pd
import pytest

from heterophily import __version__
from heterophily.bench import demo
from heterophily.cli import main
from heterophily.config import meanings, space
from heterophily.files import unsealed
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.show import cards
from tests.command import GRAPH, Ask, heterophily, read
from tests.forked import Forks

QUICK = ["--set", "epoch=5", "--set", "epoch_init=5", "--set", "hidden_dim=8"]
TRAIN = ["train", "synthetic", *GRAPH, *QUICK, "--device", "cpu"]


# What it answers


def test_the_help_needs_no_torch() -> None:
    code = "import sys; from heterophily.cli import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    for option, said in (("--help", "demo"), ("", "Usage")):
        args = [option] if option else []
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
        assert said in done.stdout and done.stdout.endswith("False\n")


def test_python_dash_m_is_the_command() -> None:
    command = [sys.executable, "-m", "heterophily", "--version"]
    assert subprocess.check_output(command, text=True).startswith(f"heterophily {__version__}\n")


def test_train_prints_a_row_per_split_and_ends_with_the_line_to_remember(ask: Ask) -> None:
    answer = ask(*TRAIN, "--split", "all")
    assert answer.code == 0 and answer.err == ""
    *table, last = answer.out.splitlines()
    assert [line.split()[1] for line in table if line.startswith("│")] == ["0", "1", "2"]
    for word in ("initial", "validation", "test", "epochs", "seconds"):
        assert word in answer.out
    assert last.startswith("synthetic · HDP · accuracy ") and last.endswith(" (mean ± std over 3 splits)")


def test_train_uses_the_first_split_unless_told_otherwise(ask: Ask) -> None:
    answer = ask(*TRAIN)
    assert answer.out.splitlines()[-1].endswith(" (split 0 alone)")


def test_a_model_without_initial_assignment_has_no_columns_for_it(ask: Ask) -> None:
    answer = ask("train", "synthetic", *GRAPH, "--model", "MLP", "--set", "epoch=3")
    assert answer.code == 0 and "initial" not in answer.out


def test_json_is_one_object_on_stdout(ask: Ask) -> None:
    answer = ask(*TRAIN, "--split", "2,0", "--seed", "3", "--set", "rescale=0.9", "--json")
    assert answer.code == 0 and answer.err == ""
    result = json.loads(answer.out)
    assert list(result)[:6] == ["model", "dataset", "metric", "splits", "mean", "std"]
    assert (result["model"], result["dataset"], result["metric"]) == ("hdp", "synthetic", "accuracy")
    assert [row["split"] for row in result["splits"]] == [2, 0]
    for row in result["splits"]:
        assert {"split", "validation", "test", "epochs", "seconds", "initial"} <= set(row)
        assert 0 <= row["validation"] <= 1 and 0 <= row["test"] <= 1 and row["epochs"] == 5
    tests = [row["test"] for row in result["splits"]]
    assert result["mean"] == pytest.approx(sum(tests) / 2)
    assert result["std"] == pytest.approx(abs(tests[0] - tests[1]) / 2**0.5)
    assert (result["seed"], result["seeds"]) == (3, 1) and result["config"]["rescale"] == 0.9
    assert result["graph"] == {"num_nodes": 60, "num_classes": 3, "splits": 3}


def test_the_same_seed_gives_the_same_json_but_for_the_times(ask: Ask) -> None:
    first, second = (json.loads(ask(*TRAIN, "--json").out) for _ in range(2))
    for result in (first, second):
        del result["seconds"]
        for row in (result["splits"][0], result["splits"][0]["initial"]):
            del row["seconds"]
    assert first == second


def test_one_split_has_no_spread(ask: Ask) -> None:
    assert json.loads(ask(*TRAIN, "--json").out)["std"] is None


def test_seeds_train_every_split_from_as_many_seeds(ask: Ask) -> None:
    quick = ["train", "synthetic", *GRAPH, "--model", "mlp", "--set", "epoch=3", "--split", "all"]
    answer = ask(*quick, "--seed", "4", "--seeds", "2", "--json")
    assert answer.code == 0 and answer.err == ""
    result = json.loads(answer.out)
    rows = [(row["split"], row["seed"]) for row in result["splits"]]
    assert rows == [(split, seed) for split in range(3) for seed in (4, 5)]
    assert (result["seed"], result["seeds"]) == (4, 2)
    means = [(a["test"] + b["test"]) / 2 for a, b in zip(result["splits"][::2], result["splits"][1::2])]
    assert result["mean"] == pytest.approx(statistics.mean(means))
    assert result["std"] == pytest.approx(statistics.stdev(means))
    assert (result["std_over"], result["ddof"]) == ("splits", 1) and result["std_seeds"] >= 0
    last = ask(*quick, "--seeds", "2").out.splitlines()[-1]
    assert "(mean ± std over 3 splits, each the mean of 2 seeds; ± " in last


def test_out_holds_the_same_object_and_every_prediction(ask: Ask) -> None:
    answer = ask(*TRAIN, "--split", "all", "--out", "results/first", "--json")
    assert "wrote result.json, predictions.csv, edges.csv to results/first" in answer.err
    folder = Path("results/first")
    written = unsealed(json.loads((folder / "result.json").read_text(encoding="utf-8")))
    assert set(written.pop("files")) == {"predictions.csv", "edges.csv"}
    assert written == json.loads(answer.out)
    assert len(pd.read_csv(folder / "predictions.csv")) == 3 * 60
    assert set(pd.read_csv(folder / "edges.csv")["verdict"]) <= {"homophilous", "heterophilous"}


def test_settings_come_from_a_recipe_and_set_has_the_last_word(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("rescale = 0.8\norder = 2\n[texas]\nrescale = 1.2\n")
    answer = ask(*TRAIN, "--recipe", "mine.toml", "--set", "order=1", "--json")
    config = json.loads(answer.out)["config"]
    assert (config["rescale"], config["order"], config["epoch"]) == (0.8, 1, 5)


def test_datasets_lists_all_and_shows_one(ask: Ask) -> None:
    listed = ask("datasets")
    assert listed.code == 0
    assert all(name in listed.out for name in DATASETS)
    assert max(map(len, listed.out.splitlines())) <= 80
    card = ask("datasets", "Texas")
    assert "1,703" in card.out and "Geom-GCN" in card.out
    assert "average_degree" in ask("datasets", "synthetic").out


def test_datasets_speaks_json(ask: Ask) -> None:
    rows = json.loads(ask("datasets", "--json").out)["datasets"]
    assert [row["name"] for row in rows] == list(DATASETS)
    texas = json.loads(ask("datasets", "texas", "--json").out)
    assert texas == rows[0] and texas["nodes"] == 183 and "geom-gcn" in texas["url"]
    assert json.loads(ask("datasets", "synthetic", "--json").out)["options"]["num_nodes"] == 2000


def test_the_demo_prints_a_table_and_draws_the_partition(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"epoch": 5, "hidden_dim": 8}
    monkeypatch.setattr(demo, "GRAPH", {"num_nodes": 80, "num_classes": 3})
    monkeypatch.setattr(demo, "SETTINGS", {"mlp": quick, "hdp": quick | {"epoch_init": 5}})
    answer = ask("demo", "--device", "cpu")
    assert answer.code == 0
    for words in ("MLP", "HDP's initial assignment", "validation", "test", "% of the edges", "partition.png"):
        assert words in answer.out
    image = matplotlib.image.imread("demo-output/partition.png")
    assert image.shape[0] > 1000 and image[..., :3].std() > 0.05
    edges = pd.read_csv("demo-output/partition.csv")
    assert {"source", "target", "probability", "verdict", "same_class"} <= set(edges.columns)


def test_models_lists_the_registry(ask: Ask) -> None:
    answer = ask("models")
    assert answer.code == 0 and answer.err == ""
    assert max(map(len, answer.out.splitlines())) <= 80
    words = " ".join(answer.out.split())
    for model in MODELS.values():
        authors = model.paper.split(",")[0]
        for fact in (
            model.name,
            authors,
            model.year or "learns nothing",
            model.summary,
            model.cost,
            model.memory,
        ):
            assert str(fact) in words
        assert model.title in words or model.title.lower() == model.name
    rows = {row["name"]: row for row in json.loads(ask("models", "--json").out)["models"]}
    assert list(rows) == list(MODELS)
    assert rows["gcn"] == {
        "name": "gcn", "title": "GCN", "paper": MODELS["gcn"].paper, "year": 2017,
        "summary": MODELS["gcn"].summary, "cost": MODELS["gcn"].cost, "memory": MODELS["gcn"].memory,
        "learns": True,
    }  # fmt: skip
    assert rows["majority"]["year"] is None and not rows["majority"]["learns"]


@pytest.mark.parametrize("name", MODELS)
def test_every_symbol_of_the_costs_is_explained(ask: Ask, name: str) -> None:
    assert cards.symbols(MODELS[name]) <= set(cards.SYMBOLS)
    words = " ".join(ask("models", name).out.split())
    assert all(f"{symbol} {cards.SYMBOLS[symbol]}" in words for symbol in cards.symbols(MODELS[name]))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_shown_with_all_its_settings(ask: Ask, name: str) -> None:
    config = MODELS[name].config
    answer = ask("models", name.upper())
    assert answer.code == 0 and answer.out == ask("models", MODELS[name].title).out
    words = " ".join(answer.out.split())
    for fact in (
        MODELS[name].title,
        MODELS[name].reference,
        MODELS[name].memory,
        f'make_classifier("{name}")',
    ):
        assert fact in words
    found = json.loads(ask("models", name, "--json").out)["settings"]
    assert {key: setting["default"] for key, setting in found.items()} == config().to_dict()
    assert {key for key, setting in found.items() if setting["range"]} == set(space(config))
    for key, setting in found.items():
        assert setting["meaning"] == meanings(config)[key]
        assert any(line.startswith(f"{key} ") for line in answer.out.splitlines())


def test_ranges_are_shown_as_a_search_takes_them(ask: Ask) -> None:
    words = " ".join(ask("models", "hdp").out.split())
    assert "[0.8 to 1.2]" in words and "[whole, 0 to 8]" in words and "[0.1, 0.2, 0.5]" in words


# Mistakes: one line on stderr, exit code 2


@pytest.mark.parametrize(
    "args, sentence",
    [
        (["train", "texass"], "there is no dataset 'texass'; did you mean 'texas'?"),
        (["datasets", "texass"], "there is no dataset 'texass'; did you mean 'texas'?"),
        ([*TRAIN, "--model", "hpd"], "there is no model 'hpd'; did you mean 'hdp'?"),
        ([*TRAIN, "--set", "lamda=1"], "HDPConfig has no field 'lamda'; did you mean 'rescale' (λ)?"),
        ([*TRAIN, "--set", "epoch"], "--set takes KEY=VALUE, such as --set rescale=0.9; not 'epoch'"),
        ([*TRAIN, "--set", "=3"], "--set takes KEY=VALUE"),
        ([*TRAIN, "--set", "epoch=many"], "epoch must be a whole number, zero or more, not 'many'"),
        ([*TRAIN, "--set", "learning_rate=1e38"], "lower the learning rate"),
        ([*TRAIN, "--split", "3"], "synthetic has no split 3"),
        ([*TRAIN, "--split", "-1"], "synthetic has no split -1"),
        ([*TRAIN, "--split", "first"], "--split takes a number from 0, several as 0,3,5, or all"),
        ([*TRAIN, "--seed", "x"], "--seed"),
        ([*TRAIN, "--seed", "-1"], "--seed"),
        ([*TRAIN, "--seed", "99999999999999999999999"], "--seed"),
        ([*TRAIN, "--seeds", "0"], "--seeds"),
        ([*TRAIN, "--device", "meta"], "unknown device 'meta'; use auto, cpu or cuda"),
        ([*TRAIN, "--device", "mps"], "unknown device 'mps'; use auto, cpu or cuda"),
        (["train", "synthetic", "--graph", f"num_nodes={10**23}"], "that is more than the 2,147,483,647"),
        (["models", "hpd"], "there is no model 'hpd'; did you mean 'hdp'? The models are majority, "),
        (["models", "zz"], "there is no model 'zz'; the models are"),
        ([*TRAIN, "--device", "abacus"], "unknown device 'abacus'; use auto, cpu or cuda"),
        ([*TRAIN, "--recipe", "none.toml"], "there is no recipe 'none.toml'"),
        ([*TRAIN, "--recipe", "paper"], "recipes/hdp.toml has no recipe for synthetic"),
        (["train", "synthetic", "--graph", "color=1"], "no option 'color'; the options are num_nodes"),
        (["train", "synthetic", "--graph", "homophily=3"], "homophily is 3; it is a share"),
        (["train", "synthetic", "--graph", "num_nodes=many"], "--graph num_nodes takes a number"),
        (["train", "synthetic", "--graph", "num_nodes=[2]"], "--graph: "),
        (["train", "texas", "--graph", "homophily=0.1"], "--graph is for the synthetic graph"),
        (["train", "texas", "--data", "nowhere"], "nowhere, which is no folder"),
        ([*TRAIN, "--out", "file/below"], "cannot write to the folder file/below"),
        ([*TRAIN, "--out", "full"], "full has a file predictions.csv but no result.json"),
        (["demo", "--out", "file"], "cannot write to the folder file"),
        (["train"], "Missing argument"),
        (["train", "synthetic", "--speed", "9"], "--speed"),
        (["trian"], "No such command 'trian'"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_one_line_that_says_what_to_do(
    ask: Ask, tmp_path: Path, args: list[str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "predictions.csv").touch()
    answer = ask(*args)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ") and answer.err.count("\n") == 1
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_a_mistake_leaves_stdout_empty_with_json_too(ask: Ask) -> None:
    answer = ask(*TRAIN, "--split", "9", "--json")
    assert (answer.code, answer.out) == (2, "") and answer.err.startswith("error: ")


def test_asking_for_a_gpu_that_is_not_there_is_a_mistake(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    answer = ask(*TRAIN, "--device", "cuda")
    assert answer.code == 2 and answer.err.startswith("error: no CUDA device")


def test_data_that_cannot_be_had_is_a_mistake_with_advice(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    monkeypatch.delenv("HETEROPHILY_DATA", raising=False)
    monkeypatch.setattr("torch_geometric.datasets.WebKB.download", offline)
    answer = ask("train", "texas")
    assert answer.code == 2
    assert "texas is not on this machine" in answer.err and "HETEROPHILY_DATA" in answer.err


def test_a_full_memory_is_said_in_one_line(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")

    monkeypatch.setattr("heterophily.bench.protocol.train_runs", full)
    answer = ask(*TRAIN)
    assert answer.code == 2 and answer.err.startswith("error: not enough memory;")


def test_an_error_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("heterophily.bench.protocol.train_runs", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(TRAIN)


# Real data, progress and Ctrl-C, in a process of its own


def test_texas_trains_with_a_note_about_its_rare_class(
    data_folder: Path, forks: Forks, tmp_path: Path
) -> None:
    args = ["train", "texas", "--split", "0,3", *QUICK, "--data", data_folder, "--json"]
    process = heterophily(*args, forks=forks, HETEROPHILY_CACHE=str(tmp_path))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert [row["split"] for row in json.loads(out)["splits"]] == [0, 3]
    notes = [
        line for line in err.splitlines() if line.startswith("note: texas has no training node of class")
    ]
    assert len(notes) == 1
    assert "Warning" not in err and ".py" not in err


ENDLESS = ["--set", "epoch=1000000", "--set", "patience=1000000", "--split", "all", "--seeds", "2"]
LIVE_LINE = re.compile(
    r"synthetic · HDP · 6/6 runs alive · epoch [\d,]+/1,000,000 · [\d,]+ run-epochs/s · "
    r"best validation [\d.]+ · at most [\d:]+ left in stage"
)


def test_a_terminal_shows_a_live_line_and_ctrl_c_ends_it_in_a_word(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    screen, stderr = pty.openpty()
    process = heterophily(*TRAIN, *ENDLESS, "--json", "--out", tmp_path / "out", stderr=stderr, COLUMNS="200")
    os.close(stderr)
    rescue = Timer(120, process.kill)
    rescue.start()
    seen, told = "", False
    for text in read(screen):
        seen += text
        if not told and LIVE_LINE.search(seen):
            process.send_signal(signal.SIGINT)
            told = True
    rescue.cancel()
    os.close(screen)
    out, _ = process.communicate(timeout=60)
    assert told and process.returncode == 130
    assert out == "" and seen.rstrip().endswith("stopped") and "Traceback" not in seen
    assert list((tmp_path / "out").iterdir()) == []


def test_a_log_of_long_work_has_a_last_line_only() -> None:
    code = (  # a clock on which a second passes whenever it is read
        "import itertools, sys; from heterophily.show import progress; from heterophily.cli import main\n"
        "progress.time.perf_counter = itertools.count().__next__\nmain(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, *TRAIN, "--split", "all", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout)["dataset"] == "synthetic"
    assert re.fullmatch(r"synthetic · 3 runs · 30 epochs in [\d:]+, \d+ a second\n", done.stderr)


def test_openmp_is_told_to_wait_asleep_before_torch_is_loaded() -> None:
    code = (
        "import os, sys\n"
        "class Witness:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch':\n"
        "            print(os.environ.get('OMP_WAIT_POLICY'), flush=True)\n"
        "            os._exit(7)\n"
        "sys.meta_path.insert(0, Witness())\n"
        "from heterophily.cli import main; main(['train', 'texass'])"
    )
    for own, seen in ((None, "passive\n"), ("active", "active\n")):
        settings = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
        settings |= {"OMP_NUM_THREADS": "1"} | ({"OMP_WAIT_POLICY": own} if own else {})
        done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (7, seen)


def test_every_model_can_be_asked_for(ask: Ask) -> None:
    for name in MODELS:
        setting = "epoch_init" if "epoch_init" in MODELS[name].fields else "epoch"
        quick = ["--set", f"{setting}=2"] if MODELS[name].learns else []
        answer = ask("train", "synthetic", *GRAPH, "--model", name, *quick, "--json", "--out", name)
        result = json.loads(answer.out)
        assert answer.code == 0 and result["model"] == name
        assert result["splits"][0]["epochs"] == (2 if MODELS[name].learns else 0)
        assert len(pd.read_csv(Path(name, "predictions.csv"))) == 60


def test_a_rule_is_scored_like_a_model_and_has_nothing_to_set(ask: Ask) -> None:
    last = ask("train", "synthetic", *GRAPH, "--model", "majority", "--split", "all").out.splitlines()[-1]
    assert last.startswith("synthetic · Majority · accuracy ")
    assert "It has no settings." in ask("models", "majority").out
    refused = ask("train", "synthetic", "--model", "majority", "--set", "epoch=2")
    assert refused.code == 2 and "MajorityConfig has no field 'epoch'. Fields: none" in refused.err


def test_train_in_clusters_says_so_in_its_result_and_refuses_a_model_that_cannot(ask: Ask) -> None:
    result = json.loads(ask(*TRAIN, "--clusters", "3", "--json").out)
    assert result["clusters"] == 3 and 0 <= result["mean"] <= 1
    assert "clusters" not in json.loads(ask(*TRAIN, "--json").out)
    answer = ask("train", "synthetic", *GRAPH, "--model", "gcn", "--clusters", "3")
    assert answer.code == 2 and "cannot be trained in clusters" in answer.err
    answer = ask(*TRAIN, "--clusters", "61")
    assert answer.code == 2 and "1 to 60" in answer.err
