"""Results of anyone's are compared where they are on the same splits, and refused where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heterophily import compare, read_scores
from heterophily.bench import statistics
from heterophily.bench.compare import GEOM_GCN
from heterophily.bench.protocol import evaluate
from heterophily.bench.scores import CompareError, Scores
from tests.tiny import tiny_config, tiny_graph

RNG = np.random.default_rng(0)
GOOD = (0.8 + 0.01 * RNG.standard_normal(10)).tolist()
ALIKE = [score + 0.0005 * (-1) ** i for i, score in enumerate(GOOD)]
POOR = (0.6 + 0.01 * RNG.standard_normal(10)).tolist()


def scores(model: str, values: list[float], dataset: str = "texas", **more: Any) -> Scores:
    return Scores(model, dataset, {str(i): value for i, value in enumerate(values)}, **more)


def result(folder: Path, name: str, model: str = "mlp", **changes: Any) -> Path:
    found = evaluate(tiny_graph(**changes), model, tiny_config(model), seed=0).to_json()
    file = folder / f"{name}.json"
    file.write_text(json.dumps(found))
    return file


def test_a_clear_lead_a_practical_tie_and_an_open_question_are_told_apart() -> None:
    noisy = [score + 0.05 * (-1) ** i for i, score in enumerate(GOOD)]
    found = compare({"good": GOOD, "poor": POOR, "alike": ALIKE, "noisy": noisy}, against="good")
    assert {pair.second: pair.verdict for pair in found.pairs} == {
        "poor": "first", "alike": "equal", "noisy": "open",
    }  # fmt: skip
    turned = compare({"poor": POOR, "good": GOOD}, against="poor")
    assert turned.pairs[0].verdict == "second" and turned.pairs[0].difference < -0.15


def test_a_reference_is_found_by_its_name_or_title_in_any_case() -> None:
    some = [scores("gpr-gnn", GOOD), scores("Mine", POOR), scores("mine", ALIKE)]
    for wanted, found in {
        "GPR-GNN": "gpr-gnn",
        "Mine": "Mine",
        "mine": "mine",
        " Gpr-Gnn": "gpr-gnn",
    }.items():
        assert compare(some, wanted).against == found


def test_two_csvs_of_a_model_each_have_their_names_for_datasets(tmp_path: Path) -> None:
    for name in ("new", "old"):
        (tmp_path / f"{name}.csv").write_text(f"model,0,1\n{name},80,82\n")
    both = [one for name in ("new", "old") for one in read_scores(tmp_path / f"{name}.csv")]
    with pytest.raises(
        CompareError, match="there is new on new, old on old. A CSV without a column 'dataset'"
    ):
        compare(both)


def test_every_number_of_a_pair_is_that_of_the_differences() -> None:
    found = compare({"good": GOOD, "poor": POOR}, ratio=0.5)
    (pair,) = found.pairs
    d = np.subtract(GOOD, POOR)
    assert pair.difference == pytest.approx(d.mean()) and pair.std == pytest.approx(d.std(ddof=1))
    assert (pair.t, pair.p) == statistics.corrected_t(d, 0.5)
    assert (pair.wilcoxon, pair.wilcoxon_p) == statistics.wilcoxon(d)
    assert pair.posterior == statistics.posterior(d, 0.5, 0.01)
    assert pair.p_holm == pair.p  # one test is a family of one


def test_p_values_are_adjusted_within_a_dataset() -> None:
    three = {"a": GOOD, "b": ALIKE, "c": POOR}
    both = [scores(m, v, d) for d in ("texas", "cornell") for m, v in three.items()]
    found = compare(both)
    assert len(found.pairs) == 6
    for dataset in ("texas", "cornell"):
        own = [pair for pair in found.pairs if pair.dataset == dataset]
        assert [pair.p_holm for pair in own] == statistics.holm([pair.p for pair in own])


def test_models_are_ranked_over_datasets_where_there_are_several() -> None:
    both = [scores(m, v, d) for d in ("texas", "cornell") for m, v in (("a", GOOD), ("b", POOR))]
    found = compare([*both, scores("c", POOR, "texas")])
    assert found.blocks == "datasets" and found.ranks is not None and found.ranks.blocks == 2
    assert (
        found.models == ("a", "b")
        and found.ranks.mean == [1.0, 2.0]
        and found.left_out == {"c": ("cornell",)}
    )
    single = compare({"a": GOOD, "b": POOR})
    assert single.blocks == "splits" and single.ranks is not None and single.ranks.blocks == 10


def test_the_order_of_splits_does_not_matter_but_their_names_do() -> None:
    names = [str(i) for i in range(10)]
    shuffled = Scores("b", "texas", dict(reversed(list(zip(names, POOR)))))
    assert (
        compare([scores("a", GOOD), shuffled]).pairs == compare([scores("a", GOOD), scores("b", POOR)]).pairs
    )
    with pytest.raises(CompareError, match="not on the same splits: only one of them has split 9"):
        compare([scores("a", GOOD), scores("b", POOR[:9])])


def test_results_on_different_nodes_are_not_paired(tmp_path: Path) -> None:
    same = [result(tmp_path, "a"), result(tmp_path, "b", "gcn")]
    found = compare([one for file in same for one in read_scores(file)])
    assert (found.pairs[0].first, found.pairs[0].second, found.pairs[0].splits) == ("mlp", "gcn", 3)
    other = result(tmp_path, "c", "gcn", seed=1)  # splits 0, 1, 2 as well, of other nodes
    with pytest.raises(CompareError, match="different nodes in split 0, though it is called the same"):
        compare([*read_scores(same[0]), *read_scores(other)])


def test_the_ratio_of_test_to_training_nodes_comes_from_the_results(tmp_path: Path) -> None:
    split = tiny_graph().splits[0]
    (read,) = read_scores(result(tmp_path, "a"))
    assert read.ratio == pytest.approx(int(split.test.sum()) / int(split.train.sum()))
    assert compare({"a": GOOD, "b": POOR}).ratio == {"these splits": GEOM_GCN}
    assert compare({"a": GOOD, "b": POOR}).assumed == ("these splits",)
    assert compare({"a": GOOD, "b": POOR}, ratio=0.3).assumed == ()


def test_seeds_of_a_split_are_averaged_before_splits_are_paired(tmp_path: Path) -> None:
    found = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), seeds=2)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(found.to_json()))
    (read,) = read_scores(file, "mine")
    assert read.model == "mine"
    assert list(read.by_split.values()) == [np.mean([s.test for s in r]) for r in found.by_split.values()]


def test_a_csv_of_model_by_split_reads_as_one_of_single_scores(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    wide.write_text("model,dataset,0,1\na,texas,80,82\nb,texas,70,71\n")
    long.write_text(
        "model,split,test,dataset\na,0,.80,texas\na,1,.82,texas\nb,1,.71,texas\nb,0,.69,texas\nb,0,.71,texas\n"
    )
    assert compare(read_scores(wide)).pairs == compare(read_scores(long)).pairs
    assert [one.dataset for one in read_scores(wide)] == ["texas", "texas"]


def test_a_seed_in_a_csv_is_no_score(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("model,seed,0,split_1\na,0,80,81\na,1,82,81\n")
    (read,) = read_scores(file)
    assert read.by_split == {"0": 0.81, "split_1": 0.81}


@pytest.mark.parametrize(
    "name, text, sentence",
    [
        ("a.csv", "name,0\nx,1\n", "has no column 'model'"),
        ("a.csv", "model,0,1\na,80,\n", "the score of a on split 1 is missing or no number"),
        ("a.csv", "model,0,1\na,80,180\n", "a score is below 0 or above 100"),
        ("a.csv", "model,0,1,mean\na,80,82,81\n", "the column 'mean' is no split; the name of a split"),
        ("a.csv", "model,split,accuracy\na,0,80\n", "the column 'accuracy' is no split; .* split and test"),
        ("a.csv", "model,0,1\na,80,82\nb,.7,1\n", "of b on a are fractions and those of a on a percentages"),
        ("a.csv", "", "cannot be read as CSV"),
        ("a.json", "{", "cannot be read as JSON"),
        ("a.json", "{}", "is no result: it should be a result.json"),
        ("a.json", "[1]", "is no result"),
        ("a.json", '{"checksum": "sha256:0"}', "a.json is damaged: its checksum differs"),
    ],
)
def test_a_file_that_holds_no_scores_is_refused_with_what_is_wrong(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CompareError, match=sentence):
        read_scores(tmp_path / name)


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = scores("a", GOOD), scores("b", POOR, "cornell")
    with pytest.raises(CompareError, match="nothing to compare: .* and there is a on texas, b on cornell$"):
        compare([a, b])
    with pytest.raises(CompareError, match="there are no scores on 'cora' to rank; there are texas"):
        compare([a, scores("b", POOR)], ranked=["cora"])
    with pytest.raises(CompareError, match="a on texas is there twice, .* as NAME=FILE"):
        compare([a, a])
    with pytest.raises(CompareError, match="no scores of 'hdp' to compare with; there are a, b"):
        compare([a, b], against="hdp")
    with pytest.raises(CompareError, match="have one split; a paired test needs two or more"):
        compare([scores("a", [0.5]), scores("b", [0.6])])
    with pytest.raises(CompareError, match="alpha is 5"):
        compare({"a": GOOD, "b": POOR}, alpha=5)
    with pytest.raises(CompareError, match="graphs drawn with different options"):
        compare([scores("a", GOOD, graph="{}"), scores("b", POOR, graph='{"homophily": 0.1}')])


def test_the_json_has_no_infinity() -> None:
    found = compare({"a": [0.5, 0.5], "b": [0.6, 0.6]})
    (pair,) = json.loads(json.dumps(found.to_json(), allow_nan=False))["pairs"]
    assert pair["t"] is None and pair["p"] == 0 and pair["verdict"] == "second"
