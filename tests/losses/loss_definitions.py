"""Every loss written from its formula: one token, a loop over the classes, NumPy float64."""

import math

import numpy as np


def log_sum_exp(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def others(f, k):
    return [f[c] for c in range(len(f)) if c != k]


def average(f):
    return sum(f) / len(f)


def cross_entropy(f, k):
    return math.log1p(math.exp(log_sum_exp(others(f, k)) - f[k]))


def probability(f, k):
    return math.exp(f[k] - log_sum_exp(f))


def log_odds(f, k):
    return f[k] - log_sum_exp(others(f, k))


def e1(f, k, lam):
    gap = sum((f[k] - v) ** 2 for v in others(f, k)) / (len(f) - 1)
    return cross_entropy(f, k) + lam * math.log(1 + gap)


def e2(f, k, lam):
    gaps = [f[k] - v for v in f]
    return cross_entropy(f, k) + lam * sum((g - average(gaps)) ** 2 for g in gaps) / len(f)


def e3(f, k, b):
    return sum((v - (b if c == k else -b)) ** 2 for c, v in enumerate(f))


def label_smoothing(f, k, smoothing):
    uniform = average([-math.log(probability(f, c)) for c in range(len(f))])
    return (1 - smoothing) * cross_entropy(f, k) + smoothing * uniform


def confidence_penalty(f, k, beta):
    chances = [probability(f, c) for c in range(len(f))]
    return cross_entropy(f, k) + beta * sum(p * math.log(p) for p in chances)


def focal(f, k, gamma):
    return (1 - probability(f, k)) ** gamma * cross_entropy(f, k)


def poly1(f, k, epsilon):
    return cross_entropy(f, k) + epsilon * (1 - probability(f, k))


def comp_sum(f, k, tau):
    return (probability(f, k) ** (tau - 1) - 1) / (1 - tau)


def z_loss(f, k, lam):
    return cross_entropy(f, k) + lam * log_sum_exp(f) ** 2


def max_sup(f, k, alpha):
    return cross_entropy(f, k) + alpha * (max(f) - average(f))


def marg_log(f, k, lam):
    return cross_entropy(f, k) + lam * math.log(1 + log_odds(f, k) ** 2)


def sigma_damp(f, k, temperature):
    u = log_odds(f, k)
    z = u * (1 - 1 / (1 + math.exp(-u / temperature)))
    return math.log(1 + math.exp(-z))


def dice(f, k, alpha, smooth):
    p = probability(f, k)
    q = (1 - p) ** alpha * p
    return 1 - (2 * q + smooth) / (q + 1 + smooth)


def spectral_decoupling(f, k, lam):
    return cross_entropy(f, k) + lam / 2 * sum((v - average(f)) ** 2 for v in f)


def squentropy(f, k):
    return cross_entropy(f, k) + sum(v**2 for v in others(f, k)) / (len(f) - 1)


def rescaled_square(f, k, scale, target):
    return (scale * (f[k] - target) ** 2 + sum(v**2 for v in others(f, k))) / len(f)


def logit_penalty(f, k, beta):
    return cross_entropy(f, k) + beta / 2 * sum(v**2 for v in f)


def z_spherical(f, k, a, b):
    deviation = math.sqrt(average([(v - average(f)) ** 2 for v in f]))
    return math.log1p(math.exp(a * (b - (f[k] - average(f)) / deviation))) / a


def taylor_softmax(f, k):
    parts = [1 + v + v**2 / 2 for v in f]
    return -math.log(parts[k] / sum(parts))


def spherical_softmax(f, k, epsilon):
    parts = [v**2 + epsilon for v in f]
    return -math.log(parts[k] / sum(parts))


# name -> (definition, a strength at which every term of it matters)
DEFINITIONS = {
    "cross_entropy": (cross_entropy, {}),
    "e1": (e1, {"lam": 0.7}),
    "e2": (e2, {"lam": 0.7}),
    "e3": (e3, {"b": 1.5}),
    "label_smoothing": (label_smoothing, {"smoothing": 0.1}),
    "confidence_penalty": (confidence_penalty, {"beta": 0.3}),
    "focal": (focal, {"gamma": 2.0}),
    "poly1": (poly1, {"epsilon": 1.0}),
    "comp_sum": (comp_sum, {"tau": 1.7}),
    "z_loss": (z_loss, {"lam": 0.3}),
    "max_sup": (max_sup, {"alpha": 0.2}),
    "marg_log": (marg_log, {"lam": 0.5}),
    "sigma_damp": (sigma_damp, {"temperature": 2.0}),
    "dice": (dice, {"alpha": 0.3, "smooth": 1.0}),
    "spectral_decoupling": (spectral_decoupling, {"lam": 0.1}),
    "squentropy": (squentropy, {}),
    "rescaled_square": (rescaled_square, {"scale": 2.0, "target": 3.0}),
    "logit_penalty": (logit_penalty, {"beta": 0.1}),
    "z_spherical": (z_spherical, {"a": 2.0, "b": 0.5}),
    "taylor_softmax": (taylor_softmax, {}),
    "spherical_softmax": (spherical_softmax, {"epsilon": 1e-3}),
}

SHIFT_DEPENDENT = {
    *("e3", "z_loss", "squentropy", "rescaled_square", "logit_penalty"),
    *("taylor_softmax", "spherical_softmax"),
}

# the strength whose value 0 turns the loss into plain cross-entropy
VANISHING_STRENGTH = {
    "e1": "lam",
    "e2": "lam",
    "label_smoothing": "smoothing",
    "confidence_penalty": "beta",
    "focal": "gamma",
    "poly1": "epsilon",
    "z_loss": "lam",
    "max_sup": "alpha",
    "marg_log": "lam",
    "spectral_decoupling": "lam",
    "logit_penalty": "beta",
}


def over_tokens(definition, logits, labels, **strengths):
    """The definition at every token of ``logits [*batch, V]``, in float64."""
    logits = np.asarray(logits, dtype=np.float64)
    losses = np.empty(np.shape(labels))
    for index in np.ndindex(losses.shape):
        f = [float(v) for v in logits[index]]
        losses[index] = definition(f, int(labels[index]), **strengths)
    return losses
