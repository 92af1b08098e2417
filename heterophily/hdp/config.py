"""The settings of HDP, each with its symbol, meaning and Table 2 range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from heterophily.config import Choice, Config, ConfigError, Count, Integer, Rate, Share, Uniform

InitialFeatures = Literal["x", "nb", "str", "x+nb", "x+str", "nb+str", "x+nb+str"]


@dataclass(frozen=True, kw_only=True)
class HDPConfig(Config):
    """Every choice HDP leaves open: the paper's Table 2 first, its silences below it."""

    learning_rate_init: Annotated[Rate, Choice(0.001, 0.003, 0.01, 0.03)] = 0.01
    """Learning rate of the initial assignment."""
    weight_decay_init: Annotated[float, Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 0.001, 0.005)] = 0.001
    """Weight decay (L2, as in Adam) of the initial assignment."""
    epoch_init: Annotated[Count, Choice(500, 1000)] = 500
    """Most epochs of the initial assignment."""
    patience_init: Annotated[Count, Choice(50, 100, 200, 400)] = 100
    """Epochs without a better validation score before the initial assignment stops."""
    structural_dim: Annotated[int, Choice(0, 64, 128, 256, 512, 1024, 2048, 4096, 8192)] = 4096
    """|S^tar| of Eq. 7: how many training nodes are targets of the structural encoding; 0 leaves it out."""
    hidden_dim: Count = 512
    """Hidden width of both MLPs."""
    embedding_dim: Count = 128
    """D: width of the ego representation."""
    learning_rate: Annotated[Rate, Choice(0.0003, 0.001, 0.003, 0.01, 0.03)] = 0.01
    """Learning rate of the main training."""
    weight_decay: Annotated[float, Choice(0.0, 5e-6, 5e-5, 5e-4, 0.001, 0.005, 0.01)] = 0.005
    """Weight decay (L2, as in Adam) of the main training."""
    epoch: Count = 2000
    """Most epochs of the main training."""
    patience: Annotated[Count, Choice(50, 100, 200, 400)] = 100
    """Epochs without a better validation score before the main training stops."""
    order: Annotated[Literal[1, 2], Choice(1, 2)] = 1
    """E' is E (1) or E², the pairs at most two steps apart (2)."""
    tpc_weight: Annotated[float, Choice(0.1, 1.0, 10.0)] = 1.0
    """β of Eq. 29: weight of the trusted prototype contrastive loss; 0 leaves it out."""
    temperature: Annotated[Rate, Choice(0.1, 0.2, 0.5)] = 0.5
    """τ of Eq. 27."""
    rescale: Annotated[Rate, Uniform(0.8, 1.2)] = 1.0
    """λ of Eq. 2: multiplies the homophily ratio estimated on the training set."""
    hops: Annotated[int, Integer(0, 8)] = 1
    """κ of Eq. 8: steps of the random walk of the structural encoding."""
    layers_hm: Annotated[int, Integer(0, 8)] = 2
    """l^hm of Eq. 17: message passing layers of the homophilous representation."""
    layers_ht: Annotated[int, Integer(0, 8)] = 1
    """l^ht of Eq. 16: message passing layers of the heterophilous representation."""

    initial_features: Annotated[
        InitialFeatures, Choice("x", "nb", "str", "x+nb", "x+str", "nb+str", "x+nb+str")
    ] = "x+nb+str"
    """Which of X, X^nb and X^str make up X^all (Eq. 21)."""
    normalization: Annotated[Literal["symmetric", "walk"], Choice("symmetric", "walk")] = "walk"
    """Â of Eq. 20: D^-1/2 A D^-1/2 or D^-1 A."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""
    structural_norm: Annotated[float, Choice(0.0, 0.3, 1.0, 3.0, 10.0)] = 1.0
    """Mean length the rows of X^str are scaled to; 0 leaves bare landing probabilities (Eq. 8)."""
    dropout_init: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.5
    """Dropout on the hidden layer of the initial assignment."""
    input_dropout_init: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.0
    """Dropout on the features of the initial assignment."""
    dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.7
    """Dropout on the hidden layer of the ego representation (Eq. 9) and before the classifier (Eq. 19)."""
    input_dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.0
    """Dropout on [X ‖ X^str] of the ego representation."""
    structural_top: int = 0
    """Largest entries of a row of X^str that are kept, for large graphs; 0 keeps all."""
    directed_features: bool = False
    """X^nb and X^str follow edges in their direction only; the partition is undirected all the same."""
    two_hop_walks: int = 0
    """Of E², only where so many random walks of two steps lead from each node, for large graphs; 0 is all."""
    sharpness: Rate = 1.0
    """Multiplies the logits before the softmax whose products make P (Eq. 3); above 1 nears hard labels."""
    known_loops: bool = True
    """Count self-loops of E' as homophilous, which they are, and estimate h' on the other edges only."""
    by_loss: bool = False
    """Keep the epoch of the lowest validation loss instead of the best score, in both trainings."""
    tpc_sum: bool = False
    """Sum the contrastive loss over the trust set as Eq. 27 is printed, instead of its mean."""

    initialization: Literal["trained", "random"] = "trained"
    """Train MLP^init, or use it untrained (Table 3, "w/o Init.")."""
    structural: bool = True
    """Hand X^str to the ego representation (Table 3, "w/o SSE." when false); initial_features is apart."""
    homophilous: bool = True
    """Hand H^hm to the classifier (Table 3, "w/o Homo." when false)."""
    heterophilous: bool = True
    """Hand H^ht to the classifier (Table 3, "w/o Hete." when false)."""
    update: bool = True
    """Refine partition and trust set when validation improves (Table 3, "w/o Upd." when false)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.homophilous or self.heterophilous):
            raise ConfigError("HDPConfig: homophilous and heterophilous are both off, so nothing is left")
        if self.structural_dim == 0 and self.initial_features == "str":
            raise ConfigError("HDPConfig: initial_features='str' needs a structural_dim above 0")


@dataclass(frozen=True, kw_only=True)
class HDPDirectedConfig(HDPConfig):
    """HDP whose features tell what a node links to; the paper makes every graph undirected."""

    directed_features: bool = True


ABLATIONS: dict[str, dict[str, object]] = {
    "Init": {"initialization": "random"},
    "Homo": {"homophilous": False},
    "Hete": {"heterophilous": False},
    "SSE": {"structural": False},
    "SMP": {"layers_hm": 0, "layers_ht": 0},
    "TPC": {"tpc_weight": 0.0},
    "Upd": {"update": False},
}
"""Table 3: what to change in a config to leave one module out."""
