"""The lines of docs/python.md do what they say."""

import re

import pytest

import bilevelc
from conftest import root


def test_pages(tmp_path, monkeypatch, capsys, examples):
    pytest.importorskip("pandas")
    page = (root / "docs" / "python.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"<!-- file (\S+) -->\n```\w+\n(.*?)```", page, re.S))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "toll.blv").write_text((examples / "toll" / "toll.blv").read_text())
    monkeypatch.chdir(tmp_path)
    exec(compile(files["reg.py"], "reg.py", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("True") and "dose" in out
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    names = {}
    exec(compile(files["layer.py"], "layer.py", "exec"), names)
    assert names["x"].grad.shape == (6,) and bilevelc.Model("toll.blv").name == "toll"
