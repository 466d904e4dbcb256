#!/usr/bin/env python3
"""Computes with SciPy and statsmodels what tests/reference.rs compares, and writes reference.json beside this file.

    python3 -m venv VENV && VENV/bin/pip install scipy statsmodels
    VENV/bin/python crates/analysis/statistics/tests/reference/make.py
"""

import json
import math
import pathlib

import numpy as np
import scipy
import statsmodels
from scipy import special, stats
from scipy.stats import _resampling
from statsmodels.robust.scale import mad
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

LEVELS = [0.9, 0.95, 0.99]
RESAMPLES, SEED = 2000, 42


def samples():
    """Shared data: name and values."""
    random = np.random.default_rng(2026)
    rounded = lambda values: [round(float(v), 6) for v in values]
    return {
        "two": [4.25, 4.75],
        "three": [9.1, 10.4, 9.9],
        "normal_5": rounded(random.normal(10, 1, 5)),
        "normal_30": rounded(random.normal(1000, 80, 30)),
        "lognormal_10": rounded(random.lognormal(0, 1, 10)),
        "lognormal_30": rounded(random.lognormal(2, 0.6, 30)),
        "bimodal_12": rounded(np.where(np.arange(12) % 3 == 0, 0.3, 2.8) + random.normal(0, 0.05, 12)),
        "ties_9": [3.0, 3.0, 3.0, 5.0, 5.0, 4.0, 3.0, 9.0, 4.0],
        "far_8": [10.0, 10.2, 9.9, 3.0, 10.1, 19.0, 10.05, 9.95],
    }


class Random:
    """SplitMix64, as in random.rs."""

    def __init__(self, seed):
        self.state = seed

    def index(self, below):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) * below) >> 64


def plain_mean(values, axis=-1):
    """A mean that adds in the order of the values, so that ties are the same ties."""
    return np.cumsum(values, axis=axis).take(-1, axis=axis) / np.shape(values)[axis]


def bootstrap(values, level):
    """SciPy's own correction of the resamples that the Rust code draws."""
    random, data = Random(SEED), np.asarray(values)
    indices = np.array([[random.index(len(values)) for _ in values] for _ in range(RESAMPLES)])
    resampled = plain_mean(data[indices])
    alpha = (1 - level) / 2
    plain = np.percentile(resampled, [100 * alpha, 100 * (1 - alpha)])
    corrected = _resampling._bca_interval([data], plain_mean, -1, alpha, resampled, None, np)
    low, high = (float(np.ravel(a)[0]) for a in corrected[:2])
    return {"percentile": list(plain), "bca": list(np.percentile(resampled, [100 * low, 100 * high]))}


def single(values):
    described = DescrStatsW(values)
    z = np.abs(np.asarray(values) - np.median(values)) / mad(values, c=0.6745)
    levels = []
    for level in LEVELS:
        low, high = described.tconfint_mean(alpha=1 - level)
        levels.append({"level": level, "t": [low, high], **bootstrap(values, level)})
    return {
        "values": values,
        "mean": float(np.mean(values)),
        "deviation": float(np.std(values, ddof=1)),
        "quartile": float(np.quantile(values, 0.25)),
        "levels": levels,
        "outliers": [i for i, score in enumerate(z) if score > 3.5 and len(values) >= 5],
    }


def unpaired(first, other):
    compared = CompareMeans(DescrStatsW(other), DescrStatsW(first))
    test = stats.ttest_ind(other, first, equal_var=False)
    parts = [np.std(v, ddof=1) / np.sqrt(len(v)) for v in (first, other)]
    freedom, error = float(test.df), math.hypot(*parts)
    # Two one-sided tests whose margin is the largest difference left open have p = 0.05.
    open_95 = abs(np.mean(other) - np.mean(first)) + stats.t.ppf(0.95, freedom) * error
    tost = ttost_ind(other, first, -open_95, open_95, usevar="unequal")[0]
    assert abs(tost - 0.05) < 1e-9, tost
    relative = [part / np.mean(v) for part, v in zip(parts, (first, other))]
    log_error = math.hypot(*relative)
    log_freedom = log_error**4 / sum(r**4 / (len(v) - 1) for r, v in zip(relative, (first, other)))
    log = math.log(np.mean(other) / np.mean(first))
    ends = [log + sign * stats.t.ppf(0.975, log_freedom) * log_error for sign in (-1, 1)]
    pooled_freedom = len(first) + len(other) - 2
    pooled = math.sqrt(
        ((len(first) - 1) * np.var(first, ddof=1) + (len(other) - 1) * np.var(other, ddof=1)) / pooled_freedom
    )
    exact = math.exp(special.gammaln(pooled_freedom / 2) - special.gammaln((pooled_freedom - 1) / 2))
    hedges = exact / math.sqrt(pooled_freedom / 2) * (np.mean(other) - np.mean(first)) / pooled
    sides = [f(v) for v in (other, first) for f in (np.mean, lambda v: np.std(v, ddof=1), len)]
    approximate = effectsize_smd(*sides)[0]
    assert abs(approximate / hedges - 1) < 0.1, (approximate, hedges)
    return {
        "first": first,
        "other": other,
        "welch": {"freedom": freedom, "error": error, "p": float(test.pvalue),
                  "interval": list(compared.tconfint_diff(alpha=0.05, usevar="unequal"))},
        "open": float(open_95),
        "detectable": float((stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)) * error),
        "ratio": {"value": math.exp(log), "interval": [math.exp(e) for e in ends],
                  "p": float(2 * stats.t.sf(abs(log / log_error), log_freedom))},
        "hedges_g": float(hedges),
        "hedges_g_statsmodels": float(approximate),
    }


def paired(first, other):
    differences = np.asarray(other) - np.asarray(first)
    test = stats.ttest_rel(other, first)
    logs = np.log(np.asarray(other) / np.asarray(first))
    log_test = stats.ttest_1samp(logs, 0)
    kept = differences[differences != 0]
    exact = stats.PermutationMethod(n_resamples=np.inf)
    signed = stats.wilcoxon(kept, method=exact if len(kept) <= 14 else "auto", correction=False)
    rank_sum = stats.rankdata(np.abs(kept))[kept > 0].sum()
    return {
        "first": first,
        "other": other,
        "difference": {"value": float(differences.mean()), "interval": list(test.confidence_interval(0.95)),
                       "p": float(test.pvalue)},
        "ratio": {"value": float(np.exp(logs.mean())),
                  "interval": [float(np.exp(e)) for e in log_test.confidence_interval(0.95)],
                  "p": float(log_test.pvalue)},
        "wilcoxon": {"rank_sum": float(rank_sum), "p": float(signed.pvalue)},
    }


def over_blocks(blocks):
    """The mean of the logarithms of ratios: an average of independent means with errors of their own."""
    logs, squares, squares_over_freedom = [], [], []
    for first, other in blocks:
        variances = [np.var(v, ddof=1) / len(v) / np.mean(v) ** 2 for v in (first, other)]
        logs.append(math.log(np.mean(other) / np.mean(first)))
        squares += variances
        squares_over_freedom += [v**2 / (len(side) - 1) for v, side in zip(variances, (first, other))]
    freedom, error = sum(squares) ** 2 / sum(squares_over_freedom), math.sqrt(sum(squares)) / len(blocks)
    by_repeats, of_settings = np.mean(logs), stats.ttest_1samp(logs, 0)
    ends = stats.t.interval(0.95, freedom, by_repeats, error)
    return {
        "first": [first for first, _ in blocks],
        "other": [other for _, other in blocks],
        "repeats": {"value": float(np.exp(by_repeats)), "interval": [float(np.exp(e)) for e in ends],
                    "p": float(2 * stats.t.sf(abs(by_repeats / error), freedom))},
        "settings": {"value": float(np.exp(by_repeats)),
                     "interval": [float(np.exp(e)) for e in of_settings.confidence_interval(0.95)],
                     "p": float(of_settings.pvalue)},
    }


def main():
    data = samples()
    random = np.random.default_rng(7)
    rounded = lambda values: [round(float(v), 6) for v in values]
    shifted = lambda name, by: rounded(np.asarray(data[name]) * by + random.normal(0, 0.1, len(data[name])))
    blocks = [
        (data["three"], shifted("three", 1.4)),
        (data["normal_5"], rounded(random.normal(14, 1, 6))),
        (data["lognormal_10"], rounded(np.asarray(data["lognormal_10"]) * 1.6 + random.uniform(0, 1, 10))),
    ]
    families = [[0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.9, 1.0, 1e-12], rounded(random.uniform(0, 0.2, 20))]
    large = rounded(random.normal(5, 1, 60))
    reference = {
        "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
        "resamples": RESAMPLES,
        "seed": SEED,
        "student": [{"q": q, "freedom": f, "t": float(stats.t.ppf(q, f))}
                    for q in (0.6, 0.9, 0.975, 0.9999) for f in (1, 2, 2.5, 7, 30, 1000)],
        "single": {name: single(values) for name, values in data.items()},
        "unpaired": [
            unpaired(data["three"], data["normal_5"]),
            unpaired(data["normal_5"], rounded(random.normal(12, 0.2, 8))),
            unpaired(data["lognormal_10"], data["lognormal_30"]),
            unpaired(data["normal_30"], rounded(random.normal(1001, 20, 10))),
        ],
        "paired": [
            paired(data["three"], shifted("three", 1.1)),
            paired(data["normal_5"], shifted("normal_5", 1.02)),
            paired(data["lognormal_30"], shifted("lognormal_30", 1.02)),
            paired(data["ties_9"], [3.0, 4.0, 2.0, 6.0, 7.0, 6.0, 4.0, 9.0, 5.0]),
            paired(large, rounded(np.asarray(large) + random.normal(0.2, 0.6, 60))),
        ],
        "blocks": over_blocks(blocks),
        "multiple": [{"p": p, "holm": list(multipletests(p, method="holm")[1]),
                      "benjamini_hochberg": list(multipletests(p, method="fdr_bh")[1])} for p in families],
    }
    path = pathlib.Path(__file__).with_name("reference.json")
    path.write_text(json.dumps(reference, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
