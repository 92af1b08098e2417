"""Makes the pages of the site that are not in docs/: from README, PAPER.md, examples, JSON and docstrings.

mkdocs calls the functions named on_...; the others make one page each.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import posixpath
import re
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

HOMES = {"PAPER.md": "paper.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the root that are pages of the site."""
GALLERY = (
    "first_model", "is_my_graph_heterophilous", "hdp_in_your_loop", "csv_to_predictions", "five_models",
    "read_the_partition", "new_nodes", "two_hundred_runs",
)  # fmt: skip
API = {
    "estimators": (
        "Estimators",
        "heterophily.estimator.HDPClassifier", "heterophily.estimator.make_classifier",
        "heterophily.estimator.load_model", "heterophily.estimator.GraphClassifier",
        "heterophily.explain.Explanation", "heterophily.models.MODELS", "heterophily.models.Model",
        "heterophily.plugins.register", "heterophily.config.ConfigError", "heterophily.folder.FolderError",
        "heterophily.hdp.config.HDPConfig",
    ),
    "graphs": (
        "Graphs and files",
        "heterophily.graph.graph.Graph", "heterophily.graph.splits.Split",
        "heterophily.graph.splits.random_splits", "heterophily.graph.datasets.load",
        "heterophily.graph.datasets.Facts", "heterophily.graph.synthetic.synthetic",
        "heterophily.reading.read.read", "heterophily.reading.read.Reading",
        "heterophily.reading.later.read_later", "heterophily.graph.homophily.homophily",
        "heterophily.graph.homophily.Homophily", "heterophily.graph.audit.audit",
        "heterophily.graph.checks.GraphError", "heterophily.graph.graph.MissingClassWarning",
    ),
    "bench": (
        "Evaluation and tuning",
        "heterophily.bench.protocol.evaluate", "heterophily.bench.protocol.Evaluation",
        "heterophily.bench.tuning.tune", "heterophily.bench.tuning.Tuning",
        "heterophily.bench.compare.compare", "heterophily.bench.scores.read_scores",
        "heterophily.bench.compare.Comparison", "heterophily.bench.compare.Pair",
        "heterophily.bench.diagnosis.diagnose", "heterophily.bench.diagnosis.Diagnosis",
        "heterophily.bench.reproduce.reproduce", "heterophily.recipes.recipe",
    ),
    "studies": (
        "Studies and plots", "heterophily.studies.plan.Plan", "heterophily.studies", "heterophily.plot",
    ),
    "hdp": (
        "HDP's modules",
        "heterophily.hdp.encoding", "heterophily.hdp.initial", "heterophily.hdp.partition",
        "heterophily.hdp.propagation", "heterophily.hdp.prototypes", "heterophily.hdp.model",
        "heterophily.hdp.algorithm",
    ),
    "engine": (
        "The engine",
        "heterophily.stage", "heterophily.supervised", "heterophily.training.runs",
        "heterophily.training.engine", "heterophily.training.trackers", "heterophily.sparse",
        "heterophily.adjacency",
    ),
}  # fmt: skip


LEADS = {
    "estimators": "The parameters of `HDPClassifier` are the fields of `HDPConfig` below; every one has "
    "`random_state`, `device` and `validation_fraction` besides. `make_classifier` gives that of any model, "
    "whose settings are what `heterophily models NAME` lists.",
}

# What mkdocs calls


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here, and one for every source file that a page links to."""
    made = {
        "index.md": moved(ROOT / "README.md"),
        "paper.md": moved(ROOT / "PAPER.md"),
        "changelog.md": moved(ROOT / "CHANGELOG.md"),
        "contributing.md": moved(ROOT / "CONTRIBUTING.md"),
        "gallery.md": gallery(),
        "results.md": results(),
        "speed.md": speed(),
        "command.md": command(),
    }
    for name, (title, *names) in API.items():
        lead = LEADS.get(name, "")
        made[f"api/{name}.md"] = f"# {title}\n\n{lead}\n\n" + "\n".join(f"::: {each}\n" for each in names)
    texts = {**made}
    for file in files.documentation_pages():
        texts[file.src_uri] = file.content_string
    for source in sorted({path for uri, text in texts.items() for path in sources(uri, text)}):
        made[f"source/{source}.md"] = source_page(source)
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    page = report()
    files.append(File.generated(config, "report-page.html", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to source files to their pages, and set code beside its equation."""
    uri = page.file.src_uri
    page.meta["hide"] = {"method.md": ["toc"], "index.md": ["navigation"]}.get(uri, [])  # room for code
    markdown = re.sub(r"<!-- code: ([\w.]+) -->", lambda found: code(found[1]), markdown)

    def lead(found: re.Match[str]) -> str:
        target = HOMES.get(found[1].removeprefix("../"))
        if target is None and (path := within(uri, found[1])):
            target = f"source/{path}.md"
        if target is None or files.get_file_from_path(target) is None:
            return found[0]
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')})"

    return re.sub(r"\]\(([^)\s]+)\)", lead, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn TeX into MathML, which browsers draw by themselves."""

    def drawn(found: re.Match[str]) -> str:
        tex = found[2].strip().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        block = tex.startswith("\\[")
        return convert(tex[2:-2].strip(), display="block" if block else "inline")

    return re.sub(r'<(div|span) class="arithmatex">(.*?)</\1>', drawn, html, flags=re.DOTALL)


# Links


def within(uri: str, target: str) -> str | None:
    """Return the path of a source file or folder that a page links to, from the root; else None."""
    if re.match(r"\w+:|#", target):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(uri), target.partition("#")[0]))
    shown = ("heterophily", "examples", "benchmarks", "tests", "CITATION.cff")
    if path.startswith(shown) and (ROOT / path).exists():
        return path
    return None


def sources(uri: str, text: str) -> list[str]:
    """Return the source files that a page links to; of a folder, the files in it as well."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if path := within(uri, target):
            found.append(path)
            if (ROOT / path).is_dir():
                found += [file.relative_to(ROOT).as_posix() for file in (ROOT / path).glob("[!_]*.py")]
    return found


def source_page(path: str) -> str:
    """Show a source file, or what is in a folder."""
    place = ROOT / path
    if place.is_dir():
        lines = []
        for file in sorted(place.glob("[!_]*.py")):
            first = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")[0]
            lines.append(f"- [`{file.name}`]({place.name}/{file.name}.md): {first}")
        return f"# {path}\n\n" + "\n".join(lines) + "\n"
    kind = {".py": "python", ".json": "json", ".toml": "toml"}.get(place.suffix, "text")
    return f"# {path}\n\n````{kind}\n{place.read_text(encoding='utf-8')}````\n"


def moved(file: Path) -> str:
    """Return a page of the root as one of docs/."""

    def lead(found: re.Match[str]) -> str:
        target = found[2]
        if re.match(r"\w+:|#", target):
            return found[0]
        target = HOMES.get(target, target)
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif (ROOT / target).exists():
            target = f"../{target}"
        return f"{found[1]}{target}{found[3]}"

    text = file.read_text(encoding="utf-8")
    text = re.sub(r'(src=")([^"]+)(")', lead, text)
    return re.sub(r"(\]\()([^)\s]+)(\))", lead, text)


def code(name: str) -> str:
    """Return the source of a function or class below heterophily.hdp, as a block."""
    module, _, rest = name.partition(".")
    file = ROOT / "heterophily" / "hdp" / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    body: Any = ast.parse(text)
    for part in rest.split("."):
        body = next(node for node in body.body if getattr(node, "name", None) == part)
    lines = inspect.cleandoc("\n" + ast.get_source_segment(text, body, padded=True)).rstrip()
    return f'```python title="heterophily/hdp/{module}.py"\n{lines}\n```'


# Pages


def gallery() -> str:
    """Show every script of examples/ with what it printed."""
    printed = json.loads((ROOT / "examples" / "printed.json").read_text(encoding="utf-8"))
    parts = [
        "# Gallery\n",
        "Eight short scripts, to copy and to change. All are in `examples/`, and the tests run all of them. "
        f"Below each is what it printed ({printed['machine']}); to run all of them anew: "
        "`python benchmarks/write_gallery.py`.\n",
    ]
    for name in GALLERY:
        text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        title, _, words = (ast.get_docstring(ast.parse(text)) or "").partition(": ")
        body = text.split('"""\n', 1)[1].strip()
        seen = printed["scripts"][name]
        lead = f"{words[0].upper()}{words[1:]} `examples/{name}.py`, {seen['seconds']:.0f} s."
        out = seen["out"].strip()
        parts += [f"## {title}\n", f"{lead}\n", f"```python\n{body}\n```\n", f"```text\n{out}\n```\n"]
    return "\n".join(parts)


def results() -> str:
    """Show Table 1 and its tests from results/, as far as there are cells."""
    words = [
        "# Results\n",
        "Made from `results/` when this site was built. `heterophily reproduce table1` fills it, cell by "
        "cell; [reproduce](reproduce.md) says how each is trained and scored. All results on one page, with "
        "figures and an edge browser: [the report](report-page.html).\n",
    ]
    if not (ROOT / "results" / "table1").is_dir():
        return "\n".join([*words, "There is no cell of Table 1 here yet.\n"])
    table = printed_by("table", "table1", "--from", str(ROOT / "results"), "--format", "markdown")
    words += ["## Table 1, ours above the paper's\n", table]
    if list((ROOT / "results" / "table1").glob("*/hdp.json")):
        tests = printed_by("table", "significance", "--from", str(ROOT / "results"), "--format", "markdown")
        words += ["\n## Which differences are more than luck\n", tests]
    return "\n".join(words)


def printed_by(*args: str) -> str:
    """Return what a command of ours prints; it must succeed."""
    from heterophily.cli import main

    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        main(["--quiet", *args])
    if not out.getvalue():
        raise PluginError(f"heterophily {' '.join(args)} printed nothing")
    return out.getvalue()


def report() -> str:
    """Return the report on results/."""
    from heterophily.show.report import report

    return report(ROOT / "results")


def speed() -> str:
    """Show what the benchmarks measured, each from its JSON file."""
    from benchmarks.write_speed import page

    return page()


def command() -> str:
    """Show the help of every command."""
    import typer.main

    from heterophily.cli.app import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# The command\n",
        "`heterophily --help` lists the commands, `heterophily COMMAND --help` the options of one, "
        "`heterophily --install-completion` lets the shell complete them. Results go to stdout; progress, "
        "notes and errors to stderr. Exit codes: 0 done, 1 some of it failed, 2 a mistake that you can mend, "
        "3 `audit --strict` or `doctor` found something serious, 130 stopped.\n",
    ]
    for name, found in [
        ("heterophily", group),
        *((f"heterophily {n}", c) for n, c in group.commands.items()),
    ]:
        parts += [f"## {name}\n", f"{inspect.cleandoc(found.help or '')}\n"]
        parts += ["| | |", "| --- | --- |"]
        for option in found.params:
            names = ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])
            if option.param_type_name == "argument":
                names = f"`{(option.metavar or option.name).upper()}`"
            words = (getattr(option, "help", None) or "").replace("|", "\\|")
            default = option.default
            if default not in (None, False, True, ()) and isinstance(default, str | int | float | Path):
                words += f" Default: `{default}`."
            parts.append(f"| {names} | {words} |")
        parts.append("")
    return "\n".join(parts)
