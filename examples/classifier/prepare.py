"""Makes classifier.json from the Breast Cancer Wisconsin (Diagnostic) data.

Source: W. Wolberg, O. Mangasarian, N. Street, W. Street (1993), UCI Machine
Learning Repository, doi:10.24432/C5DW2B, licensed CC BY 4.0. The ten "mean"
features, standardised; 80 training rows, of which 12 have their label turned
round, and 80 validation rows as they are. Seeded:

    python examples/classifier/prepare.py > examples/classifier/classifier.json
"""
import json
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer

raw = load_breast_cancer()
rng = np.random.default_rng(11)
features = raw.data[:, :10]
features = (features - features.mean(0)) / features.std(0)
labels = 2.0 * raw.target - 1
order = rng.permutation(len(labels))[:160]
train, valid = order[:80], order[80:]
s = labels[train].copy()
s[rng.choice(80, 12, replace=False)] *= -1
json.dump({"X": features[train].round(4).tolist(), "s": s.tolist(),
           "Xv": features[valid].round(4).tolist(), "sv": labels[valid].tolist()}, sys.stdout)
