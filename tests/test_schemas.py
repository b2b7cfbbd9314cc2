"""Everything that commands print as JSON conforms to the published schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator
from tools import golden, schemas

from foveal.cli import cli
from result_objects import OBJECTS

FILES = sorted(schemas.FOLDER.glob("*.json"))
PUBLISHED = {file.stem: json.loads(file.read_text()) for file in FILES}
BY_COMMAND = {
    command.split()[0]: name
    for name, (_, commands) in schemas.read_samples().items()
    for command in commands
}
OTHER_NAMES = {
    "baseline": "comparison",
    "halves": "correlations",
    "budgets": "results",
    "recall base": "recall-base",
}


def check(name: str, content: Any) -> None:
    """Fail with the first place where content does not conform to a schema."""
    errors = Draft202012Validator(PUBLISHED[name]).iter_errors(content)
    assert not [f"{error.json_path}: {error.message}" for error in errors][:3]


def list_json_commands(command: click.Command, name: str = "") -> Iterator[str]:
    """Yield the first words of all commands that offer JSON."""
    for option in command.params:
        if "json" in getattr(option.type, "choices", ()):
            yield name.split(maxsplit=1)[0]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            _, found, _ = command.resolve_command(context, [inner])
            assert found is not None
            yield from list_json_commands(found, f"{name} {inner}")


def test_published_schemas_are_up_to_date() -> None:
    written = schemas.make_schemas()
    assert {name: json.loads(text) for name, text in written.items()} == PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_schemas_are_valid(name: str) -> None:
    Draft202012Validator.check_schema(PUBLISHED[name])
    assert PUBLISHED[name]["$id"].startswith(f"foveal/{name}/")
    page = (schemas.FOLDER.parent / "schemas.md").read_text()
    assert f"(schemas/{name}.json)" in page


def test_every_command_with_json_has_a_schema() -> None:
    assert set(list_json_commands(cli)) == set(BY_COMMAND)


def test_a_field_that_no_sample_shows_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample holds a value of /rows/p"):
        schemas.describe([{"rows": [{"p": None}]}], ())


def test_a_wrong_output_does_not_conform() -> None:
    row = {"run": "a", "topic": "1", "measure": "AP", "value": "0.5"}
    with pytest.raises(AssertionError, match=r"results\[0\].value"):
        check("results", {"meta": {"version": "1"}, "results": [row]})


def test_recorded_outputs_conform() -> None:
    checked = set()
    for case, done in golden.load().items():
        command = case.partition(": ")[2]
        if "-f json" not in command.replace("-f jsonl", "") or done["exit"] == 2:
            continue
        written = [text for file, text in done["files"].items() if file.endswith(".json")]
        name = BY_COMMAND[command.split()[0]]
        for text in written or [done["out"]]:
            check(name, json.loads(text))
        checked.add(name)
    assert len(checked) > 8


@pytest.mark.parametrize("name", OBJECTS)
def test_result_objects_conform(name: str) -> None:
    found = OBJECTS[name]()
    for content in (json.loads(found.to_json()), found.to_dict()):
        check(OTHER_NAMES.get(name, name), content)
