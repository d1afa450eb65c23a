"""The command that the tests talk to: that of BILEVELC, or one built from this clone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

root = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def command(tmp_path_factory):
    if "BILEVELC" not in os.environ:
        if shutil.which("go") is None:
            pytest.skip("neither BILEVELC nor Go is there")
        binary = tmp_path_factory.mktemp("bin") / ("bilevelc.exe" if os.name == "nt" else "bilevelc")
        subprocess.run(["go", "build", "-o", str(binary), "./cmd/bilevelc"], cwd=root, check=True)
        os.environ["BILEVELC"] = str(binary)
    return os.environ["BILEVELC"]


@pytest.fixture
def examples():
    return root / "examples"
