"""Writes what the libraries of others compute of the cases in oracle.json: tests of counts with savvi, of the authors of the test, the rest with
scipy. TestFindingsAreThoseOfTheOracle compares ours with that. In this folder, for new cases, which have no numbers of the oracle yet:

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install savvi==0.3.1 scipy==1.17.1 matplotlib==3.11.2 # which savvi imports
    /tmp/oracle/bin/python oracle.py
"""

import json

import numpy as np
from savvi.multinomial import Multinomial
from scipy import stats

TOLERATED, STEP, RUNGS = 1.5, 1.5, 10
# savvi has a Dirichlet prior: so much of it at one place is nearly that place alone.
CONCENTRATION = 1e7
# The weight of a fault that is there from the first look. The others share the rest.
FROM_FIRST = 0.98


def share(ratio, e, f):
    """The probability that an event falls on a new pod."""
    return ratio * e / (ratio * e + f)


def begins(news):
    """The looks from each one on, with which a fault may begin, and their weights."""
    for k in range(1, len(news) + 1):
        yield news[k - 1:], FROM_FIRST if k == 1 else (1 - FROM_FIRST) / (k * (k - 1))


def concurrent(c):
    evidence = 0
    for j in range(1, RUNGS + 1):
        null, alternative = (share(r, c["e"], c["f"] * len(c["olds"])) for r in (TOLERATED, TOLERATED * STEP**j))
        for looks, weight in begins(c["news"]):
            test = Multinomial(0.01, np.array([null, 1 - null]))
            test.alpha_0 = CONCENTRATION * np.array([alternative, 1 - alternative])
            for news in looks:
                test.update(np.array([news, sum(c["olds"])]))
            evidence += weight * test.odds / RUNGS
    return {"evidence": evidence}


def before(c):
    bound = stats.gamma.ppf(1 - 0.01 / 2, 30 * sum(c["olds"]) + 1)
    mean = TOLERATED * bound / (c["f"] * 30 * len(c["olds"])) * c["e"]
    evidence = 0
    for j in range(1, RUNGS + 1):
        for looks, weight in begins(np.array(c["news"])):
            log = np.sum(stats.poisson.logpmf(looks, STEP**j * mean) - stats.poisson.logpmf(looks, mean))
            evidence += weight * np.exp(log) / RUNGS
    return {"evidence": evidence}


def dispersion(c):
    seen = [look for look in c["olds"] if sum(look) > 0]
    within = sum(stats.chisquare(look).statistic for look in seen) / sum(len(look) - 1 for look in seen)
    lasting = stats.chisquare(np.sum(c["olds"], axis=0)).statistic / (len(c["olds"][0]) - 1)
    within = max(1, within)
    return {"dispersion": lasting if lasting > 2 * within else within}


def gauges(c):
    news, olds = np.array(c["news"]) / 1.2, np.array(c["olds"])
    exact = stats.permutation_test(
        (news, olds), lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        vectorized=True, n_resamples=20_000, alternative="greater", rng=1)
    drawn = len(exact.null_distribution) == 20_000
    error = 4 * np.sqrt(exact.pvalue * (1 - exact.pvalue) / 2000) + 1e-3 if drawn else 1e-12
    superiority = stats.mannwhitneyu(c["news"], c["olds"]).statistic / (len(news) * len(olds))
    return {"p": exact.pvalue, "error": error, "superiority": superiority}


def rare(c):
    return {"p": stats.binom.sf(c["x"] - 1, c["x"] + c["y"], share(3, c["e"], c["f"]))}


with open("oracle.json") as file:
    cases = json.load(file)
texts = []
for oracle in (concurrent, before, dispersion, gauges, rare):
    found = [c | {name: float(number) for name, number in oracle(c).items()} for c in cases[oracle.__name__]]
    texts.append(f'"{oracle.__name__}": [\n' + ",\n".join(json.dumps(c) for c in found) + "\n]")
with open("oracle.json", "w") as file:
    file.write("{" + ",\n".join(texts) + "}\n")
