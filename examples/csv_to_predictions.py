"""Your CSV to predictions: an edge list and a node table in, a class for every node out."""

import numpy as np
import pandas as pd

from heterophily import HDPClassifier, load_model, read

# Stand-ins for your files: accounts that trade, some known to be fraud; fraud trades with honest accounts.
rng = np.random.default_rng(0)
fraud = rng.random(400) < 0.3
names = np.array([f"account{i}" for i in range(400)])
nodes = pd.DataFrame({"account": names, "amount": rng.normal(fraud, 1.0)})
nodes["country"] = rng.choice(["A", "B"], 400)
nodes["label"] = np.where(rng.random(400) < 0.6, np.where(fraud, "fraud", "honest"), "")  # "" is unknown
nodes.to_csv("nodes.csv", index=False)
pairs = rng.integers(400, size=(4000, 2))
wanted = np.where(fraud[pairs[:, 0]] != fraud[pairs[:, 1]], 0.6, 0.1)
edges = pd.DataFrame(names[pairs[rng.random(4000) < wanted]], columns=["from", "to"])
edges.to_csv("edges.csv", index=False)

# From here on it is your graph. `heterophily fit` and `heterophily predict` do the same without Python.
reading = read("edges.csv", "nodes.csv", id="account", label="label")
for note in reading.notes:
    print(note)
model = HDPClassifier(hidden_dim=64, epoch=200, random_state=0).fit(reading)
model.save("model")

table = load_model("model").predictions()
table.to_csv("predictions.csv", index=False)
unknown = table[nodes.label == ""]
print(unknown[["id", "predicted", "calibrated"]].head().to_string(index=False))
right = unknown.predicted == np.where(fraud, "fraud", "honest")[unknown.index]
print(f"right on {right.mean():.0%} of the {len(unknown)} accounts without a label")
