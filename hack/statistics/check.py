"""Computes the findings of hack/statistics again: tests of counts with savvi, the package of the authors of the test, the rest with scipy."""

import json
import sys

import numpy as np
from savvi.multinomial import Multinomial
from scipy import stats

TOLERATED, STEP, RUNGS = 1.5, 1.5, 10
# savvi has a Dirichlet prior: so much of it at one place is nearly that place alone.
CONCENTRATION = 1e7

failures, checks = [], 0


def same(what, case, got, want, relative, absolute=0.0):
    global checks
    checks += 1
    if not abs(got - want) <= relative * abs(want) + absolute:
        failures.append(f"{what}: {got}, by the oracle {want}: {case}")


def share(ratio, e, f):
    """The probability that an event falls on a new pod."""
    return ratio * e / (ratio * e + f)


def concurrent(c):
    odds = []
    for j in range(1, RUNGS + 1):
        null, alternative = (share(r, c["e"], c["f"] * c["pods"]) for r in (TOLERATED, TOLERATED * STEP**j))
        test = Multinomial(0.01, np.array([null, 1 - null]))
        test.alpha_0 = CONCENTRATION * np.array([alternative, 1 - alternative])
        for news in c["news"]:
            test.update(np.array([int(news), int(c["y"] * c["pods"])]))
        odds.append(test.odds)
    same("concurrent", c, c["evidence"], np.mean(odds), 1e-3)


def before(c):
    looks = 30 * c["pods"]
    bound = stats.gamma.ppf(1 - c["share"] / 2, c["y"] * looks + 1)
    mean = TOLERATED * bound / (c["f"] * looks) * c["e"]
    news = np.array(c["news"])
    logs = [np.sum(stats.poisson.logpmf(news, STEP**j * mean) - stats.poisson.logpmf(news, mean)) for j in range(1, RUNGS + 1)]
    same("before", c, c["evidence"], np.mean(np.exp(logs)), 1e-5)  # gonum inverts the gamma distribution to 7 digits


def dispersion(c):
    seen = [look for look in c["olds"] if sum(look) > 0]
    within = sum(stats.chisquare(look).statistic for look in seen) / sum(len(look) - 1 for look in seen)
    lasting = stats.chisquare(np.sum(c["olds"], axis=0)).statistic / (len(c["olds"][0]) - 1)
    within = max(1, within)
    same("dispersion", c, c["dispersion"], lasting if lasting > 2 * within else within, 1e-9)


def gauges(c):
    news, olds = np.array(c["news"]) / c["tolerance"], np.array(c["olds"])
    exact = stats.permutation_test(
        (news, olds), lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        vectorized=True, n_resamples=20_000, alternative="greater", rng=1)
    drawn = len(exact.null_distribution) == 20_000
    error = 4 * np.sqrt(exact.pvalue * (1 - exact.pvalue) / 2000) + 1e-3 if drawn else 1e-12
    same("gauges", c, c["p"], exact.pvalue, 0, error)
    u = stats.mannwhitneyu(c["news"], c["olds"]).statistic
    same("superiority", c, c["superiority"], u / (len(news) * len(olds)), 1e-12)


def rare(c):
    p = share(3, c["e"], c["f"])
    same("rare", c, c["p"], stats.binom.sf(c["x"] - 1, c["x"] + c["y"], p), 1e-9)


findings = json.load(sys.stdin)
for check in (concurrent, before, dispersion, gauges, rare):
    for case in findings[check.__name__]:
        check(case)
for failure in failures:
    print(failure, file=sys.stderr)
print(f"seed {findings['seed']}: {checks} numbers computed again, {len(failures)} differ")
sys.exit(1 if failures or checks < 100 else 0)
