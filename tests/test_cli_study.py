"""The command ``study``: what it prints and writes, and how it takes a mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heterophily.cli.study import grid_of
from heterophily.studies import STUDIES, read
from tests.command import GRAPH, Ask

QUICK = ["--set", "epoch=5", "--set", "epoch_init=5", "--set", "hidden_dim=8", "--device", "cpu"]


def test_without_a_name_the_studies_are_listed(ask: Ask) -> None:
    answer = ask("study")
    assert answer.code == 0 and all(name in answer.out for name in STUDIES)


def test_a_study_leaves_its_numbers_and_its_picture_and_prints_a_table(ask: Ask, tmp_path: Path) -> None:
    answer = ask("study", "partition", "synthetic", *GRAPH, *QUICK, "--split", "0,2", "--format", "svg,pdf")
    assert answer.code == 0 and "before training" in answer.out and "precision" in answer.out
    assert "wrote partition-synthetic.json" in answer.err
    folder = tmp_path / "results" / "studies"
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["partition-synthetic.json", "partition-synthetic.pdf", "partition-synthetic.svg"]
    assert read(folder / "partition-synthetic.json").about["splits"] == ["0", "2"]


def test_json_is_one_object_on_stdout(ask: Ask, tmp_path: Path) -> None:
    answer = ask(
        "study", "confusion", "synthetic", *GRAPH, *QUICK, "--models", "mlp,hdp", "--json", "--out", tmp_path
    )
    (result,) = json.loads(answer.out)["results"]
    assert result["study"] == "confusion" and result["models"] == ["mlp", "hdp"]


def test_lambda_and_homophily_are_swept_over_the_grid(ask: Ask, tmp_path: Path) -> None:
    where = ["--out", str(tmp_path), "--json", "--split", "0"]
    rescale = ask("study", "rescale", "synthetic", *GRAPH, *QUICK, *where, "--grid", "0.4:0.8:0.2")
    assert json.loads(rescale.out)["results"][0]["rescale"] == [0.4, 0.6, 0.8]
    small = ["--graph", "num_nodes=80", "--graph", "average_degree=4"]
    sweep = ask("study", "homophily", *small, *QUICK, *where, "--grid", "0,1", "--models", "hdp")
    assert json.loads(sweep.out)["results"][0]["homophily"] == [0.0, 1.0]


@pytest.mark.parametrize(
    "args, words",
    [
        (["ablations"], "there is no study 'ablations'; did you mean 'ablation'? The studies are ablation"),
        (["ablation", "texsa"], "texsa"),
        (["tsne", "--models", "gcn"], "no use for --models; it takes neither"),
        (["local", "--grid", "1"], "no use for --grid; it takes --models"),
        (["local", "synthetic", "--models", "foo"], "there is no model 'foo'"),
        (["rescale", "--grid", "1;2"], "--grid takes numbers as 0.4,0.8,1"),
        (["rescale", "synthetic", "--grid", "-1"], "above 0"),
        (["homophily", "texas"], "draws its own graphs"),
        (["partition", "--format", "gif"], "--format takes png, svg, pdf"),
        (["partition", "synthetic", "--set", "lamda=1"], "did you mean 'rescale'"),
        (["partition", "synthetic", "--split", "99"], "no split 99"),
    ],
)
def test_a_mistake_is_answered_in_a_line_and_writes_nothing(
    ask: Ask, tmp_path: Path, args: list[str], words: str
) -> None:
    answer = ask("study", *args, "--out", tmp_path / "out")
    assert answer.code == 2 and words in answer.err and "Traceback" not in answer.err and answer.out == ""
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_grid_is_a_list_or_a_range_with_both_ends() -> None:
    assert grid_of("0.5, 1") == [0.5, 1.0]
    assert grid_of("0:1:0.25") == [0.0, 0.25, 0.5, 0.75, 1.0]
