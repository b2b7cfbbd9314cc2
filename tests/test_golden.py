"""Every command prints, byte for byte, what `tools/golden.py` recorded."""

from __future__ import annotations

import pytest
from tools import golden


@pytest.mark.parametrize("group", golden.CASES)
def test_output_is_as_recorded(group: str) -> None:
    expected = {name: case for name, case in golden.load().items() if name.startswith(f"{group}: ")}
    found = golden.record([group])
    assert expected.keys() == found.keys()
    for name, case in found.items():
        assert not golden.differences(expected[name], case), name
