"""The charts of the report: what they draw, what they say of it, and what their CSV holds."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heterophily.show.report.charts import BLUE, RED, Chart, short
from heterophily.show.report.figures import ranks_chart, study_charts
from tests.studies.made import made


def tips(chart: Chart) -> list[str]:
    return re.findall("<title>(.*?)</title>", chart.svg())


def test_the_chosen_rescaling_lies_in_its_chart_even_beyond_the_grid() -> None:
    for chosen in (0.1, 3.0):
        for chart in study_charts(replace(made("rescale"), chosen=chosen)):
            assert chart.x.low < chosen < chart.x.high


def test_the_estimated_homophily_is_drawn_across_the_whole_only() -> None:
    chart = study_charts(made("partition"))[0]
    found = re.search(r'class="rule" d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)"', chart.svg())
    assert found
    _, whole = chart.at(0, 0)
    _, second = chart.at(0, 1)
    assert all(abs(float(y) - whole) < (second - whole) / 2 for y in found.groups())
    assert "estimated, λh′ = " in chart.note


def one_split(name: str) -> Any:
    """A study of a single run."""
    result = made(name)
    if name == "ablation":
        return replace(result, test=[row[:1] for row in result.test])
    if name == "rescale":
        return replace(
            result,
            **{
                field: [row[:1] for row in getattr(result, field)]
                for field in ("test", "partition", "hidden")
            },
        )
    if name == "homophily":
        return replace(result, test={model: [row[:1] for row in rows] for model, rows in result.test.items()})
    return replace(
        result,
        **{
            field: getattr(result, field)[:1]
            for field in ("estimated", "initial", "updates", "epochs", "kept")
        },
    )


@pytest.mark.parametrize("name", ["ablation", "rescale", "homophily", "partition"])
def test_a_single_run_has_no_spread(name: str) -> None:
    charts = study_charts(one_split(name))
    said = [text for chart in charts for text in (*tips(chart), *(key for key, _ in chart.keys))]
    assert said and not any("±" in text or "std" in text for text in said)
    assert any("±" in text for chart in study_charts(made(name)) for text in tips(chart))


def test_circles_that_cannot_overlap_as_they_should_say_how_far_off_they_are() -> None:
    result = made("information")
    for shared, words in ((0.0, "Areas and overlaps two by two are to scale."), (0.6, "off by up to 0.")):
        values = {"hm_labels": [[shared]], "ht_labels": [[shared]], "hm_ht": [[0.0]]}
        (chart,) = study_charts(replace(result, labels=0.6, values=values))
        assert words in chart.note


def test_circles_are_round_and_their_names_lie_beside_them() -> None:
    result = made("information")
    for shared in (0.0, 0.3, 0.6):
        values = {"hm_labels": [[shared]], "ht_labels": [[shared]], "hm_ht": [[shared]]}
        (chart,) = study_charts(replace(result, labels=0.6, values=values))
        origin, right, up = chart.at(0, 0), chart.at(1, 0), chart.at(0, 1)
        assert right[0] - origin[0] == pytest.approx(origin[1] - up[1], abs=0.02)
        find = r'<circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"'
        circles = [tuple(map(float, found)) for found in re.findall(find, chart.svg())]
        names = re.findall(r'<text class="note bold".*? x="([\d.]+)" y="([\d.]+)"', chart.svg())
        assert len(circles) == len(names) == 3
        for x, y in (map(float, place) for place in names):
            assert 6 < x < 394 and 4 < y < chart.height - 4
            assert all(math.dist((x, y), (a, b)) > r + 8 for a, b, r in circles)


def test_names_of_bins_are_turned_before_they_touch() -> None:
    names = ["1", "2", "3–4", "5–8", "9–16", "17–32", "33–64", "65–128", "≥129"]
    result = replace(made("local"), bins={"degree": names}, nodes={"degree": [[1234] * 9]},
                     right={"degree": {model: [[1000] * 9] for model in made("local").models}})  # fmt: skip
    (chart,) = study_charts(result)
    assert chart.turned and "65–128 · 1,234" in chart.svg()


def test_a_bin_of_a_few_nodes_is_in_the_csv_and_not_in_the_picture() -> None:
    result = made("calibration")
    charts = study_charts(result)
    few = 0
    for model, chart in zip(result.models, charts):
        nodes = [count for time in ("before", "after") for _, _, count in result.diagram(model, time)]
        few += sum(count < 10 for count in nodes)
        assert [row["nodes"] for row in chart.rows] == nodes
        assert len(tips(chart)) == sum(count >= 10 for count in nodes)
    assert few


@pytest.mark.parametrize("count, written", [(3, 9), (12, 0)])
def test_the_numbers_of_a_matrix_are_written_where_they_all_fit(count: int, written: int) -> None:
    classes = [f"a class of papers {k}" for k in range(count)]
    nodes = {space: [[0.0, 1.0]] * count for space in ("h", "h_hm", "h_ht")}
    cosines = (2 * np.eye(count) - 1).tolist()
    result = replace(made("tsne"), classes=classes, points=nodes, stars=nodes, cosines=cosines,
                     labels=list(range(count)), test=[True] * count)  # fmt: skip
    chart = study_charts(result)[-1]
    cells = re.findall(r'<g class="value cell" style="--k:(#\w+).*?</g>', chart.svg())
    assert len(cells) == count**2 and chart.svg().count("1.00</text>") == written
    assert cells.count(RED) == count and cells.count(BLUE) == count**2 - count
    assert len({text for _, text in chart.x.ticks}) == count


def test_a_name_is_cut_in_its_middle() -> None:
    assert short("Theoretical Computer Science 7", 10) == "Theor…ce 7" and short("short", 10) == "short"


def test_the_classes_of_points_are_told_by_shape() -> None:
    chart = study_charts(made("tsne"))[0]
    clouds = re.findall(r'<path class="cloud.*? d="(M.*?)"', chart.svg())
    assert len({re.sub(r"M[\d.]+ [\d.]+", "", path).split("M")[0][:12] for path in clouds}) == len(clouds) > 1


def test_the_csv_of_points_has_nodes_and_prototypes() -> None:
    result = made("tsne")
    for space, chart in zip(result.points, study_charts(result)):
        there = [star for star in result.stars[space] if star is not None]
        kinds = [row["kind"] for row in chart.rows]
        assert kinds.count("node") == len(result.labels) and kinds.count("prototype") == len(there)


def test_the_csv_of_the_ablation_has_the_papers_spread() -> None:
    result = made("ablation")
    printed = [(0.5, 0.01 * k) for k in range(len(result.rows))]
    (chart,) = study_charts(replace(result, printed=printed))
    assert [row["paper_std"] for row in chart.rows] == [spread for _, spread in printed]


def test_accuracy_by_bin_has_its_nodes_and_its_spread() -> None:
    result = made("local")
    for by, chart in zip(result.bins, study_charts(result)):
        assert 'class="error"' in chart.svg()
        counts = dict(zip(result.bins[by], result.total(by)))
        for _, text in chart.x.ticks:
            name, nodes = text.split("\n")
            assert nodes == f"{counts[name]:,}" and nodes in chart.svg()


def test_no_mean_rank_is_better_than_the_first() -> None:
    ranks = SimpleNamespace(mean=[1.2, 2.1, 2.7], blocks=5, critical_difference=1.5)
    found: Any = SimpleNamespace(ranks=ranks, models=["hdp", "mlp", "gcn"], blocks="datasets")
    chart = ranks_chart(found)
    assert chart and chart.x.low == 1 and [text for _, text in chart.x.ticks] == ["1", "2", "3"]
    left = [float(x) for x in re.findall(r'class="error" d="M([\d.]+)', chart.svg())]
    assert len(left) == 3 and min(left) >= chart.left
