"""Pictures and tables of studies: all there, readable, the same each time, and true to scale."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from itertools import combinations, product
from typing import Any
from unittest.mock import Mock

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.text import Text
from rich.console import Console
from sklearn.exceptions import NotFittedError

import heterophily
from heterophily import HDPClassifier, make_classifier, plot
from heterophily.show.study_tables import list_table, study_table
from heterophily.show.style import class_looks, to_file
from heterophily.studies import STUDIES, StudyError, tsne
from heterophily.studies.information import Information
from heterophily.studies.venn import distance_for, lens, three_circles, worst_miss
from tests.studies.made import made
from tests.tiny import SETTINGS, tiny_graph

PANELS = [name for name in plot.__all__ if name != "figure"]


BASELINES = ["hdp", "mlp", "gcn", "gat", "mixhop", "h2gcn", "gpr-gnn", "linkx", "gcnii"]


def study_of(panel: str) -> str:
    return {"updates": "partition", "cosines": "tsne"}.get(panel, panel)


def words(figure: Figure) -> list[Text]:
    """All words of a figure that are drawn; the labels of ticks beyond an axis are not."""
    FigureCanvasAgg(figure).draw()
    beyond = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval()) if axis.axes.axison else (0, -1)
        beyond |= {id(tick.label1) for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text.get_text().strip()
        and text.get_visible()
        and id(text) not in beyond
    ]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_picture_whose_words_stay_on_the_page(name: str) -> None:
    figure = plot.figure(made(name))
    page = figure.bbox
    for text in words(figure):
        box = text.get_window_extent()
        inside = page.padded(2).fully_containsx(box.x0) and page.padded(2).fully_containsx(box.x1)
        inside = inside and page.padded(2).fully_containsy(box.y0) and page.padded(2).fully_containsy(box.y1)
        assert inside, f"{text.get_text()!r} leaves the page"
    assert min(text.get_fontsize() for text in words(figure)) >= 4.5


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_table_that_fits_eighty_columns(name: str) -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(study_table(made(name)))
    said = console.export_text()
    assert made(name).dataset in said and STUDIES[name].title.split()[0] in said and "…" not in said


def said(result: Any) -> str:
    """The table of a study."""
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(study_table(result))
    return console.export_text()


def test_a_single_split_has_no_spread() -> None:
    one = {
        name: [row[:1] for row in getattr(made("rescale"), name)] for name in ("test", "partition", "hidden")
    }
    assert "±" in said(made("rescale")) and "±" not in said(replace(made("rescale"), **one))


def test_the_paper_has_columns_only_where_it_has_the_dataset() -> None:
    result = made("ablation")
    printed = said(replace(result, printed=[[2.0, 0.02]] * len(result.rows)))
    assert "points" in printed and "200.00 ± 2.00" in printed and "−1" in printed and "-1" not in printed
    assert "paper" not in said(result)


def test_the_list_names_every_study_and_its_place_in_the_paper() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(list_table())
    said = console.export_text()
    assert all(name in said for name in STUDIES) and "Figure 1b" in said and "Table 3" in said
    assert list(STUDIES).index("partition") < list(STUDIES).index("rescale")  # Figure 4 and Figure 5


@pytest.mark.parametrize("name", ["tsne", "edges"])
def test_a_study_of_one_run_says_so(name: str) -> None:
    assert "One run, on split 0; other splits and seeds are left out." in " ".join(said(made(name)).split())


def test_a_calibration_error_stands_beside_that_of_chance() -> None:
    result = made("calibration")
    chance = result.ece_by_chance("hdp", "before")
    assert f"{100 * result.pooled_ece('hdp', 'before'):.1f} ({100 * chance:.1f})" in said(result)
    legend = plot.calibration(result).get_legend()
    assert legend is not None and f"(chance: {100 * chance:.1f} %)" in legend.get_texts()[0].get_text()


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_draws_on_the_axes_it_is_given_and_sets_nothing_global(panel: str) -> None:
    draw, before = getattr(plot, panel), dict(mpl.rcParams)
    axes = Figure().subplots()
    assert draw(made(study_of(panel)), ax=axes) is axes
    own = draw(made(study_of(panel)))
    assert isinstance(own, Axes) and own.figure.get_figwidth() == pytest.approx(3.3)  # type: ignore[union-attr]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("kind, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_result_gives_the_same_file(kind: str, start: bytes) -> None:
    one, two = (to_file(plot.figure(made("ablation")), kind) for _ in range(2))
    assert one.startswith(start) and one == two


def test_a_picture_is_neither_blank_nor_black() -> None:
    image = matplotlib.image.imread(io.BytesIO(to_file(plot.figure(made("local")), "png")), format="png")
    assert image.shape[1] == 990 and 0.03 < (image[..., :3].min(-1) < 0.99).mean() < 0.9


def test_the_words_of_an_svg_are_text() -> None:
    assert ">w/o TPC.<" in to_file(plot.figure(made("ablation")), "svg").decode()


@pytest.mark.parametrize("panel", ["partition", "preference", "tsne", "cosines", "confusion", "calibration"])
def test_a_fitted_classifier_can_be_drawn(panel: str) -> None:
    model = HDPClassifier(**SETTINGS).fit(tiny_graph(), split=0)  # type: ignore[arg-type]
    assert isinstance(getattr(heterophily.plot, panel)(model), Axes)


def test_of_a_fitted_classifier_no_more_is_laid_out_than_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HDPClassifier(**SETTINGS).fit(tiny_graph(), split=0)  # type: ignore[arg-type]
    layout = Mock(wraps=tsne.layout)
    monkeypatch.setattr(tsne, "layout", layout)
    plot.cosines(model)
    assert layout.call_count == 0
    plot.tsne(model, "h_hm")
    assert layout.call_count == 1
    with pytest.raises(StudyError, match="space is 'x'; it is one of h, h_hm, h_ht"):
        plot.tsne(model, "x")


def test_what_cannot_be_drawn_is_refused_in_words() -> None:
    with pytest.raises(StudyError, match="not HDPClassifier; make one with heterophily study partition"):
        plot.updates(HDPClassifier(**SETTINGS).fit(tiny_graph(), split=0))  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        plot.partition(HDPClassifier())
    with pytest.raises(StudyError, match="a result of the study 'ablation', not HDPClassifier"):
        plot.ablation(HDPClassifier())
    with pytest.raises(StudyError, match="'partition' or a fitted classifier, not Ablation"):
        plot.partition(made("ablation"))
    with pytest.raises(StudyError, match="fit HDPClassifier"):
        plot.partition(make_classifier("mlp", epoch=2).fit(tiny_graph(), split=0))
    with pytest.raises(StudyError, match="space is 'x'; it is one of h, h_hm, h_ht"):
        plot.tsne(made("tsne"), space="x")
    with pytest.raises(StudyError, match="no model 'gcn'; it has hdp"):
        plot.confusion(made("confusion"), model="gcn")


def test_the_paper_s_numbers_stand_beside_ours_where_there_are_any() -> None:
    result = made("ablation")
    assert plot.ablation(result).get_legend() is None
    printed = replace(result, printed=[[0.8, 0.02]] * len(result.rows))
    legend = plot.ablation(printed).get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["here", "paper"]


@pytest.mark.parametrize("name", ["rescale", "partition", "local", "homophily", "ablation"])
def test_bars_and_bands_say_what_they_are(name: str) -> None:
    labels = " ".join(text.get_text() for text in words(plot.figure(made(name))))
    assert "± std over splits" in labels


def test_classes_have_a_key_and_no_two_look_alike() -> None:
    legend = plot.tsne(made("tsne")).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [*made("tsne").classes, "prototype"]
    whole = plot.figure(made("tsne"))
    assert [text.get_text() for text in whole.legends[0].get_texts()][-1] == "prototype"
    looks = class_looks(50)
    assert len(set(looks)) == 50 and "*" not in {marker for _, marker in looks}
    assert len({marker for _, marker in looks[:7]}) == 7


def test_a_legend_lies_above_the_axes_and_below_the_title() -> None:
    many = replace(
        made("homophily"), models=BASELINES, test={m: made("homophily").test["gcn"] for m in BASELINES}
    )
    for axes in (plot.homophily(many), plot.edges(made("edges")), plot.calibration(made("calibration"))):
        FigureCanvasAgg(axes.figure).draw()  # type: ignore[arg-type]
        legend = axes.get_legend()
        assert legend is not None
        box, title = legend.get_window_extent(), axes.title if axes.title.get_text() else axes._left_title  # type: ignore[attr-defined]
        assert box.y0 >= axes.bbox.y1 - 1 and box.x1 <= axes.figure.bbox.x1  # type: ignore[union-attr]
        assert title.get_window_extent().y0 >= box.y1 - 3


def test_a_single_bin_lies_in_the_middle_and_no_bar_is_cut() -> None:
    result = made("local")
    one = replace(result, bins={"degree": ["1"]}, nodes={"degree": [[20], [20], [20]]}, right={
        "degree": {model: [[20], [20], [5]] for model in result.models}
    })  # fmt: skip
    axes = plot.local(one, by="degree")
    assert axes.get_xlim() == (-0.5, 0.5) and axes.get_ylim()[1] > 100 * (0.75 + np.std([1, 1, 0.25], ddof=1))
    assert max(axes.get_yticks()) <= 100
    few = replace(result, bins={"degree": ["1", "2"]}, nodes={"degree": [[20, 3]]}, right={
        "degree": {model: [[20, 1]] for model in result.models}
    })  # fmt: skip
    assert "bins of under 10 left out" in plot.local(few, by="degree").get_xlabel()


@pytest.mark.parametrize("count", [3, 5, 7, 9, 12])
def test_the_names_of_bins_do_not_touch_however_many_there_are(count: int) -> None:
    names, models = [f"{10 * k + 10}–{10 * k + 19}" for k in range(count)], made("local").models
    result = replace(made("local"), bins={"degree": names}, nodes={"degree": [[1234] * count]},
                     right={"degree": {model: [[1000] * count] for model in models}})  # fmt: skip
    axes = plot.local(result, by="degree")
    FigureCanvasAgg(axes.figure).draw()  # type: ignore[arg-type]
    labels = axes.get_xticklabels()
    assert all(name in label.get_text() and "1,234" in label.get_text() for name, label in zip(names, labels))
    step = axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0]
    slant = math.radians(labels[0].get_rotation())
    for label in labels:
        label.set_rotation(0)
        box = label.get_window_extent()
        assert step * math.sin(slant) > box.height or step > box.width + 2


def test_several_models_share_a_column_of_a_paper() -> None:
    result = made("confusion")
    several = replace(result, models=list(BASELINES), counts=dict.fromkeys(BASELINES, result.counts["hdp"]))
    assert plot.figure(several).get_figwidth() == pytest.approx(3.3)


def test_matrices_are_shapes_and_not_images() -> None:
    assert not any(axes.images for axes in plot.figure(made("preference")).axes)


def test_a_row_that_changes_nothing_is_marked() -> None:
    result = made("ablation")
    idle = replace(result, idle=[row == "w/o SMP." for row in result.rows])
    assert "w/o SMP. (idle)" in [label.get_text() for label in plot.ablation(idle).get_yticklabels()]


def test_what_is_not_there_is_said_and_not_drawn() -> None:
    result = made("tsne")
    alike = replace(result, points=result.points | {"h_ht": [[0.0, 0.0]] * len(result.labels)})
    assert "all nodes alike" in [text.get_text() for text in plot.tsne(alike, space="h_ht").texts]
    whole = made("partition")
    none = [tally | {"ht_same": 0, "ht_other": 0} for tally in whole.kept]
    assert "no edges" in [text.get_text() for text in plot.partition(replace(whole, kept=none)).texts]


# Venn's circles


def test_two_circles_share_the_area_that_counting_points_gives() -> None:
    x, y = np.meshgrid(*[np.arange(-2, 3, 0.01)] * 2)
    inside = (np.hypot(x, y) < 1.5) & (np.hypot(x - 1.2, y) < 1)
    assert lens(1.5, 1.0, 1.2) == pytest.approx(0.01**2 * inside.sum(), rel=2e-3)
    assert lens(1, 1, 2) == 0 and lens(2, 1, 0.5) == pytest.approx(math.pi)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99, 1.0])
def test_the_distance_gives_back_the_overlap(share: float) -> None:
    area = math.pi * 0.7**2
    assert lens(1.0, 0.7, distance_for(1.0, 0.7, share * area)) == pytest.approx(share * area, abs=1e-6)


@pytest.mark.parametrize("overlaps", [(0.3, 0.25, 0.4), (0.3, 0.0, 0.0), (0.6, 0.05, 0.05), (0.0, 0.0, 0.0)])
def test_areas_and_overlaps_of_three_circles_are_to_scale(overlaps: tuple[float, ...]) -> None:
    areas = (0.6, 1.0, 1.0)
    centers, radii = three_circles(areas, overlaps)
    assert [math.pi * r**2 for r in radii] == pytest.approx(areas)
    for (i, j), overlap in zip(((0, 1), (0, 2), (1, 2)), overlaps):
        assert lens(radii[i], radii[j], math.dist(centers[i], centers[j])) == pytest.approx(overlap, abs=2e-3)


def test_circles_that_miss_their_overlaps_say_by_how_much() -> None:
    overlaps = (0.6, 0.55, 0.3)
    assert worst_miss(*three_circles((0.65, 1.0, 1.0), overlaps), overlaps) == pytest.approx(0.07, abs=0.01)
    assert worst_miss(*three_circles((0.65, 1.0, 1.0), (0.3, 0.25, 0.4)), (0.3, 0.25, 0.4)) < 1e-6


def test_overlaps_that_no_plane_allows_are_missed_by_little() -> None:
    # Both others hold most of circle 0, yet share nothing with each other.
    centers, radii = three_circles((0.6, 1.0, 1.0), (0.5, 0.5, 0.0))
    found = [lens(radii[i], radii[j], math.dist(centers[i], centers[j])) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.abs(np.subtract(found, (0.5, 0.5, 0.0))).max() < 0.3


def test_the_drawn_circles_are_the_computed_ones() -> None:
    result = made("information")
    areas = [
        math.pi * patch.radius**2 for patch in plot.information(result).patches if isinstance(patch, Circle)
    ]
    assert areas == pytest.approx([result.labels, 1.0, 1.0])


@pytest.mark.parametrize("overlaps", [(0.3, 0.25, 0.4), (0.6, 0.55, 0.3), (0.6, 0.6, 0.95), (0.0, 0.0, 0.0)])
def test_names_lie_outside_the_circles_and_apart_and_misses_are_said(overlaps: tuple[float, ...]) -> None:
    values = {pair: [[value]] for pair, value in zip(("hm_labels", "ht_labels", "hm_ht"), overlaps)}
    result = Information(dataset="d", about={}, values=values, labels=0.65, nodes=9)
    axes = plot.information(result)
    FigureCanvasAgg(axes.figure).draw()  # type: ignore[arg-type]
    names = [text for text in axes.texts if text.get_fontweight() == "bold"]
    boxes = [text.get_window_extent() for text in names]
    assert len(boxes) == 3 and not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    for box, circle in product(boxes, [patch for patch in axes.patches if isinstance(patch, Circle)]):
        ends = axes.transData.inverted().transform(box.corners())
        assert min(math.dist(end, circle.center) for end in ends) > circle.radius
    words = axes.texts[-1].get_text()
    assert "at least" in words and ("off by up to" in words) == (result.circles()[2] > 0.01)
