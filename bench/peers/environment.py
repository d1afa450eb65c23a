"""The Python environment of the peers, made once beside this file from PyPI."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VENV = HERE / ".venv"
# What is installed without its dependencies: qpth and blvpy pin older versions of what they do run with, cyipopt needs
# Ipopt on the machine. What cannot be had is said, and the tables lack its rows.
APART = (["qpth==0.0.16"], ["cyipopt==1.7.0", "pympcc==1.0.0"], ["--ignore-requires-python", "blvpy==0.5.0"])


def environment():
    """The interpreter of the environment, which is completed if it was not, or if what it is made of has changed."""
    python, made = VENV / "bin" / "python", VENV / "made-of"
    wanted = (HERE / "requirements.txt").read_text() + "".join(" ".join(packages) + "\n" for packages in APART)
    if made.exists() and made.read_text() == wanted:
        return python
    print(f"making the peers' environment in {VENV}: minutes, 6 GB", flush=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
    for packages in APART:
        if subprocess.run([*pip, "--no-deps", *packages]).returncode != 0:
            print("not to be had here:", *packages, file=sys.stderr, flush=True)
    made.write_text(wanted)
    return python
