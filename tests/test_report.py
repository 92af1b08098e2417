"""The report, as a file and in a real browser: what it shows, what it lets one do, what it never does."""

from __future__ import annotations

import io
import json
import math
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from heterophily.bench import reproduce as bench
from heterophily.bench.cells import read_cell, write_cell
from heterophily.show.report import report
from heterophily.show.report.figures import study_charts
from heterophily.show.report.page import thinned
from heterophily.show.style import PALETTE
from heterophily.studies import STUDIES
from tests.command import Ask
from tests.studies.made import made
from tests.tiny import tiny_graph

EVIL = "<script>window.hacked = 1</script>"
EVIL_NAME = '"><img src=x onerror=window.hacked=1>'
RECIPE = "[{}]\n# mean validation accuracy 50.00\nepoch = 5\nhidden_dim = 8\n"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells, every study and a trace of tuning, by the real code on a tiny graph; some names are evil."""
    folder = tmp_path_factory.mktemp("results")
    recipes = tmp_path_factory.mktemp("recipes")
    for model, more in {"mlp": "", "gcn": "", "hdp": "epoch_init = 5\n"}.items():
        (recipes / f"{model}.toml").write_text(
            "\n".join(RECIPE.format(name) + more for name in ("texas", "cornell"))
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heterophily.recipes.HERE", recipes)
        for names, models in ((["texas", "cornell"], ["mlp", "hdp"]), (["texas"], ["gcn"])):
            bench.reproduce(names, models, folder, read=lambda name: tiny_graph())
    evil = read_cell(folder / "table1" / "texas" / "mlp.json")
    evil["chosen"]["note"], evil["device"] = EVIL, EVIL_NAME
    evil["versions"] |= {EVIL: "</script>"}
    write_cell(folder, "table1", evil)
    (folder / "studies").mkdir()
    for name in STUDIES:
        (folder / "studies" / f"{name}.json").write_text(made(name).to_text())
    confusion = replace(made("confusion"), dataset=EVIL_NAME, classes=[EVIL, "a&b", 'c"d'])
    (folder / "studies" / "evil.json").write_text(confusion.to_text())
    edges = replace(made("edges"), dataset=EVIL_NAME, classes=[EVIL, "</script>", "'c"])
    (folder / "studies" / "evil-edges.json").write_text(edges.to_text())
    (folder / "tuning").mkdir()
    tuned = {
        "model": EVIL,
        "dataset": "texas",
        "validation": 0.5,
        "config": {"a": EVIL, "b": 0.5},
        "trials": 3,
    }
    (folder / "tuning" / "x.json").write_text(
        json.dumps([tuned, tuned | {"model": "gcn", "validation": 0.75}])
    )
    return folder


@pytest.fixture(scope="module")
def html(results: Path) -> str:
    return report(results)


# The page as a file.


class Outline(HTMLParser):
    """What elements there are, with their attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_needs_nothing_but_itself(html: str) -> None:
    outline = Outline(html)
    for tag, attributes in outline.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), f"<{tag} {name}={value}>"
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style and "@import" not in style
    assert len(html.encode()) < 5 * 2**20


def test_a_label_named_script_stays_a_label(html: str) -> None:
    scripts = Outline(html).all("script")
    assert [script.get("type") for script in scripts] == ["application/json", None]
    assert "img" not in {tag for tag, _ in Outline(html).elements}
    assert EVIL not in html and "&lt;script&gt;" in html


def test_everything_that_is_shown_has_a_name_for_those_who_do_not_see_it(html: str) -> None:
    outline = Outline(html)
    assert all(
        svg.get("aria-label") or svg.get("aria-hidden") == "true"
        for svg in outline.all("svg")
    )  # fmt: skip
    assert all(head.get("scope") in ("row", "col") for head in outline.all("th"))
    assert outline.all("html") == [{"lang": "en"}] and html.count("<h1>") == 1


def test_the_same_results_give_the_same_page(results: Path, html: str) -> None:
    assert report(results) == html


def test_an_empty_folder_gives_a_page_that_says_what_fills_it(tmp_path: Path) -> None:
    said = report(tmp_path)
    assert "heterophily reproduce table1" in said
    for name, study in STUDIES.items():
        datasets = " ".join(each for each in study.datasets if each != "synthetic")
        assert f"<code>heterophily study {name} {datasets}".rstrip() in said


def test_a_file_that_is_not_sound_is_named_and_the_others_are_shown(results: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results, tmp_path / "results"))
    (folder / "table1" / "texas" / "gcn.json").write_text("{}")
    (folder / "studies" / "local.json").write_text("[")
    broken = made("ablation").to_json() | {"test": None}
    (folder / "studies" / "ablation.json").write_text(json.dumps(broken))
    (folder / "tuning" / "x.json").write_text('[{"model": "gcn"}]')
    said = report(folder)
    assert "Files that were left out" in said and "gcn.json is no sound cell" in said
    for name in ("local.json", "ablation.json", "x.json"):
        assert name in said
    assert 'id="study-rescale"' in said and 'id="study-ablation"' not in said


def test_edges_that_take_too_much_room_are_thinned_to_a_sample() -> None:
    result = made("edges")
    whole = thinned(result, 10**9)
    few = thinned(result, 4000)
    assert whole["centers"] == result.centers and len(json.dumps(few)) < 6000
    assert 0 < len(few["centers"]) < len(whole["centers"]) and few["total"] == result.total
    for center, others in zip(few["centers"], few["neighbors"]):
        place = [result.ids[k] for k in result.centers].index(few["ids"][center])
        assert [few["ids"][k] for k in others] == [result.ids[k] for k in result.neighbors[place]]


def test_points_that_take_too_much_room_are_a_sample_that_says_so() -> None:
    result = made("tsne")
    for chart in study_charts(result, points=20)[:3]:
        drawn = [row for row in chart.rows if row["kind"] == "node"]
        assert len(drawn) == 20 and chart.note.endswith("20 of 48 nodes are drawn.")
    for chart in study_charts(result)[:3]:
        assert [row.get("node") for row in chart.rows[:48]] == list(range(48))


def test_the_command_writes_the_page_and_says_where(ask: Ask, results: Path) -> None:
    answer = ask("report", "--from", results, "--out", "made/page.html")
    assert answer.code == 0 and answer.out == "made/page.html\n" and "MiB" in answer.err
    assert Path("made/page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    "args, words",
    [
        (["--from", "nowhere"], "there is no folder nowhere to report on"),
        (["--from", ".", "--out", "page.pdf"], "should end in .html"),
    ],
)
def test_a_mistake_is_answered_in_a_line(ask: Ask, args: list[str], words: str) -> None:
    answer = ask("report", *args)
    assert answer.code == 2 and words in answer.err and "Traceback" not in answer.err


# The page in a browser.

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


class Browser:
    """A page in Chromium, and what a reader does with it."""

    def __init__(self, driver: Any, page: Path):
        self.driver, self.page = driver, page

    def open(self, width: int = 1200, scheme: str = "light") -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get(self.page.as_uri())

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.all(selector)[0]

    def run(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def choose(self, selector: str, text: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.one(selector)).select_by_visible_text(text)

    def texts(self, selector: str) -> list[str]:
        """The texts of all such elements that are shown."""
        found = "[...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent)"
        return list(self.run(f"return {found}.map(e => e.textContent.trim())", selector))

    def saved(self, button: Any) -> str:
        """What a button would save to a file."""
        self.run("URL.createObjectURL = (blob) => { window.blob = blob; return '#'; }")
        self.run("arguments[0].click()", button)
        script = "const done = arguments[0]; window.blob.text().then(done)"
        return str(self.driver.execute_async_script(script))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        pytest.skip(
            "there is no Chromium with chromedriver here (Debian: apt install chromium chromium-driver)"
        )
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    with tempfile.TemporaryDirectory() as own:
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            f"--user-data-dir={own}",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        yield driver
        driver.quit()


@pytest.fixture(scope="module")
def page(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html, encoding="utf-8")
    return file


@pytest.fixture
def browser(chromium: Any, page: Path) -> Browser:
    browser = Browser(chromium, page)
    for kind in ("browser", "performance"):
        chromium.get_log(kind)  # what earlier tests have left
    browser.open()
    return browser


def test_it_opens_with_no_complaint_and_asks_for_nothing(browser: Browser) -> None:
    browser.press("\ue004")
    assert browser.driver.get_log("browser") == []
    messages = [json.loads(row["message"])["message"] for row in browser.driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    asked = [each["request"]["url"] for each in sent if each["documentURL"] == browser.page.as_uri()]
    assert asked[0] == browser.page.as_uri()
    assert all(url.startswith("data:") for url in asked[1:])
    assert not browser.run("return window.hacked")


def test_a_column_is_sorted_by_its_numbers_and_blanks_stay_last(browser: Browser) -> None:
    button = browser.all("#table1 thead button")[-1]  # Texas
    script = "return [...document.querySelectorAll('#table1 tbody tr')].map(r => r.cells[2].textContent)"

    def scores() -> list[float]:
        return [float(text.split(" ")[0]) for text in browser.run(script) if text]

    before = scores()
    button.click()
    head = browser.all("#table1 thead th")[-1]
    assert head.get_attribute("aria-sort") == "descending" and scores() == sorted(before, reverse=True)
    button.click()
    assert head.get_attribute("aria-sort") == "ascending" and scores() == sorted(before)
    cornell = browser.all("#table1 thead button")[1]
    for _ in range(2):
        cornell.click()
        cells = browser.run(script.replace("cells[2]", "cells[1]"))
        assert cells[-1] == "–61.08" and "–61.08" not in cells[:-1]  # GCN has no cell there, the paper has
    assert head.get_attribute("aria-sort") is None


def test_the_picker_of_datasets_hides_the_others(browser: Browser) -> None:
    every = browser.texts("#table1 thead th")
    browser.choose("#pick-dataset", "Texas")
    assert browser.texts("#table1 thead th") == [every[0], "Texas"]
    assert "Texas" in browser.texts("figcaption") and every[1] not in browser.texts("figcaption")
    assert browser.texts("#study-ablation h2") == []  # which is about another dataset
    assert browser.one("#cell-card h3").text == "HDP on Texas"
    browser.one("#pickers button[type=reset]").click()
    browser.run("return new Promise(done => setTimeout(done, 20))")
    assert browser.texts("#table1 thead th") == every and browser.texts("#study-ablation h2")


def test_of_a_chosen_dataset_no_way_leads_nowhere(browser: Browser) -> None:
    ways = browser.texts("nav a")
    browser.choose("#pick-dataset", "Texas")  # of which there are cells, and no study
    left = browser.texts("nav a")
    shown = "[...document.querySelectorAll('nav a')].filter(a => a.offsetParent)"
    assert browser.run(f"return {shown}.every(a => document.querySelector(a.hash).offsetParent)")
    assert "Table 1" in left and "Ablation" in ways and "Ablation" not in left
    assert browser.one("#e-none").is_displayed() and not browser.one("#e-browser").is_displayed()
    told = "[...document.querySelectorAll('#table1 figure')].at(-1).querySelectorAll('.value:not([hidden])')"
    assert set(browser.run(f"return [...{told}].map(mark => mark.dataset.dataset)")) == {"Texas"}
    browser.choose("#pick-dataset", "all")
    assert browser.texts("nav a") == ways and browser.one("#e-browser").is_displayed()


def test_the_picker_of_models_makes_one_stand_out(browser: Browser) -> None:
    browser.choose("#pick-model", "GCN")
    assert browser.texts("#table1 tr.picked th") == ["GCN"]
    faded = browser.run("return [...document.querySelectorAll('.faded')].map(e => e.dataset.model)")
    assert faded and "GCN" not in faded and {"HDP", "MLP"} <= set(faded)
    assert browser.one("#cell-card h3").text == "GCN on Texas"


def test_a_click_on_a_number_shows_its_splits(browser: Browser, results: Path) -> None:
    row = next(row for row in browser.all("#table1 tbody tr") if row.text.startswith("MLP"))
    browser.run("arguments[0].cells[2].click()", row)
    assert browser.one("#cell-card h3").text == "MLP on Texas"
    assert 0 <= browser.run("return document.getElementById('cell').getBoundingClientRect().top") < 200
    assert browser.one("#picked a").get_attribute("hash") == "#cell"
    cell = json.loads((results / "table1" / "texas" / "mlp.json").read_text())
    saved = pd.read_csv(io.StringIO(browser.saved(browser.one("#cell-card button.save"))))
    assert saved["test"].tolist() == pytest.approx([split["test"] for split in cell["splits"]])
    assert saved["validation"].tolist() == pytest.approx([split["validation"] for split in cell["splits"]])


def test_the_scores_of_a_cell_have_round_ticks(browser: Browser) -> None:
    ticks = [
        float(tick.get_attribute("textContent"))
        for tick in browser.all("#cell-card .axes text[text-anchor=end]")
    ]
    steps = {round(b - a, 6) for a, b in pairwise(ticks)}
    assert len(ticks) >= 2 and len(steps) == 1
    assert float(f"{steps.pop():e}"[:3]) in (1, 2, 2.5, 5)
    assert browser.run("return [[33.1, 38.9], [0.19, 0.31], [45, 155]].map(ends => ticks(...ends))") == [
        [34, 36, 38],
        [0.2, 0.225, 0.25, 0.275, 0.3],
        [50, 75, 100, 125, 150],
    ]


def test_a_mark_says_its_value_under_the_pointer_and_by_keys(browser: Browser) -> None:
    from selenium.webdriver import ActionChains

    figure = browser.one("#study-ablation figure")
    mark = figure.find_elements("css selector", ".value")[0]
    browser.run("arguments[0].scrollIntoView({block: 'center'})", figure)
    ActionChains(browser.driver).move_to_element(mark).pause(0.1).perform()
    tip = browser.one("#tip")
    told = browser.run("return arguments[0].dataset.tip", mark)
    assert tip.is_displayed() and tip.text == told and "±" in told
    browser.run(
        "arguments[0].focus({preventScroll: true})", figure.find_element("css selector", ":scope > svg")
    )
    seen = []
    for _ in range(3):
        browser.press("\ue014")  # the right arrow
        seen.append(tip.text)
    assert len(set(seen)) == 3
    browser.press("\ue00c")  # Escape
    assert not tip.is_displayed()
    browser.press("\ue014")
    assert tip.is_displayed()
    browser.run("scrollBy(0, 100); return new Promise(done => setTimeout(done, 100))")
    assert not tip.is_displayed()  # the mark has moved on


def test_the_data_of_a_figure_is_saved_as_csv(browser: Browser) -> None:
    result = made("homophily")
    saved = pd.read_csv(io.StringIO(browser.saved(browser.one("#study-homophily button.save"))))
    for model in result.models:
        rows = saved[saved["model"] == model]
        assert rows["homophily"].tolist() == result.homophily
        assert rows["mean"].tolist() == pytest.approx(result.line(model)[0])
    assert (
        len(browser.all("main figure button.save")) == len(browser.all("main figure")) - 1
    )  # the graph's is apart
    files = browser.run("return [...document.querySelectorAll('[data-file]')].map(e => e.dataset.file)")
    assert len(set(files)) == len(files) and "tsne-synthetic-h-hm.csv" in files


def test_the_edge_browser_shows_what_hdp_said(browser: Browser) -> None:
    result = made("edges")
    title = "synthetic"
    browser.choose("#e-dataset", title)
    place = next(k for k, others in enumerate(result.neighbors) if len(others) > 2)
    node = result.ids[result.centers[place]]
    field = browser.one("#e-node")
    field.send_keys("\ue009a")  # Control-A
    field.send_keys(str(node), "\ue007")
    assert (
        f"Node {node}," in browser.one("#e-said").text
        and f"{len(result.ids)} nodes" in browser.one("#e-said").text
    )
    rows = [row.find_elements("css selector", "th, td") for row in browser.all("#e-table tbody tr")]
    shown = [
        (int(row[0].text), float(row[1].get_attribute("data-value")), row[2].text.split()[0]) for row in rows
    ]
    assert all(row[1].text in (f"{p:.4f}", "<0.0001") for row, (_, p, _) in zip(rows, shown))
    verdicts = ["homophilous" if mark else "heterophilous" for mark in result.homophilous[place]]
    others = [result.ids[k] for k in result.neighbors[place]]
    assert shown == list(zip(others, result.probability[place], verdicts))
    assert len(browser.all("#e-graph .node")) == len(others) + 1
    dashed = browser.all("#e-graph .edge.other")
    assert len(dashed) == verdicts.count("heterophilous")
    rows[0][0].find_element("css selector", "button").click()
    assert f"Node {others[0]}," in browser.one("#e-said").text
    browser.one("#e-on").click()
    assert f"Node {others[0]}," not in browser.one("#e-said").text
    browser.one("#e-back").click()
    assert f"Node {others[0]}," in browser.one("#e-said").text


def test_a_neighbor_stands_on_the_side_of_its_verdict_as_near_as_it_is_probable(browser: Browser) -> None:
    browser.choose("#e-dataset", "synthetic")
    seen = browser.run("""return data.edges[0].centers.map(() => {
      document.getElementById("e-on").click();
      return [...document.querySelectorAll("#e-graph .node")].slice(0, -1).map(e => [e.dataset.tip,
        Number(e.querySelector("circle").getAttribute("r")),
        ...e.getAttribute("transform").match(/[\\d.]+/g).map(Number)]);
    })""")
    crowds, alone = 0, 0
    for nodes in seen:
        sides = {tip: tip.split("called ")[1].split(",")[0] for tip, *_ in nodes}
        crowds += len(nodes) > 7
        alone += len(set(sides.values())) == 1
        for tip, _, x, y in nodes:
            assert (x < 200) == (sides[tip] == "homophilous")
            p = 0.0 if "<0.0001" in tip else float(tip.split("P = ")[1].split(";")[0])
            assert math.hypot(x - 200, y - 205) == pytest.approx(180 - 100 * p, abs=0.02)
        for (_, r, *one), (_, s, *two) in combinations(nodes, 2):
            assert math.dist(one, two) > 0.9 * (r + s)  # hardly any overlap
    assert crowds and alone


def test_enter_goes_to_the_neighbor_that_the_arrow_keys_have_reached(browser: Browser) -> None:
    browser.choose("#e-dataset", "synthetic")
    before = browser.one("#e-node").get_attribute("value")
    browser.run("document.getElementById('e-graph').focus({preventScroll: true})")
    browser.press("\ue014")  # the right arrow
    told = browser.one("#tip").text
    browser.press("\ue007")  # Enter
    after = browser.one("#e-node").get_attribute("value")
    assert told.startswith(f"node {after},") and after != before and not browser.one("#tip").is_displayed()


def test_a_node_that_is_not_there_leaves_the_one_that_is_shown(browser: Browser) -> None:
    browser.choose("#e-dataset", "synthetic")
    field = browser.one("#e-node")
    browser.one("#e-on").click()
    here = field.get_attribute("value")
    assert here != "0"
    for keys in ("\ue003", "9999"):  # Backspace, and another number
        field.send_keys("\ue009a")  # Control-A
        field.send_keys(keys, "\ue007")
        assert field.get_attribute("value") == here
    assert f"Node 9999 is not in this choice. Still shown: Node {here}," in browser.one("#e-said").text


def test_the_edge_browser_finds_nodes_classified_wrongly(browser: Browser) -> None:
    result = made("edges")
    wrong = [
        k for k in result.centers if result.predicted[k].index(max(result.predicted[k])) != result.labels[k]
    ]
    browser.choose("#e-dataset", "synthetic")
    browser.choose("#e-among", "nodes classified wrongly")
    assert wrong and f"of {len(wrong)} in this choice" in browser.one("#e-said").text
    assert "wrongly predicted" in browser.one("#e-facts").text


def test_evil_names_are_shown_as_they_are(browser: Browser) -> None:
    assert EVIL in browser.texts("#tuning tbody th") and f"a = {EVIL}, b = 0.5" in browser.texts("#tuning td")
    browser.choose("#pick-dataset", EVIL_NAME)  # which the edge browser follows
    assert EVIL in browser.one("#e-facts").text and EVIL_NAME in browser.one("#e-said").text
    assert EVIL_NAME in browser.texts("#study-confusion h3") and not browser.run("return window.hacked")
    assert browser.all("main img") == [] and browser.driver.get_log("browser") == []


def test_an_evil_cell_is_shown_as_it_is(browser: Browser) -> None:
    """What a cell of another says of itself: how it was chosen, on what device, with what versions."""
    row = next(row for row in browser.all("#table1 tbody tr") if row.text.startswith("MLP"))
    browser.run("arguments[0].cells[2].click()", row)
    said = browser.one("#cell-card").text
    assert EVIL in said and EVIL_NAME in said and "</script>" in said
    assert not browser.run("return window.hacked") and browser.all("#cell-card img, #cell-card script") == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Browser) -> None:
    browser.press("\ue004")
    skip = browser.run(
        "return document.activeElement.className + document.activeElement.getAttribute('href')"
    )
    assert (
        skip == "skip#main" and browser.run("return document.activeElement.getBoundingClientRect().left") >= 0
    )
    browser.press("\ue007")
    assert browser.run("return document.activeElement.id") == "main"
    for _ in range(3):  # past the table itself, which can be scrolled, to the head of its second column
        browser.press("\ue004")
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("\ue007")
    assert browser.all("#table1 thead th")[1].get_attribute("aria-sort") == "descending"
    unnamed = browser.run(
        "return [...document.querySelectorAll('button, select, input')].filter(e => !e.textContent.trim()"
        " && !e.ariaLabel && !e.labels?.length).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_is_as_wide_as_the_screen(browser: Browser, width: int) -> None:
    browser.open(width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return Math.min(...[...document.querySelectorAll('figure > svg text')].filter(e => "
                       "e.checkVisibility()).map(e => e.getBoundingClientRect().height))") > 8  # fmt: skip


def test_a_finger_finds_every_link(browser: Browser) -> None:
    browser.open(360)
    script = "return [...document.querySelectorAll('nav a, summary')].filter(e => e.offsetParent)"
    assert browser.run(f"{script}.every(e => e.getBoundingClientRect().height >= 24)")


@pytest.mark.parametrize("media, width", [("screen", 1200), ("screen", 1000), ("print", 1032)])
def test_tables_are_not_cut_by_the_figures_beside_them(browser: Browser, media: str, width: int) -> None:
    browser.open(width)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    script = (
        "return [...document.querySelectorAll('.beside .wide')].filter(e => e.scrollWidth > e.clientWidth)"
    )
    assert browser.run(f"{script}.map(e => e.ariaLabel)") == []
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})


def test_a_dark_page_changes_dark_colors_only(browser: Browser) -> None:
    def shown(color: str) -> list[float]:
        """Oklab's lightness, chroma and hue of a mark."""
        return list(browser.run("""
          const mark = document.body.appendChild(document.createElement("i"));
          mark.style = `--k:${arguments[0]};color:oklch(from var(--ink) l c h)`;
          return getComputedStyle(mark).color.match(/[\\d.]+/g).map(Number);
        """, color))  # fmt: skip

    by_day = {color: shown(color) for color in PALETTE}
    browser.open(scheme="dark")
    by_night = {color: shown(color) for color in PALETTE}
    changed = [color for color in PALETTE if by_night[color] != pytest.approx(by_day[color], abs=1e-3)]
    assert changed == ["#0072b2", "#555555"] and all(by_night[color][0] >= 0.549 for color in PALETTE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_page_by_day_and_by_night(browser: Browser, scheme: str) -> None:
    browser.open(scheme=scheme)
    script = """
      const color = (e, which) => getComputedStyle(e)[which].match(/[\\d.]+/g).map(c => c / 255);
      const page = color(document.body, "backgroundColor");
      return [page, ...["h1", ".lead", "a", "main td", "main small", "summary"].map(
        s => color(document.querySelector(s), "color"))];
    """
    page, *inks = map(luminance, browser.run(script))
    contrasts = [(max(ink, page) + 0.05) / (min(ink, page) + 0.05) for ink in inks]
    assert (page < 0.1) == (scheme == "dark") and min(contrasts) >= 4.5


def luminance(color: list[float]) -> float:
    """Relative luminance, as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_printed_it_has_no_pickers_and_is_light(browser: Browser) -> None:
    browser.open(scheme="dark")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.one("#pickers").is_displayed() and browser.one("#table1 table").is_displayed()
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not browser.one("#table1 .legend p").is_displayed()
    browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert browser.one("#table1 .legend p").is_displayed()
    style = "getComputedStyle(document.querySelector(arguments[0]))"
    sizes = [browser.run(f"return {style}.fontSize", cell) for cell in ("#tuning td", "#tuning td.long")]
    assert sizes[0] == sizes[1]
    assert browser.run(f"return {style}.whiteSpace", "#table1 td") == "nowrap"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})
