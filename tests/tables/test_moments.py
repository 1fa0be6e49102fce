"""Moments against slow, obvious twins, and against scikit-learn itself."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imop_engine.bundled import market
from imop_engine.errors import ImopError, InvalidInput, UnreadableFile
from imop_engine.estimators import (
    REPAIR_FLOOR,
    is_positive_definite,
    nearest_positive_definite,
)
from imop_engine.missing_returns import fit_missing
from imop_engine.moments import COVARIANCES, GAPS, MEANS, estimate_moments
from imop_engine.sentences.market import APP, PYTHON, SHELL
from imop_engine.tables import read_moments

# Two ways of adding a few hundred numbers agree to this many digits.
CLOSE = 1e-11


@pytest.fixture
def returns():
    rng = np.random.default_rng(11)
    values = rng.normal(0.01, 0.05, (90, 5)) @ (np.eye(5) + 0.3)
    return pd.DataFrame(values, columns=list("ABCDE"))


@pytest.fixture
def gappy(returns):
    frame = returns.copy()
    frame.iloc[:30, 1] = np.nan
    frame.iloc[40, 2] = np.nan
    frame.iloc[80:, 4] = np.nan
    return frame


def naive_covariance(frame, weights=None):
    """Pair by pair, sum by sum, over the periods that both assets have."""
    names, matrix = list(frame), {}
    every = [1.0] * len(frame) if weights is None else list(weights)
    for a in names:
        for b in names:
            rows = [
                (w, x, y)
                for w, x, y in zip(every, frame[a], frame[b], strict=True)
                if not (math.isnan(x) or math.isnan(y))
            ]
            total = sum(w for w, _, _ in rows)
            mean_a = sum(w * x for w, x, _ in rows) / total
            mean_b = sum(w * y for w, _, y in rows) / total
            product = sum(w * (x - mean_a) * (y - mean_b) for w, x, y in rows) / total
            matrix[a, b] = product / (1 - sum(w * w for w, _, _ in rows) / total**2)
    return np.array([[matrix[a, b] for b in names] for a in names])


def naive_mean(frame, weights=None):
    every = [1.0] * len(frame) if weights is None else list(weights)
    means = []
    for name in frame:
        known = [(w, x) for w, x in zip(every, frame[name], strict=True) if not math.isnan(x)]
        means.append(sum(w * x for w, x in known) / sum(w for w, _ in known))
    return np.array(means)


def decay(count, life):
    return [0.5 ** ((count - 1 - t) / life) for t in range(count)]


def test_arithmetic_mean_and_sample_covariance(gappy):
    moments = estimate_moments(gappy, periods_per_year=12, gaps="pairwise")
    np.testing.assert_allclose(moments.expected_returns, naive_mean(gappy) * 12, rtol=CLOSE)
    np.testing.assert_allclose(moments.covariance, naive_covariance(gappy) * 12, rtol=CLOSE)
    gaps, means, covariance = moments.notes
    assert gaps == (
        "Of 90 periods fewer are known for B (60), C (89), E (80); the covariance of two assets "
        "uses the periods in which both have a return, means use all returns there are."
    )
    assert means == "Means are arithmetic, times 12."
    assert covariance == (
        "The covariance is per period (sample, divided by the number of periods less one) times 12."
    )


def test_geometric_mean_compounds(gappy):
    moments = estimate_moments(gappy, mean="geometric", periods_per_year=4, gaps="pairwise")
    for name in gappy:
        known = [x for x in gappy[name] if not math.isnan(x)]
        growth = math.prod(1 + x for x in known) ** (4 / len(known)) - 1
        assert moments.expected_returns[name] == pytest.approx(growth, rel=CLOSE)


def test_a_total_loss_has_a_geometric_mean_of_minus_one(returns):
    returns.iloc[3, 0] = -1.0
    assert estimate_moments(returns, mean="geometric").expected_returns["A"] == -1


def test_exponential_weights(gappy):
    moments = estimate_moments(
        gappy, "exponential", "exponential", periods_per_year=12, half_life=18, gaps="pairwise"
    )
    weights = decay(len(gappy), 18)
    mean, covariance = naive_mean(gappy, weights), naive_covariance(gappy, weights)
    np.testing.assert_allclose(moments.expected_returns, mean * 12, rtol=1e-9)
    np.testing.assert_allclose(moments.covariance, covariance * 12, rtol=1e-9)


def test_an_endless_half_life_is_the_sample(returns):
    slow = estimate_moments(returns, "exponential", "exponential", 12, half_life=1e12)
    plain = estimate_moments(returns, periods_per_year=12)
    np.testing.assert_allclose(slow.expected_returns, plain.expected_returns, rtol=1e-8)
    np.testing.assert_allclose(slow.covariance, plain.covariance, rtol=1e-8)


def test_constant_correlation(gappy):
    moments = estimate_moments(gappy, covariance="constant-correlation", gaps="pairwise")
    sample = naive_covariance(gappy) * 12
    names, n = list(gappy), gappy.shape[1]
    deviations = [math.sqrt(sample[i, i]) for i in range(n)]
    pairs = [sample[i, j] / deviations[i] / deviations[j] for i in range(n) for j in range(i)]
    average = sum(pairs) / len(pairs)
    for i in range(n):
        for j in range(n):
            wanted = sample[i, i] if i == j else average * deviations[i] * deviations[j]
            assert moments.covariance.loc[names[i], names[j]] == pytest.approx(wanted, rel=CLOSE)


def test_shrinkage_is_scikit_learns(gappy):
    from sklearn.covariance import ledoit_wolf, oas

    complete = gappy.dropna().to_numpy()
    for method, twin in (("ledoit-wolf", ledoit_wolf), ("oas", oas)):
        moments = estimate_moments(gappy, covariance=method, periods_per_year=252, gaps="pairwise")
        matrix, share = twin(complete)
        np.testing.assert_allclose(moments.covariance, matrix * 252, rtol=CLOSE)
        assert f"shrunk by {share:.1%} towards equal variances" in " ".join(moments.notes)
        assert "uses the 49 periods in which every asset has a return" in moments.notes[0]


def test_bayes_stein_as_jorion_writes_it(returns):
    moments = estimate_moments(returns, mean="shrunk", periods_per_year=1)
    T, N = returns.shape
    mu = returns.mean().to_numpy()
    sigma = np.linalg.inv(returns.cov().to_numpy() * (T - 1) / (T - N - 2))
    ones = np.ones(N)
    target = (ones @ sigma @ mu) / (ones @ sigma @ ones)
    excess = mu - target * ones
    share = (N + 2) / ((N + 2) + T * excess @ sigma @ excess)
    np.testing.assert_allclose(
        moments.expected_returns, (1 - share) * mu + share * target, rtol=1e-9
    )
    assert f"shrunk by {share:.0%} towards" in " ".join(moments.notes)
    assert 0 < share < 1


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_pair_of_estimators_on_a_bundled_market(mean, covariance):
    history = market("us20").history
    moments = estimate_moments(history, mean, covariance, 12)
    assert moments.positive_definite
    assert (moments.covariance.to_numpy() == moments.covariance.to_numpy().T).all()
    assert np.isfinite(moments.expected_returns).all()
    assert moments.mean == mean
    assert moments.covariance_method == covariance


def test_the_bundled_moments_are_these():
    us20 = market("us20")
    moments = estimate_moments(us20.history, periods_per_year=12)
    np.testing.assert_allclose(moments.expected_returns, us20.expected_returns, rtol=CLOSE)
    np.testing.assert_allclose(moments.covariance, us20.covariance, rtol=CLOSE)


def indefinite():
    """Three assets that are never all there at once, with correlations no three can have."""
    rng = np.random.default_rng(5)
    base = rng.normal(0, 0.05, 60)
    frame = pd.DataFrame(np.nan, index=range(180), columns=list("ABC"))
    for block, (one, other, sign) in enumerate((("A", "B", 1), ("B", "C", 1), ("A", "C", -1))):
        rows = slice(60 * block, 60 * block + 59)
        noise = rng.normal(0, 0.002, 60)
        frame.loc[rows, one] = base
        frame.loc[rows, other] = sign * base + noise
    return frame


def test_repair_only_when_asked_and_with_its_size():
    frame = indefinite()
    left = estimate_moments(frame, gaps="pairwise")
    assert not left.positive_definite
    assert not left.repaired
    assert left.notes[-1].startswith("The covariance is not positive definite (smallest eigenvalue")
    np.testing.assert_allclose(left.covariance, naive_covariance(frame) * 12, rtol=CLOSE)

    assert left.notes[-1].endswith('use repair=True or covariance="ledoit-wolf".')
    fixed = estimate_moments(frame, gaps="pairwise", repair=True)
    assert fixed.positive_definite
    assert fixed.repaired
    moved = np.abs(fixed.covariance.to_numpy() - left.covariance.to_numpy())
    assert f"at most by {moved.max():.3g}" in fixed.notes[-1]


def test_a_sound_covariance_is_not_touched_by_a_repair(returns):
    plain, repaired = (estimate_moments(returns, repair=repair) for repair in (False, True))
    pd.testing.assert_frame_equal(plain.covariance, repaired.covariance)
    assert not repaired.repaired


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_no_other_definite_matrix_is_nearer(seed, n):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, n))
    matrix = (matrix + matrix.T) / 2
    fixed = nearest_positive_definite(matrix)
    assert is_positive_definite(fixed)
    floor = REPAIR_FLOOR * max(np.linalg.eigvalsh(matrix)[-1], 0)
    for _ in range(20):
        step = rng.normal(size=(n, n)) * rng.choice([1e-3, 0.1, 1])
        values, vectors = np.linalg.eigh(fixed + step + step.T)
        rival = (vectors * np.maximum(values, floor)) @ vectors.T
        assert np.linalg.norm(rival - matrix) >= np.linalg.norm(fixed - matrix) - 1e-9


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"mean": "median"},
            "mean is 'median'; choose arithmetic, geometric, exponential or shrunk.",
        ),
        (
            {"covariance": "lw"},
            f"covariance is 'lw'; choose {', '.join(COVARIANCES[:-1])} or {COVARIANCES[-1]}.",
        ),
        ({"gaps": "fill"}, "gaps is 'fill'; choose likelihood, pairwise or complete."),
        ({"periods_per_year": 0}, "periods_per_year is 0; give 12 for months."),
        ({"half_life": -1}, "half_life is -1; give a positive number of periods."),
    ],
)
def test_wrong_choices(returns, arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        estimate_moments(returns, **arguments)
    assert str(caught.value) == sentence


def test_histories_that_cannot_be_used(returns):
    for change, sentence in (
        (lambda f: f.assign(A=np.nan), "A has fewer than 2 returns"),
        (lambda f: f.assign(A=1e9), "has a return of 1e+09, which no asset earns"),
        (lambda f: f[[]], "The history has no assets"),
        (
            lambda f: f.assign(A=f["A"].where(f.index < 40), B=f["B"].where(f.index > 50)),
            "A and B share fewer than 2 periods, so their covariance is unknown",
        ),
    ):
        with pytest.raises(ImopError, match="^.*" + sentence.replace("+", r"\+")):
            estimate_moments(change(returns), gaps="pairwise")
    with pytest.raises(InvalidInput, match="Shrunk means need more periods than assets plus two"):
        estimate_moments(returns.head(6), mean="shrunk")
    with pytest.raises(InvalidInput, match="Only 0 periods have a return for every asset"):
        estimate_moments(indefinite(), covariance="oas")


def test_given_moments_are_taken_as_they_are(tmp_path):
    paper = market("paper8")
    frame = pd.DataFrame(paper.covariance, index=paper.names, columns=paper.names)
    returns = pd.Series(paper.expected_returns, index=paper.names, name="expected_return")
    shuffled = frame.iloc[::-1, ::-1]
    for ending in ("csv", "xlsx", "parquet"):
        first, second = tmp_path / f"r.{ending}", tmp_path / f"c.{ending}"
        one, two = returns.rename_axis("asset").reset_index(), shuffled.rename_axis("asset")
        if ending == "csv":
            one.to_csv(first, index=False)
            two.to_csv(second)
        elif ending == "xlsx":
            one.to_excel(first, index=False)
            two.to_excel(second)
        else:
            one.to_parquet(first)
            two.reset_index().to_parquet(second)
        moments = read_moments(first, second)
        assert moments.expected_returns.to_dict() == returns.to_dict()
        pd.testing.assert_frame_equal(moments.covariance, frame)


@pytest.mark.parametrize(
    ("returns", "covariance", "sentence"),
    [
        (b"asset,r\nA,x\nB,y\n", b",A\nA,1\n", "r.csv: one column of expected returns is needed"),
        (b"asset,return\nA,0.1\nA,0.2\n", b",A\nA,1\n", "r.csv, row 3: A is there twice"),
        (b"asset,return\nA,0.1\nB,\n", b",A\nA,1\n", "r.csv, row 3, column return: the number is"),
        (b"asset,return\nA,0.1\n", b",B\nB,1\n", "c.csv has no row for A"),
        (
            b"asset,return\nA,0.1\nB,0.2\n",
            b",A,B\nA,1,0.2\nB,0.3,1\n",
            "c.csv is not symmetric: A with B is 0.2, B with A is 0.3; correct one of them.",
        ),
        (b"asset,return\nA,0.1\n", b",A\nA,-1\n", "c.csv: the variance of A is negative"),
        (b"asset,return\n", b",A\nA,-1\n", "r.csv has a header but no rows"),
    ],
)
def test_given_moments_that_do_not_fit(returns, covariance, sentence):
    with pytest.raises(UnreadableFile) as caught:
        read_moments(returns, covariance, names=("r.csv", "c.csv"))
    assert sentence in str(caught.value)


def test_given_covariance_is_repaired_only_when_asked():
    returns, covariance = b"asset,return\nA,0.1\nB,0.2\n", b",A,B\nA,1,2\nB,2,1\n"
    assert not read_moments(returns, covariance).positive_definite
    assert read_moments(returns, covariance, repair=True).positive_definite


def dated(frame):
    return frame.set_axis(pd.date_range("2010-01-31", periods=len(frame), freq="ME"))


def test_missing_returns_are_left_to_the_likelihood_by_default(gappy):
    fit = fit_missing(gappy.to_numpy())
    moments = estimate_moments(dated(gappy), periods_per_year=12)
    np.testing.assert_allclose(moments.expected_returns, fit.mean * 12, rtol=CLOSE)
    np.testing.assert_allclose(moments.covariance, fit.covariance * 12, rtol=CLOSE)
    np.testing.assert_allclose(moments.mean_covariance, fit.mean_covariance * 144, rtol=CLOSE)
    assert moments.positive_definite
    assert moments.periods_known.to_dict() == {"A": 90, "B": 60, "C": 89, "D": 90, "E": 80}
    gaps, means, covariance = moments.notes
    assert gaps == (
        "Some returns are missing: B (begins in July 2012, 60 of 90 periods), C (89 of 90 "
        "periods), E (80 of 90 periods). Means and covariances are those of the greatest "
        "likelihood given all returns there are; the other assets' returns in the missing periods "
        f"help to place the mean and the risk of these. {fit.extra_periods:.2g} further periods of "
        "unrelated assets are counted, so that the covariance is positive definite."
    )
    assert means == "Means are arithmetic, times 12."
    assert covariance == "The covariance is per period (greatest likelihood) times 12."


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_complete_history_knows_no_gaps(returns, mean, covariance):
    """The same digits whatever would be done about missing returns."""
    one, *others = (estimate_moments(returns, mean, covariance, gaps=gaps) for gaps in GAPS)
    for other in others:
        pd.testing.assert_series_equal(one.expected_returns, other.expected_returns)
        pd.testing.assert_frame_equal(one.covariance, other.covariance)
        assert one.notes == other.notes


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_gap_that_says_nothing_changes_hardly_anything(returns, mean, covariance):
    """Every estimator of the likelihood is near its twin on the complete history."""
    whole = estimate_moments(returns, mean, covariance)
    assert np.allclose(whole.mean_covariance, whole.mean_covariance.T)
    returns.iloc[7, 2] = np.nan
    holed = estimate_moments(returns, mean, covariance)
    assert holed.positive_definite
    risks = np.sqrt(np.diag(whole.covariance))
    moved = (holed.covariance - whole.covariance).to_numpy() / np.outer(risks, risks)
    assert np.abs(moved).max() < 0.03
    errors = np.sqrt(np.diag(whole.mean_covariance))
    assert (np.abs(holed.expected_returns - whole.expected_returns) < 0.2 * errors).all()


def test_the_error_of_the_means_by_the_two_older_rules(gappy):
    pairs = estimate_moments(gappy, gaps="pairwise", periods_per_year=12)
    known = gappy.notna()
    common = known.astype(int).T @ known.astype(int)
    wanted = pairs.covariance / 12 * common / np.outer(known.sum(), known.sum()) * 144
    np.testing.assert_allclose(pairs.mean_covariance, wanted, rtol=CLOSE)
    complete = estimate_moments(gappy, gaps="complete", periods_per_year=12)
    np.testing.assert_allclose(
        complete.mean_covariance, complete.covariance * 12 / len(gappy.dropna()), rtol=CLOSE
    )


def test_assets_that_never_meet_and_one_that_never_moves(returns):
    frame = returns.assign(
        A=returns["A"].where(returns.index < 40),
        B=returns["B"].where(returns.index > 50),
        C=0.001,
    )
    moments = estimate_moments(frame)
    assert moments.positive_definite
    assert "No period in common: A and B; how they move together is hardly known." in str(
        moments.notes[0]
    )
    assert moments.notes[1].startswith("C never moved; it gets a standard deviation of one ten-")


def test_errors_name_what_helps_in_the_words_of_the_place(returns):
    apart = returns.assign(
        A=returns["A"].where(returns.index < 40), B=returns["B"].where(returns.index > 50)
    )
    for words, said in ((PYTHON, 'gaps="likelihood"'), (SHELL, "--gaps likelihood")):
        with pytest.raises(InvalidInput) as caught:
            estimate_moments(apart, gaps="pairwise", words=words)
        assert str(caught.value).endswith(f"leave one of them out, or use {said}.")
    with pytest.raises(InvalidInput) as caught:
        estimate_moments(apart, covariance="oas", words=APP)
    assert str(caught.value) == (
        "Only 0 periods have a return for every asset; leave out the assets with short histories, "
        "or use “Sample” under Covariance."
    )
    flat = estimate_moments(returns.assign(B=returns["A"]), words=SHELL)
    assert flat.notes[-1].endswith("use --repair or --covariance-estimator ledoit-wolf.")
    given = read_moments(b"asset,return\nA,0.1\nB,0.2\n", b",A,B\nA,1,2\nB,2,1\n", words=APP)
    assert given.notes[-1].endswith("; use “Repair the covariance”.")
