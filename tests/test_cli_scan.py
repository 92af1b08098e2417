"""`heterophily audit` and `heterophily diagnose` as a user meets them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest

from heterophily import audit, diagnose
from heterophily.graph import Graph, synthetic
from heterophily.graph.audit import Audit, Finding
from heterophily.show.audit import audit_page, verdict
from heterophily.show.diagnosis import diagnosis_figure
from tests.command import GRAPH, Ask

pytestmark = pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")


class Page(HTMLParser):
    """The tags of a page and the text between them; refuses a page whose tags do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_audit_says_what_it_found_the_worst_first(ask: Ask, data_folder: Path) -> None:
    answer = ask("audit", "cornell", "--data", data_folder)
    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert said.index("features and labels are those of texas") < said.index("class 1 has a single node")
    assert "Found: 1 serious" in said and "All labels were read" in said
    assert all(len(line.rstrip()) <= 80 for line in answer.out.splitlines())


def test_strict_exits_with_3_if_something_serious_is_found(ask: Ask, data_folder: Path) -> None:
    assert ask("audit", "cornell", "--strict", "--data", data_folder).code == 3
    assert ask("audit", "cora", "--strict", "--data", data_folder).code == 0
    assert ask("audit", "synthetic", "--strict").code == 0


def test_audit_as_json_is_one_object(ask: Ask, data_folder: Path) -> None:
    answer = ask("audit", "cornell", "--strict", "--json", "--data", data_folder)
    assert answer.code == 3
    found = json.loads(answer.out)
    assert found["name"] == "cornell" and found["serious"] and found["findings"][0]["code"] == "mixed-content"
    assert set(found["findings"][0]) == {"code", "severity", "share", "title", "why", "advice", "facts"}


def test_the_page_is_whole_and_stands_alone(ask: Ask, tmp_path: Path) -> None:
    answer = ask("audit", "synthetic", *GRAPH, "--html", tmp_path / "pages" / "audit.html")
    assert answer.code == 0 and "wrote" in answer.err
    text = (tmp_path / "pages" / "audit.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "Audit of synthetic" in page.text and "one node is" in page.text
    assert not re.search(r"https?:|src=|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text


def test_names_on_the_page_are_escaped() -> None:
    finding = Finding("x", "note", 0.1, "<script>alert(1)</script>", "a & b.", "<b>.", {"k": "</pre><i>"})
    page = audit_page(Audit("<img src=x>", audit(synthetic(60, 3)).facts, (finding,)))
    assert "<script>" not in page and "<img" not in page and "<i>" not in page
    assert "<script>alert(1)</script>" in Page(page).text


def test_a_clean_graph_is_called_clean() -> None:
    graph = synthetic(600, 3, homophily=0.8, average_degree=12, splits=1, train=0.4, validation=0.2)
    found = audit(graph)
    assert verdict(found) == "Nothing was found that could distort a result."
    assert verdict(found) in Page(audit_page(found)).text


def test_a_page_that_cannot_be_written_is_refused_before_the_work(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = ask("audit", "synthetic", "--html", tmp_path / "file" / "audit.html")
    assert answer.code == 2 and answer.out == "" and "cannot write" in answer.err


@pytest.mark.parametrize("command", ["audit", "diagnose"])
def test_an_unknown_dataset_is_a_mistake(ask: Ask, command: str) -> None:
    answer = ask(command, "corra")
    assert answer.code == 2 and "did you mean 'cora'?" in answer.err


def test_diagnose_says_that_it_reads_training_labels_only_and_what_to_do(ask: Ask) -> None:
    answer = ask("diagnose", "synthetic", "--graph", "homophily=0.1")
    assert answer.code == 0 and answer.err in ("", "diagnosing synthetic\n")  # the latter if it takes a while
    said = " ".join(answer.out.split())
    assert "training nodes only" in said and "No other label was read." in said
    assert (
        "Advice: start with HDP." in said and "The rule: advised is the model whose probe scores best" in said
    )
    assert "heterophily train synthetic --graph homophily=0.1 --model hdp --set hidden_dim=64" in said
    for word in ("adjusted homophily", "label informativeness", "separates the classes"):
        assert word in said
    assert all(len(line.rstrip()) <= 80 for line in answer.out.splitlines())


def test_diagnose_draws_and_prints_json(ask: Ask, tmp_path: Path) -> None:
    picture = tmp_path / "plots" / "classes.png"
    answer = ask("diagnose", "synthetic", *GRAPH, "--split", "2", "--plot", picture, "--json")
    assert answer.code == 0
    found = json.loads(answer.out)
    assert found["labels"] == "training nodes only" and found["split"] == "2"
    assert found["advice"] in found["probes"] and len(found["homophily"]["compatibility"]) == 3
    assert matplotlib.image.imread(picture).shape[2] == 4


def test_a_split_that_is_not_there_is_a_mistake(ask: Ask) -> None:
    answer = ask("diagnose", "synthetic", *GRAPH, "--split", "7")
    assert answer.code == 2 and "has no split 7" in answer.err


def test_many_classes_and_classes_without_edges_can_be_drawn(ask: Ask) -> None:
    wide = ask("diagnose", "synthetic", "--graph", "num_classes=14")
    assert wide.code == 0 and "14 classes are too many for here" in wide.out
    graph = synthetic(60, 3, splits=1)
    y = graph.y.masked_fill(graph.y == 2, 1)
    figure = diagnosis_figure(diagnose(Graph(graph.x, y, graph.edge_index, graph.splits, 3), resamples=0))
    (axes, _) = figure.axes
    assert len(axes.texts) == 6  # the third class has no row


def own_files(folder: Path) -> list[str]:
    """Files of a heterophilous graph, some of its labels missing, and the options that name them."""
    graph = synthetic(120, num_classes=3, num_features=4, average_degree=6, homophily=0.1, splits=0)
    pd.DataFrame(graph.edge_index.T.numpy(), columns=["from", "to"]).to_csv(folder / "e.csv", index=False)
    table = pd.DataFrame(graph.x.numpy()).add_prefix("x")
    table.insert(0, "account", range(120))
    table["kind"] = [f"k{label}" if i % 5 else None for i, label in enumerate(graph.y.tolist())]
    table.to_csv(folder / "n.csv", index=False)
    return ["--edges", str(folder / "e.csv"), "--nodes", str(folder / "n.csv"), "--label", "kind"]


def test_files_of_ones_own_are_audited_and_diagnosed(ask: Ask, tmp_path: Path) -> None:
    files = own_files(tmp_path)
    found = json.loads(ask("audit", *files, "--json").out)
    assert (found["facts"]["nodes"], found["facts"]["unlabelled"]) == (120, 24)
    answer = ask("diagnose", *files)
    assert answer.code == 0 and "the labels of its 96 training nodes only" in " ".join(answer.out.split())
    assert f"heterophily fit {' '.join(files)} --model" in " ".join(answer.out.split())
    assert "labels from `kind`: 3 classes" in answer.err


@pytest.mark.parametrize("command", ["audit", "diagnose"])
@pytest.mark.parametrize("words", [[], ["texas", "--edges", "e.csv"]])
def test_a_graph_is_named_or_its_files_are_and_not_both(ask: Ask, command: str, words: list[str]) -> None:
    answer = ask(command, *words)
    assert (
        answer.code == 2 and "name a dataset, such as texas, or files of your own: --edges FILE" in answer.err
    )


def test_a_mistake_in_files_speaks_of_options(ask: Ask, tmp_path: Path) -> None:
    answer = ask("audit", *own_files(tmp_path)[:-1], "knd")
    assert answer.code == 2 and "kind" in answer.err and "Traceback" not in answer.err
