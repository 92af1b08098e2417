"""Tuning: blind to test labels, judged by validation, sparing where it is clear, the same when it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest
import torch
from scipy.stats import PermutationMethod, wilcoxon

from heterophily.bench import tuning
from heterophily.bench.storage import open_storage, open_study
from heterophily.bench.tuning import Count, Tuning, blind, luck, parse_range, tune
from heterophily.config import Choice, ConfigError, Integer, Uniform
from heterophily.graph import Graph, GraphError, Split
from heterophily.graph.synthetic import synthetic
from heterophily.hdp import HDPConfig
from heterophily.models import find_model
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_graph

SMALL = {"hidden_dim": 8, "epoch": 6, "patience": 4}


def dump(storage: Path, study: str = "synthetic-mlp") -> bytes:
    """All that a study holds of its trials but clocks and names of workers."""
    trials = open_study(open_storage(storage), study).get_trials(deepcopy=False)
    rows = [[t.number, t.state.name, t.params, t.values, t.user_attrs["result"]] for t in trials]
    return json.dumps(rows).encode()


@cache
def many_splits() -> Graph:
    return synthetic(60, num_classes=3, num_features=5, average_degree=4, homophily=0.3, splits=6, seed=1)


def shuffled(graph: Graph, hidden: torch.Tensor) -> Graph:
    """The graph with other labels at some nodes."""
    y = torch.where(hidden, (graph.y + 1 + torch.arange(graph.num_nodes) % 2) % 3, graph.y)
    assert (y != graph.y).sum() == hidden.sum() > 3
    return graph.with_labels(y)


@pytest.mark.parametrize(
    "splits, sampler, race",
    [([0], "tpe", False), ([0, 1], "anneal", False), ([1, 2, 4, 5, 3], "tpe", False), ([2, 0], "tpe", True)],
)
def test_a_study_is_byte_identical_when_test_labels_are_shuffled(
    tmp_path: Path, splits: list[int], sampler: str, race: bool
) -> None:
    graph = many_splits()
    hidden = torch.stack([graph.splits[i].test for i in splits]).all(0)
    if len(splits) > 1:  # drawn at random, hardly a node is a test node in all
        hidden[:5] = True
        masks = [(s.train & ~hidden, s.validation & ~hidden, s.test | hidden) for s in graph.splits]
        graph = graph.with_splits(
            [replace(s, train=a, validation=b, test=c) for s, (a, b, c) in zip(graph.splits, masks)]
        )
    found = [
        tune(some, "mlp", 16, storage=tmp_path / f"{i}.db", splits=splits, batch=8, sampler=sampler,
             config={"hidden_dim": 8, "epoch": 30 if race else 12}, race=race)
        for i, some in enumerate((graph, shuffled(graph, hidden)))
    ]  # fmt: skip
    assert dump(tmp_path / "0.db") == dump(tmp_path / "1.db")
    assert found[0].config == found[1].config and found[0].validation == found[1].validation
    assert found[0].trials["validation"].nunique() > 2  # it had a choice


def test_of_several_splits_none_sees_its_own_test_labels_where_another_trains_on_them(tmp_path: Path) -> None:
    graph = many_splits()
    other = shuffled(graph, graph.splits[0].test & graph.splits[1].train)
    first = []
    for i, some in enumerate((graph, other)):
        search(tmp_path / f"{i}.db", 8, some, splits=[0, 1], sampler="random")
        trials = open_study(open_storage(tmp_path / f"{i}.db"), "synthetic-mlp").trials
        first.append([[part[0] for part in t.user_attrs["result"].values()] for t in trials])
    assert first[0] == first[1]
    assert dump(tmp_path / "0.db") != dump(tmp_path / "1.db")


def test_the_graph_of_a_study_has_no_label_that_is_not_trained_on_or_validated_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, seen = tiny_graph(), []

    def spied(graph: Graph, *args: Any, **more: Any) -> Any:
        seen.append(graph.y)
        return train_runs(graph, *args, **more)

    monkeypatch.setattr(tuning, "train_runs", spied)
    tune(graph, "mlp", 4, storage=tmp_path / "one.db", splits=[1], config=SMALL)
    assert seen and all((y[graph.splits[1].test] == -1).all() for y in seen)
    both = blind(graph, [0, 2])
    hidden = graph.splits[0].test & graph.splits[2].test
    assert hidden.any() and torch.equal(both.y == -1, hidden)
    assert torch.equal(both.y[~hidden], graph.y[~hidden])


Engine = Callable[..., list[Any]]


def engine(judge: Callable[[Run], tuple[float, float]], asked: list[Run] | None = None) -> Engine:
    """Stands in for the engine: says validation score and loss of a run at once."""

    def trained(graph: Graph, runs: Sequence[Run], *args: Any, **more: Any) -> list[Any]:
        if asked is not None:
            asked.extend(runs)
        scores = [judge(run) for run in runs]
        return [
            SimpleNamespace(
                trained=SimpleNamespace(
                    validation=score, validation_loss=loss, epochs=3, seconds=0.5, diverged=None
                )
            )
            for score, loss in scores
        ]

    return trained


def rate(run: Run) -> float:
    found: float = run.config.to_dict()["learning_rate"]
    return found


def position(run: Run) -> int:
    assert isinstance(run.split, Split)
    return int(run.split.name)


def search(storage: Path, trials: int = 24, graph: Graph | None = None, **more: Any) -> Tuning:
    """Tune the learning rate of a perceptron alone."""
    fixed = SMALL | {"weight_decay": 0.0, "dropout": 0.0, "feature_norm": "none"}
    options = {"ranges": {"learning_rate": Uniform(0.001, 1.0)}, "batch": 8, "config": fixed} | more
    return tune(graph or many_splits(), "mlp", trials, storage=storage, **options)


def test_the_best_has_the_highest_mean_validation_score_and_of_equals_the_lowest_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (0.5 + 0.1 * position(run), rate(run))))
    found = search(tmp_path / "a.journal", prune=False)
    assert found.validation == pytest.approx(0.75)
    assert found.config.to_dict()["learning_rate"] == found.trials["learning_rate"].min()
    assert found.trials["validation"].to_numpy() == pytest.approx(0.75)
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (round(rate(run), 1), -rate(run))))
    found = search(tmp_path / "b.journal", prune=False)
    top = found.trials[found.trials["validation"] == found.trials["validation"].max()]
    assert found.config.to_dict()["learning_rate"] == top["learning_rate"].max()


def test_what_is_clearly_worse_on_the_first_splits_is_spared_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Run] = []
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (1 - rate(run), rate(run)), asked))
    found = search(tmp_path / "a.journal", sampler="random")
    rows = found.trials
    assert set(rows["state"]) == {"complete", "dropped"}
    assert (rows["state"][:8] == "complete").all()  # there was nothing to be worse than
    for first in (8, 16):
        before = rows["learning_rate"][:first].min()
        batch = rows[first : first + 8]
        assert ((batch["learning_rate"] > before) == (batch["state"] == "dropped")).all()
    assert (rows["splits"] == np.where(rows["state"] == "dropped", 4, 6)).all()
    assert found.spared == pytest.approx(1 - len(asked) / (24 * 6)) and 0 < found.spared < 1 / 3
    assert found.config.to_dict()["learning_rate"] == rows["learning_rate"].min()
    all_of_them = search(tmp_path / "b.journal", sampler="random", prune=False)
    assert all_of_them.spared == 0 and len(asked) == sum(rows["splits"]) + 24 * 6
    assert all_of_them.config == found.config


def test_what_may_be_bad_luck_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind on three of the four first splits by as much as it is ahead on the other."""
    judge = engine(lambda run: (0.5 + (0.1 if position(run) else -0.1) * (rate(run) < 0.5), 1.0))
    monkeypatch.setattr(tuning, "train_runs", judge)
    found = search(tmp_path / "a.journal", sampler="random")
    assert found.trials["validation"].nunique() == 2 and set(found.trials["state"]) == {"complete"}


def test_few_splits_are_all_trained_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (1 - rate(run), rate(run))))
    found = search(tmp_path / "a.journal", splits=[5, 0, 2, 3])
    assert found.spared == 0 and set(found.trials["splits"]) == {4}


def epochs(run: Run) -> int:
    found: int = run.config.to_dict()["epoch"]
    return found


def test_in_a_race_only_the_best_quarter_of_all_that_came_to_a_rung_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Run] = []
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (1 - rate(run), rate(run)), asked))
    whole = {"config": SMALL | {"weight_decay": 0.0, "dropout": 0.0, "feature_norm": "none", "epoch": 200}}
    found = search(tmp_path / "a.journal", 48, sampler="random", splits=[1, 2], batch=16, race=True, **whole)
    ended, came = {20: 0, 80: 0}, {20: [], 80: []}  # type: ignore[var-annotated]
    for k in range(0, 48, 16):
        batch = list(found.trials["learning_rate"][k : k + 16])
        for rung in (20, 80):
            came[rung] += batch
            bar = sorted(came[rung])[-(-len(came[rung]) // 4) - 1]
            stay = [lr for lr in batch if lr <= bar or (k == 0 and lr == found.trials["learning_rate"][0])]
            ended[rung] += len(batch) - len(stay)
            batch = stay
    kinds = [sum(epochs(run) == end for run in asked) for end in (20, 80, 200)]
    assert kinds == [48, 48 - ended[20], 2 * (48 - ended[20] - ended[80])]
    assert {position(run) for run in asked if epochs(run) < 200} == {1}, "a race is run on the first split"
    assert (found.trials["state"] == "complete").sum() == kinds[2] / 2 < 8
    assert set(found.trials["splits"]) == {0, 2}, "nothing was trained to its end on one split alone"
    assert found.spared == pytest.approx(1 - kinds[2] / 96)
    assert found.config.to_dict()["learning_rate"] == found.trials["learning_rate"].min()
    assert found.config.to_dict()["epoch"] == 200, "what races briefly is to be trained as long as any other"


def test_the_first_proposal_is_trained_to_its_end_however_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {"learning_rate": 0.9}
    judge = engine(lambda run: (float(epochs(run) == 200) if rate(run) == 0.9 else 0.5, 1.0))
    monkeypatch.setattr(tuning, "train_runs", judge)
    found = search(tmp_path / "a.journal", start=first, race=True, config=SMALL | {"epoch": 200})
    assert found.validation == 1 and found.config.to_dict()["learning_rate"] == 0.9


def test_a_raced_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    given: dict[str, Any] = {"graph": tiny_graph(), "race": True, "splits": [0, 1], "halves": True}
    given["config"] = {"hidden_dim": 8, "epoch": 120, "patience": 40}
    whole = search(tmp_path / "whole.journal", **given)
    assert set(whole.trials["state"]) == {"complete", "dropped"}
    for trials in (8, 24):
        search(tmp_path / "parts.journal", trials, **given)
    assert dump(tmp_path / "parts.journal") == dump(tmp_path / "whole.journal")
    with pytest.raises(ConfigError, match="with another race"):
        search(tmp_path / "parts.journal", 24, **given | {"race": False})


def test_of_hdp_both_stages_race_each_by_its_own_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Run] = []

    def spied(graph: Graph, runs: Sequence[Run], *args: Any, **more: Any) -> Any:
        asked.extend(runs)
        return train_runs(graph, runs, *args, **more)

    monkeypatch.setattr(tuning, "train_runs", spied)
    config = HDP | {"epoch": 25, "patience": 25, "epoch_init": 25, "patience_init": 25}
    found = tune(
        tiny_graph(), "hdp", 4, storage=tmp_path / "a.journal", splits=[0], batch=4, config=config, race=True
    )
    assert found.task.race and found.initial is not None and found.initial.task.race
    ends = {run.model: set() for run in asked}  # type: ignore[var-annotated]
    for run in asked:
        ends[run.model].add((run.config.to_dict()["epoch_init"], run.config.to_dict()["epoch"]))
    assert ends == {"hdp-init": {(20, 25), (25, 25)}, "hdp": {(25, 20), (25, 25)}}


def test_what_has_no_epochs_cannot_race(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Majority has no setting called epoch, so its trainings cannot"):
        tune(tiny_graph(), "majority", 4, storage=tmp_path / "a.journal", race=True)


def test_the_odds_of_luck_are_those_of_wilcoxon() -> None:
    draw = np.random.default_rng(0)
    for n in (4, 4, 4, 6, 6, 8):
        behind = draw.permutation(np.arange(1, n + 1)) * draw.choice([-1, 1], n)
        assert luck(behind) == pytest.approx(wilcoxon(behind, alternative="less", method="exact").pvalue)
        tied = draw.choice([-0.2, -0.1, 0.1], n)
        exact = wilcoxon(tied, alternative="less", method=PermutationMethod(n_resamples=10**6))
        assert luck(tied) == pytest.approx(exact.pvalue)
    assert luck([-1, -2, -3, -4]) == 1 / 16 and luck([-0.1] * 4) == 1 / 16
    assert luck([-0.1, -0.2, -0.3, 0.0]) == 1 / 8 and luck([0.0] * 4) == 1


def test_the_first_proposal_is_what_one_would_take_without_a_study(tmp_path: Path) -> None:
    found = tune(tiny_graph(), "mlp", 2, storage=tmp_path / "a.db", config=SMALL, batch=2)
    first, defaults = found.trials.iloc[0], find_model("mlp").config().to_dict()
    assert all(first[name] == defaults[name] for name in found.task.space)
    outside = {"dropout": Choice(0.1, 0.2)}
    other = tune(tiny_graph(), "mlp", 2, storage=tmp_path / "b.db", config=SMALL, batch=2, ranges=outside)
    assert set(other.trials["dropout"]) <= {0.1, 0.2}, "a default outside the range is no proposal"


def test_a_study_may_start_from_a_recipe_even_outside_the_ranges(tmp_path: Path) -> None:
    start = {"dropout": 0.33, "learning_rate": 0.5, "select": "loss", "hidden_dim": 12}
    ranges = {"dropout": Choice(0.1, 0.2), "learning_rate": Uniform(0.01, 0.1)}
    found = tune(tiny_graph(), "mlp", 12, storage=tmp_path / "a.db", config={"epoch": 4, "hidden_dim": 8},
                 start=start, batch=4, ranges=ranges)  # fmt: skip
    first = found.trials.iloc[0]
    assert (first["dropout"], first["learning_rate"]) == (0.33, 0.5)
    assert set(found.trials["dropout"]) == {0.1, 0.2, 0.33}
    settings = found.config.to_dict()
    assert settings["select"] == "loss", "what is not searched is as at the start"
    assert settings["hidden_dim"] == 8, "what is set is not"


def test_what_did_well_elsewhere_is_proposed_after_the_first_as_far_as_it_is_searched(tmp_path: Path) -> None:
    kin = [{"dropout": 0.33, "select": "loss"}, {"dropout": 0.33}, {"learning_rate": 0.5, "hidden_dim": 12}]
    again = {"config": SMALL, "batch": 4, "kindred": kin}
    found = tune(tiny_graph(), "mlp", 4, storage=tmp_path / "a.db", **again)
    defaults = find_model("mlp").config().to_dict()
    expected = [{}, {"dropout": 0.33}, {"learning_rate": 0.5}]  # two are alike in what is searched
    for (_, row), changes in zip(found.trials.head(3).iterrows(), expected):
        assert {name: row[name] for name in found.task.space} == {
            name: (defaults | changes)[name] for name in found.task.space
        }
    assert found.config.to_dict()["select"] == defaults["select"]
    assert len(tune(tiny_graph(), "mlp", 6, storage=tmp_path / "a.db", **again).trials) == 6
    with pytest.raises(ConfigError, match="with another kindred and space"):
        tune(tiny_graph(), "mlp", 8, storage=tmp_path / "a.db", **(again | {"kindred": kin[:2]}))


def test_of_hdp_both_studies_try_what_did_well_elsewhere(tmp_path: Path) -> None:
    kin = [{"dropout_init": 0.7, "layers_ht": 3}]
    found = tune(
        tiny_graph(), "hdp", 2, storage=tmp_path / "a.db", splits=[0], batch=2, config=HDP, kindred=kin
    )
    assert found.initial is not None
    assert found.initial.trials["dropout_init"].iloc[1] == 0.7 and found.trials["layers_ht"].iloc[1] == 3


def test_a_study_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Run] = []
    monkeypatch.setattr(tuning, "train_runs", engine(lambda run: (1 - rate(run), rate(run)), asked))
    whole = search(tmp_path / "whole.journal")
    asked.clear()
    first = search(tmp_path / "parts.journal", trials=16)
    done = len(asked)
    again = search(tmp_path / "parts.journal", trials=16)
    assert len(asked) == done and again.trials.equals(first.trials)
    search(tmp_path / "parts.journal", trials=24)
    assert dump(tmp_path / "parts.journal") == dump(tmp_path / "whole.journal")
    fewer = search(tmp_path / "parts.journal", trials=3)
    assert fewer.trials.equals(whole.trials)


def test_a_batch_that_was_cut_short_is_filled_up(tmp_path: Path) -> None:
    for trials in (3, 11, 16):
        found = search(tmp_path / "a.journal", trials=trials, graph=tiny_graph())
        assert list(found.trials["place"]) == list(range(trials))
        assert list(found.trials["batch"]) == [place // 8 for place in range(trials)]


def test_somebody_who_watches_is_told_after_each_batch_and_may_stop_it(tmp_path: Path) -> None:
    told: list[tuple[str, Count]] = []
    found = search(
        tmp_path / "a.journal",
        tell=lambda *news: told.append(news),
        stop=lambda: len(told) == 2,
        graph=tiny_graph(),
    )
    assert [(name, count.done, count.wanted) for name, count in told] == [
        ("synthetic-mlp", 8, 24),
        ("synthetic-mlp", 16, 24),
    ]
    assert told[-1][1].best == found.validation and len(found.trials) == 16
    assert told[-1][1].settings == {"learning_rate": found.config.to_dict()["learning_rate"]}
    assert len(search(tmp_path / "a.journal", graph=tiny_graph()).trials) == 24


def test_time_that_is_up_ends_a_study_after_the_batch(tmp_path: Path) -> None:
    assert len(search(tmp_path / "a.journal", seconds=0, graph=tiny_graph()).trials) == 8
    assert len(search(tmp_path / "a.journal", seconds=0, graph=tiny_graph()).trials) == 16
    assert len(search(tmp_path / "a.journal", seconds=600, graph=tiny_graph()).trials) == 24


def test_a_study_without_a_finished_trial_has_nothing_to_tell(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="study 'synthetic-mlp' has no finished trial yet; let it run"):
        search(tmp_path / "a.journal", stop=lambda: True)


def test_another_task_under_the_name_of_a_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    search(path, 8, tiny_graph())
    for changes, word in (
        ({"seed": 1}, "another seed;"),
        ({"sampler": "random", "prune": False}, "another sampler and prune;"),
        ({"ranges": {"learning_rate": Uniform(0.001, 2.0)}}, "another space;"),
        ({"splits": [0]}, "another splits;"),
        ({"batch": 4}, "another batch;"),
    ):
        with pytest.raises(ConfigError, match=f"has a study 'synthetic-mlp' with {word} go on with the same"):
            search(path, 8, tiny_graph(), **changes)
    assert len(search(path, 8, tiny_graph(), seed=1, study="mine").trials) == 8
    foreign = open_study(open_storage(path), "foreign")
    foreign.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(ConfigError, match="'foreign' of another program; name another study"):
        search(path, 8, tiny_graph(), study="foreign")


def test_proposals_that_are_trained_together_share_what_changes_shapes(tmp_path: Path) -> None:
    found = tune(tiny_graph(), "mlp", 32, storage=tmp_path / "a.journal", config={"epoch": 3}, splits=[0])
    widths = found.trials["hidden_dim"].to_numpy().reshape(4, 8)
    assert (widths == widths[:, :1]).all() and len(set(widths[:, 0])) > 1
    assert found.trials["learning_rate"].nunique() > 2 and found.trials["patience"].nunique() > 1


def test_a_proposal_that_diverges_is_the_worst_and_breaks_nothing(tmp_path: Path) -> None:
    both = Choice(0.01, 1e38)
    found = search(tmp_path / "a.journal", 16, tiny_graph(), ranges={"learning_rate": both}, sampler="random")
    rows = found.trials
    assert set(rows["learning_rate"]) == {0.01, 1e38}
    assert (rows["validation"][rows["learning_rate"] == 1e38] == 0).all()
    assert found.config.to_dict()["learning_rate"] == 0.01 and found.validation > 0
    none = search(tmp_path / "b.journal", 16, tiny_graph(), ranges={"learning_rate": Choice(1e37, 1e38)})
    assert none.validation == 0 and len(none.trials) == 16


HDP = {"hidden_dim": 8, "embedding_dim": 4, "epoch": 6, "epoch_init": 6, "patience": 3, "patience_init": 3}


def test_combinations_that_a_model_refuses_are_not_proposed(tmp_path: Path) -> None:
    ranges = {"structural_dim": Choice(0, 8), "initial_features": Choice("x", "str")}
    with pytest.raises(ConfigError, match="needs a structural_dim above 0"):
        HDPConfig(structural_dim=0, initial_features="str")
    for sampler in ("tpe", "random", "anneal"):
        found = tune(
            tiny_graph(), "hdp-init", 12, storage=tmp_path / f"{sampler}.journal", splits=[0], batch=4,
            sampler=sampler, ranges=ranges, config=HDP,
        )  # fmt: skip
        assert len(found.trials) == 12
    others = {n: v for n, v in HDPConfig().to_dict().items() if n not in (*ranges, *HDP)}
    found = tune(
        tiny_graph(), "hdp-init", 99, storage=tmp_path / "grid.journal", splits=[0], sampler="grid",
        ranges=ranges, config=HDP | others,
    )  # fmt: skip
    points = set(zip(found.trials["structural_dim"], found.trials["initial_features"]))
    assert len(found.trials) == 3 and points == {(0, "x"), (8, "x"), (8, "str")}


def test_a_space_that_the_model_refuses_whole_is_said_so(tmp_path: Path) -> None:
    ranges = {"structural_dim": Choice(0), "initial_features": Choice("str")}
    for sampler, sentence in (("random", "refused a hundred proposals"), ("grid", "refuses every point")):
        others = {n: v for n, v in HDPConfig().to_dict().items() if n not in ranges}
        with pytest.raises(ConfigError, match=sentence):
            tune(tiny_graph(), "hdp-init", 4, storage=tmp_path / f"{sampler}.journal", sampler=sampler,
                 ranges=ranges, config=others)  # fmt: skip


def test_the_initial_assignment_is_trained_once_for_all_proposals_and_these_score_as_they_do_alone(
    tmp_path: Path,
) -> None:
    stages: list[str] = []
    given: dict[str, Any] = {
        "storage": tmp_path / "a.journal", "splits": [0, 1], "batch": 4, "config": HDP | {"epoch_init": 3},
    }  # fmt: skip
    tune(tiny_graph(), "hdp", 4, **given)
    found = tune(tiny_graph(), "hdp", 12, **given, watch=lambda progress: stages.append(progress.stage))
    assert stages.count("initial assignment") == 2 * 3 < stages.count("HDP")  # epochs of two more batches
    for trial in found.trials.itertuples():
        searched = {name: getattr(trial, name) for name in found.task.space}
        config = found.config.replace(**searched)
        alone = train_runs(tiny_graph(), [Run("hdp", config, i, 0) for i in (0, 1)])
        assert trial.validation == pytest.approx(sum(one.trained.validation for one in alone) / 2)


def test_hdp_has_its_initial_assignment_tuned_first_and_takes_it_over(tmp_path: Path) -> None:
    found = tune(tiny_graph(), "hdp", 4, storage=tmp_path / "a.journal", splits=[0], batch=4, config=HDP)
    assert found.initial is not None and found.initial.task.model == "hdp-init"
    own, before = set(found.task.space), set(found.initial.task.space)
    assert not own & before and "layers_hm" in own and "structural_dim" in before
    assert before <= set(find_model("hdp-init").fields)
    for name in before:
        assert getattr(found.config, name) == getattr(found.initial.config, name)
    names = {
        study.study_name for study in optuna.get_all_study_summaries(open_storage(tmp_path / "a.journal"))
    }
    assert names == {"synthetic-hdp", "synthetic-hdp-init"}


ENCODING = {"structural_dim", "hops", "structural_norm"}


@pytest.mark.parametrize("features, free", [("x", ENCODING), ("str", {"feature_norm"}), ("x+str", set())])
def test_what_the_initial_assignment_does_not_read_stays_to_be_searched_after_it(
    tmp_path: Path, features: str, free: set[str]
) -> None:
    config, stages = HDP | {"initial_features": features}, []
    found = tune(tiny_graph(), "hdp", 16, storage=tmp_path / "a.db", splits=[0], batch=8, config=config,
                 watch=lambda progress: stages.append(progress.stage))  # fmt: skip
    assert set(found.task.space) & (ENCODING | {"feature_norm"}) == free
    assert all(found.trials[name].nunique() > 1 for name in free)
    assert stages.index("HDP") == len(stages) - stages.count("HDP")  # no proposal trains the first stage anew


def test_a_grid_ends_when_every_point_was_judged_once(tmp_path: Path) -> None:
    ranges = {"learning_rate": Choice(0.01, 0.02, 0.03), "weight_decay": Choice(0.0, 0.1, 0.2)}
    fixed = SMALL | {"dropout": 0.0, "feature_norm": "none"}
    part = search(tmp_path / "a.journal", 5, tiny_graph(), ranges=ranges, sampler="grid", config=fixed)
    assert len(part.trials) == 5
    found = search(tmp_path / "a.journal", 99, tiny_graph(), ranges=ranges, sampler="grid", config=fixed)
    assert [*zip(found.trials["learning_rate"], found.trials["weight_decay"])] == [
        (a, b) for a in (0.01, 0.02, 0.03) for b in (0.0, 0.1, 0.2)
    ]


@pytest.mark.parametrize(
    "changes, error, sentence",
    [
        ({"sampler": "grd"}, ConfigError, "no sampler 'grd'; there are tpe, anneal, random, grid"),
        ({"sampler": "grid"}, ConfigError, "a grid needs values, but learning_rate is any number"),
        ({"sampler": "grid", "kindred": [{"dropout": 0.1}]}, ConfigError, "a grid proposes every point"),
        ({"ranges": {}, "config": {"learning_rate": 0.1} | SMALL | {"weight_decay": 0, "dropout": 0,
          "feature_norm": "none"}}, ConfigError, "mlp has no settings to search; name some with --space"),
        ({"ranges": {"rate": Uniform(0, 1)}}, ConfigError, "MLPConfig has no field 'rate'"),
        ({"splits": [9]}, GraphError, "no split 9"),
        ({"splits": []}, GraphError, "has no splits to tune on"),
        ({"graph": tiny_graph().with_splits([])}, GraphError, "has no splits to tune on"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        search(tmp_path / "a.journal", **({"graph": tiny_graph()} | changes))


def test_a_rule_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="majority has no settings to search"):
        tune(tiny_graph(), "majority", 4, storage=tmp_path / "a.journal")


@pytest.mark.parametrize(
    "name, text, found",
    [
        ("learning_rate", "0.001:0.1", Uniform(0.001, 0.1)),
        ("hops", "1:4", Integer(1, 4)),
        ("hops", "1,4", Choice(1, 4)),
        ("learning_rate", "0.1,1e-3", Choice(0.1, 0.001)),
        ("learning_rate", "0.1", Choice(0.1)),
        ("hops", "2,3,2", Choice(2, 3)),
        ("normalization", "walk,symmetric", Choice("walk", "symmetric")),
        ("update", "true,false", Choice(True, False)),
        ("order", "1,2", Choice(1, 2)),
    ],
)
def test_a_range_is_read_as_the_field_it_belongs_to(name: str, text: str, found: Any) -> None:
    read = parse_range(HDPConfig, name, text)
    assert read == found and repr(read) == repr(found)


@pytest.mark.parametrize(
    "name, text, sentence",
    [
        ("lamda", "0:1", "has no field 'lamda'; did you mean 'rescale'"),
        ("learning_rate", "0.1:0.01", "--space learning_rate=0.1:0.01: LOW:HIGH takes two numbers"),
        ("learning_rate", "0.1:0.1", "the lower first"),
        ("learning_rate", "0:1", "learning_rate must be above 0, not 0"),
        ("learning_rate", "fast", "learning_rate must be a number"),
        ("learning_rate", "", "learning_rate must be a number"),
        ("learning_rate", ":", "learning_rate must be a number"),
        ("learning_rate", "1:2:3", "learning_rate must be a number"),
        ("learning_rate", "nan:1", "learning_rate must be"),
        ("hops", "1.5:3", "hops must be a whole number"),
        ("hops", "1,,3", "hops must be a whole number"),
        ("update", "false:true", "takes two numbers"),
        ("normalization", "walk,straight", "normalization must be one of symmetric, walk"),
        ("normalization", "symmetric:walk", "takes two numbers"),
    ],
)  # fmt: skip
def test_a_range_that_makes_no_sense_is_refused(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_range(HDPConfig, name, text)


def test_by_halves_a_setting_is_judged_by_validation_nodes_that_had_no_say_in_its_epoch(
    tmp_path: Path,
) -> None:
    graph = tiny_graph()
    given: dict[str, Any] = {"splits": [0, 1], "batch": 4, "config": HDP, "halves": True}
    found = tune(graph, "hdp", 4, storage=tmp_path / "a.journal", **given)
    assert found.task.halves and found.initial is not None and found.initial.task.halves
    for trial in found.trials.itertuples():
        config = found.config.replace(**{name: getattr(trial, name) for name in found.task.space})
        halves = [half for i in (0, 1) for half in graph.splits[i].halved()]
        runs = train_runs(graph, [Run("hdp", config, half, 0) for half in halves])
        judged = [
            (one.trained.logits.argmax(1) == graph.y)[half.test].float().mean()
            for one, half in zip(runs, halves)
        ]
        assert trial.validation == pytest.approx(float(sum(judged)) / 4)
    with pytest.raises(ConfigError, match="another halves"):
        tune(graph, "hdp", 4, storage=tmp_path / "a.journal", **given | {"halves": False})


def test_the_two_halves_are_the_validation_nodes_and_no_test_node_is_left() -> None:
    split = tiny_graph().splits[0]
    one, other = split.halved()
    assert torch.equal(one.validation | one.test, split.validation) and not (one.test & split.test).any()
    assert torch.equal(one.validation, other.test) and torch.equal(one.test, other.validation)
    assert abs(int(one.validation.sum()) - int(one.test.sum())) <= 1
    assert torch.equal(one.train, split.train)
    lone = torch.arange(len(split.train)) == split.validation.nonzero()[0]
    lonely = replace(split, validation=lone)
    with pytest.raises(GraphError, match="fewer than two validation nodes"):
        lonely.halved()
