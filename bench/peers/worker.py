"""One contestant on one instance, in a process of its own:

    python worker.py CONTESTANT SEED DY STEPS

prints a line of JSON for each hypergradient: phase (cold, or warm along the
path), processor seconds, relative error, and, last, peak memory."""
import json
import resource
import sys
import time

import numpy as np

from contestants import ALL
from experiment import DX, Instance, path


def main(name, seed, dy, steps):
    kind, instance = ALL[name], Instance(seed, dy)
    points = path(instance, steps)
    # Imports, and what compiles just in time, are not charged.
    kind(Instance(seed + 1000, min(dy, 50)))(np.zeros(DX))
    contestant = kind(instance)
    if name == "Jaxopt":  # compiled for this size before the clock runs
        contestant(points[-1][0])
        contestant.start = contestant.cold
    for k, (x, rows) in enumerate(points):
        began = time.process_time()
        if k == 0 and name not in ("Jaxopt",):
            contestant = kind(instance)
        _, g = contestant(x)
        seconds = time.process_time() - began
        _, exact, margin = instance.exact(x, rows)
        error = np.linalg.norm(g - exact) / np.linalg.norm(exact)
        print(json.dumps({"phase": "cold" if k == 0 else "warm", "seconds": seconds, "error": float(error),
                          "margin": float(margin)}), flush=True)
    print(json.dumps({"phase": "memory", "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
