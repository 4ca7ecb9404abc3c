"""The figures drawn from committed tables: true titles and bars, and nothing covered or cut off."""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from experiments.flat_size.settings import at_equal_loss
from experiments.harness.tables import read_results, with_parts

ROOT = Path(__file__).parents[2] / "experiments"
NAMES = sorted(path.parent.name for path in ROOT.glob("*/results.csv"))
MAX_BYTES = 200_000
HARD = "test_precise_hard_accuracy"
METHODS = ("gd", "ngd", "sign", "adam", "spectral", "muon")


def t_ends(values) -> np.ndarray:
    """The 95 % Student-t interval of a mean."""
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return np.mean(values) + np.array([-half, half])


@pytest.fixture(scope="module")
def drawn():
    """Every figure, laid out once."""
    found = {}
    for name in NAMES:
        figure = importlib.import_module(f"experiments.{name}.plot").plot(ROOT / name)
        figure.draw_without_rendering()
        figure.draw_without_rendering()  # ticks depend on the layout
        found[name] = figure
    return found


def means(results: pd.DataFrame, metric: str) -> pd.Series:
    return results[results["metric"] == metric].groupby("setting")["value"].mean()


def short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def in_figure1(results):
    random = results[results["setting"] != "substitute"]
    twins = random[random["metric"] == "twins_coincide"]["value"]
    return [f"{int(twins.sum())} of {twins.size} "]


def in_convergence(results):
    cosines = means(results, "cosine")
    return [f"{short(cosines[f'{m}, step 1000000'])} ({m})" for m in ("GD", "NGD", "Adam")]


def in_phase(results):
    shown = []
    for condition in ("separable_from", "compatible_from"):
        largest = means(results, condition).filter(like="m=48")
        shown.append(f"{short(largest.min())} to {short(largest.max())} m")
    return shown


def in_rates(results):
    floors = means(results, "loss_ratio_error")
    return [
        f"{100 * means(results, 'loss_constant_error')['GD']:.1f} % from the loss",
        f"{100 * floors.max():.1f} % from its",
    ]


def in_text(results):
    share = means(results, "separable_from_share")
    return [f"{short(share[f'T={T}'])} m (T = {T})" for T in (1, 3)]


def in_optimizers(results):
    leads = results[results["metric"] == "margin_ratio_own_lead"].groupby("setting")["value"]
    above = {setting: t_ends(v)[0] > 0 for setting, v in leads}
    counts = {S: sum(above[f"{method}, S={S}"] for method in METHODS) for S in (1, 3)}
    return [f"one-hot data {counts[1]} of 6", f"context {counts[3]} of 6"]


def in_losses(results):
    hard = means(results, HARD)
    small = hard[~hard.index.str.contains(", V=")]
    best = f"{small.idxmax()}: {short(small.max())}"
    references = ("cross-entropy", "cross-entropy, warm-up")
    return [best, *(f"{name}: {short(hard[name])}" for name in references)]


def in_context(results):
    pattern = r"(?P<loss>.*), context (?P<tokens>\d+)"
    hard = with_parts(results[results["metric"] == HARD], pattern)
    by_loss = hard.groupby(["loss", "tokens"])["value"].mean().unstack().dropna()
    ends = by_loss[[by_loss.columns.min(), by_loss.columns.max()]]
    return [f"{loss}: {short(a)} to {short(b)}" for loss, (a, b) in ends.iterrows()]


def in_anatomy(results):
    copies = means(results, "swap_copies")
    return [f"{setting}: {short(copies[setting])}" for setting in copies.index]


def in_learning_rates(results):
    hard = means(results, HARD)
    return [
        f"η = {rate}: cross-entropy {short(hard[f'cross-entropy η={rate}'])} and "
        f"{short(hard[f'cross-entropy η={rate}, warm-up'])}, E2 {short(hard[f'E2 λ=4 η={rate}'])} "
        f"and {short(hard[f'E2 λ=4 η={rate}, warm-up'])}"
        for rate in ("0.003", "0.006")
    ]


def in_width(results):
    hard = with_parts(
        results[results["metric"] == HARD], r".*, context (?P<tokens>\d+), width (?P<width>\d+)"
    )
    longest = hard[hard["tokens"] == hard["tokens"].max()]
    by_seed = longest.pivot(index="seed", columns="width", values="value").dropna()
    slopes = np.polyfit(np.log2(by_seed.columns.to_numpy()), by_seed.to_numpy().T, 1)[0]
    shown = [f"{number:+.3f}".replace("0.", ".", 1) for number in (slopes.mean(), *t_ends(slopes))]
    return [number.replace("-", "−") for number in shown]


def in_bench(results):
    update = results[results["metric"] == "update / PyTorch"]
    median = update[update["setting"].str.contains("GPT-NeoX 3L/32")]["value"].median()
    return [f"{short(median)} of PyTorch's time"]


def in_dyck(results):
    errors = means(results, "median_n20")
    digits = {"penalty, every m": 4, "plain, every m": 2, "kinked neurons, T=4": 3}
    shown = [f"{errors[setting]:.{n}f}".removeprefix("0") for setting, n in digits.items()]
    nearby = means(results, "nearby_ratio")["kinked neurons, T=4"]
    return [*shown, f"{nearby:.2f} of the bound"]


def in_bartlett(results):
    ends, away = means(results, "covariance_gap"), results[results["setting"] != "width 8"]
    farthest = away[away["metric"] == "covariance_gap"]["value"].max()
    on_average = away[away["metric"] == "divergence"]["value"].mean()
    return [
        f"within {ends['width 8']:.4f}".replace("0.", ".", 1),
        f"Tr F is {short(means(results, 'fisher_trace_at_paper')['width 8'])} of Tr H",
        f"{short(on_average)} nats away",
        f"within {farthest:.5f}".replace("0.", ".", 1),
    ]


def in_flow(results):
    falls, rates = means(results, "fall_ratio"), means(results, "doubling")
    return [
        f"{short(falls['network, η=0.025, B=1'])} times as far",
        f"1/{short(rates['network, η=0.025'])} of the rate",
        f"without noise the fall is {abs(falls['network without noise']):.2f}".replace("0.", "."),
    ]


def in_attribution(results):
    found = means(results, HARD)
    losses = {"cross-entropy": "cross-entropy", "E1": "E1 λ=2", "E2": "E2 λ=4", "E3": "E3 b=1"}
    return [
        f"{name} from {short(found[loss])} to {short(found[f'{loss}, warm-up'])}"
        for name, loss in losses.items()
    ]


def in_variance(results):
    """Four runs with consecutive seeds share a data set."""
    shown = []
    for setting, table in results[results["metric"] == HARD].groupby("setting"):
        groups = table.sort_values("seed")["value"].to_numpy().reshape(8, 4)
        within = groups.var(axis=1, ddof=1).mean()
        between = max(groups.mean(axis=1).var(ddof=1) - within / 4, 0)
        shown.append(f"{setting}: {short(between**0.5)} and {short(within**0.5)}")
    return shown


def in_elearn(results):
    right, logs = means(results, HARD), means(results, "matched_log_fisher_trace")

    def shown(setting, warm):
        times = np.exp(logs[setting + warm] - logs["cross-entropy" + warm])
        return f"× {times:.2f} ({short(right[setting + warm])})".replace("0.", ".", 1)

    return [
        f"{name} {shown(setting, warm)}"
        for warm in ("", ", warm-up")
        for name, setting in {"E1": "E1 λ=2", "E2": "E2 λ=4", "E3": "E3 b=1"}.items()
    ]


def in_text_copy(results):
    found = means(results, "test_exact_match")
    e1 = "E1 λ=1, warm-up", "E1 λ=0.5, warm-up"
    return [
        f"{text}: cross-entropy {short(found[f'cross-entropy, {text}'])}, "
        f"E1 with warm-up {short(found[f'{e1[0]}, {text}'])}, "
        f"at λ = .5 {short(found[f'{e1[1]}, {text}'])}"
        for text in ("King James", "Shakespeare")
    ]


def in_star(results):
    shares, paths = means(results, "spectral_share"), means(results, "test_exact_match")
    losses = ("cross-entropy", "E1 λ=1", "E3 b=1")
    shown = [f"{loss} {short(shares[f'{loss}, warm-up, tiny star'])}" for loss in losses]
    for rate in ("0.01", "0.003"):
        for loss in (*losses, "E2 λ=20"):
            setting = f"{loss} η={rate}, warm-up, wide star"
            shown.append(f"{loss} {short(shares[setting])} ({short(paths[setting])})")
    return shown


def in_time(results):
    gains, logs = (means(results, f"{m}_since_saturation") for m in ("accuracy_1", "fisher_trace"))
    names = {"AdamW": "AdamW", "SGD": "SGD", "slow SGD": "SGD at a fifth of the rate"}
    shown = []
    for world in ("PCFG", "HMM"):
        for name, way in names.items():
            setting = f"cross-entropy, warm-up, {world}, {way}"
            points = f"{100 * gains[setting]:+.1f}".replace("0.", ".")
            times = f"{np.exp(logs[setting]):.2f}".replace("0.", ".")
            shown.append(f"{name} {points} points (× {times})")
    return shown


def in_margins(results):
    right = means(results, "worst_group_accuracy")
    losses = ("cross-entropy", "E1 λ=0.5", "E2 λ=0.4", "E3 b=1")
    return [f"{loss}: {short(right[f'{loss}, B=10'])}" for loss in losses]


def in_estimators(results):
    both = results[results["metric"] == "coverage"].assign(
        setting=lambda rows: rows["setting"].str.replace(r", (start|saturated)$", "", regex=True)
    )
    shares = both.groupby("setting")["value"].mean()
    errors = means(results, "log_error")
    start, saturated = (
        np.exp(errors[f"Hutchinson, {stage}"] - errors[f"controlled, {stage}"])
        for stage in ("start", "saturated")
    )
    ends = [f"{share:.3f}".removeprefix("0") for share in (shares.min(), shares.max())]
    return [" to ".join(ends), f"{saturated:.0f} times", f"{start:.1f} at the start"]


def in_pretrained(results):
    least = means(results, "separable_from_share")
    return [
        " and ".join(f"{short(least[f'{embedding}, T={T}'])} m (T = {T})" for T in (2, 8))
        for embedding in ("pretrained", "permuted")
    ]


def in_size(results):
    found = []
    equal = at_equal_loss(results)
    for world in ("PCFG", "HMM"):
        narrow, wide = (
            means_of(equal, f"cross-entropy, warm-up, {world}, width {width}") for width in (16, 96)
        )
        ratios = [short(wide[name] / narrow[name]) for name in ("trace_released", "trace_balanced")]
        probes = f"probe {short(narrow['accuracy_1'])} to {short(wide['accuracy_1'])}"
        found.append(f"{probes}, trace × {ratios[0]} (s = 1/k), × {ratios[1]} (s = 1/√k)")
    return found


def means_of(results: pd.DataFrame, setting: str) -> pd.Series:
    return results[results["setting"] == setting].groupby("metric")["value"].mean()


def in_path_star(results):
    right = means(results, "test_exact_match")
    found = []
    for graph, guess in (("G(2,3)", ".50"), ("G(5,3)", ".20")):
        plain, e1, heads = (
            short(right[f"{method}, {graph}"])
            for method in (
                *("cross-entropy", "E1 λ=1, warm-up"),
                "cross-entropy, warm-up, multi-token heads",
            )
        )
        numbers = f"cross-entropy {plain}, E1 with warm-up {e1}, multi-token heads {heads}"
        found.append(f"{graph}, 1/d = {guess}: {numbers}")
    return found


def in_adversarial(results):
    found = []
    for world, weight in (("PCFG", "0.01"), ("HMM", "0.03")):
        before, after = (
            means_of(results, f"cross-entropy, warm-up, {world}, λ={w}") for w in ("0", weight)
        )
        kl = [f"{each['kl']:.3f}".removeprefix("0") for each in (before, after)]
        right = [short(each["accuracy_1"]) for each in (before, after)]
        trace = short(after["fisher_trace"] / before["fisher_trace"])
        found.append(f"KL {kl[0]} to {kl[1]}, probe {right[0]} to {right[1]}, trace × {trace}")
    return found


def in_flat_pretrained(results):
    ratios = means(results, "hessian_over_fisher")
    text, other = (
        short(ratios[f"pretrained, labels of {of}"]).replace("-", "−").replace("−0.", "−.")
        for of in ("the text", "other contexts")
    )
    return [f"{text} Tr F on text", f"{other} Tr F where"]


IN_TITLE: dict[str, Callable[[pd.DataFrame], list[str]]] = {
    "bench": in_bench,
    "el_copy_anatomy": in_anatomy,
    "el_copy_attribution": in_attribution,
    "el_copy_context": in_context,
    "el_copy_losses": in_losses,
    "el_copy_rates": in_learning_rates,
    "el_copy_variance": in_variance,
    "el_copy_width": in_width,
    "el_margins": in_margins,
    "el_path_star": in_path_star,
    "el_star_in_weights": in_star,
    "el_text_copy": in_text_copy,
    "flat_adversarial": in_adversarial,
    "flat_bartlett": in_bartlett,
    "flat_dyck": in_dyck,
    "flat_elearn": in_elearn,
    "flat_estimators": in_estimators,
    "flat_sgd_flow": in_flow,
    "flat_pretrained": in_flat_pretrained,
    "flat_size": in_size,
    "flat_time": in_time,
    "ntp_convergence": in_convergence,
    "ntp_figure1": in_figure1,
    "ntp_optimizers": in_optimizers,
    "ntp_phase": in_phase,
    "ntp_pretrained": in_pretrained,
    "ntp_rates": in_rates,
    "ntp_text": in_text,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_title_has_the_numbers_of_the_table(name, drawn):
    title = drawn[name].get_suptitle()
    for words in IN_TITLE[name](read_results(ROOT / name / "results.csv")):
        assert words in title


@pytest.mark.parametrize("name", NAMES)
def test_the_caption_has_the_numbers_of_the_title(name, drawn):
    readme = (ROOT / name / "README.md").read_text(encoding="utf-8")
    _, _, rest = readme.partition("](figure.png)\n\n*")
    caption = rest.split("*\n\n")[0]
    numbers = re.findall(r"[+−]?[\d,]*\.?\d+", re.sub(r"\$.*?\$", "", drawn[name].get_suptitle()))
    assert numbers
    assert not [number for number in numbers if number not in caption]


@pytest.mark.parametrize("name", NAMES)
def test_panels_are_lettered(name, drawn):
    titles = [ax.get_title(loc="left") for ax in drawn[name].axes]
    if len(titles) > 1:
        letters = ascii_lowercase[: len(titles)]
        assert [title[:4] for title in titles] == [f"({letter}) " for letter in letters]


@pytest.mark.parametrize("name", NAMES)
def test_no_legend_covers_data(name, drawn):
    assert covering(drawn[name]) == []


def covering(figure: Figure) -> list[str]:
    """The legends that lie on axes of a figure that was drawn."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    boxes = [ax.get_window_extent() for ax in figure.axes]
    return [
        legend.get_texts()[0].get_text()
        for legend in legends
        if legend is not None and any(legend.get_window_extent().overlaps(box) for box in boxes)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_all_words_lie_inside_the_picture_and_titles_apart(name, drawn):
    figure = drawn[name]
    page = figure.bbox.padded(1)
    titles = [ax._left_title for ax in figure.axes]  # no public name
    texts = [figure._suptitle, *titles, *(ax.yaxis.label for ax in figure.axes)]
    texts += [text for legend in figure.legends for text in legend.get_texts()]
    for text in filter(lambda text: text.get_text(), texts):
        box = text.get_window_extent()
        assert page.contains(box.x0, box.y0), text.get_text()
        assert page.contains(box.x1, box.y1), text.get_text()
    boxes = [title.get_window_extent() for title in titles]
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("el_copy")])
def test_every_chance_line_is_named(name, drawn):
    """Its own axes says so, or one beside it with the line at the same height."""
    named: dict[float, list] = {}
    for ax in drawn[name].axes:
        for line in ax.lines:
            if line.get_gid() == "chance":
                ends = line.get_xdata() if line.get_xdata()[0] else line.get_ydata()
                words = [text for text in ax.texts if f"{ends[0]:.2g}" in text.get_text()]
                row = round(ax.get_position().y0, 3), ends[0]
                named.setdefault(row, []).extend(words)
    assert named
    assert all(named.values())


@pytest.mark.parametrize("name", ["el_copy_context", "el_copy_losses", "el_copy_width", "ntp_text"])
def test_bars_are_the_interval_that_the_note_names(name, drawn):
    figure = drawn[name]
    notes = [figure.get_supxlabel(), *(legend.get_title().get_text() for legend in figure.legends)]
    assert "95 % t interval over" in " ".join(notes)
    results = read_results(ROOT / name / "results.csv")
    groups = results[np.isfinite(results["value"])].groupby(["setting", "metric"])["value"]
    expected = [t_ends(values) for _, values in groups if len(values) > 1]
    bars = [
        segment[:, int(segment[0, 0] == segment[1, 0])]
        for ax in figure.axes[:1]
        for container in ax.containers
        if isinstance(container, ErrorbarContainer)
        for lines in container.lines[2]
        for segment in lines.get_segments()
    ]
    assert bars
    for bar in bars:
        assert np.isclose(bar, expected, atol=1e-5).all(axis=1).any(), bar


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_picture_is_small(name):
    assert (ROOT / name / "figure.png").stat().st_size < MAX_BYTES
