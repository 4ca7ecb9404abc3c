"""The settings of this experiment, by context and width."""

from el_jax.plots.tables import SeedTable

PREFIX = "cross-entropy, context "
HARD_ACCURACY = "test_precise_hard_accuracy"


def by_context(results: SeedTable) -> dict[int, dict[int, str]]:
    """The settings with a measured accuracy: context -> width -> setting, both ascending."""
    found = []
    for setting, metric in results:
        if metric == HARD_ACCURACY and setting.startswith(PREFIX):
            context, width = setting.removeprefix(PREFIX).split(", width ")
            found.append((int(context), int(width), setting))
    contexts = sorted({context for context, _, _ in found})
    return {
        context: {width: setting for own, width, setting in sorted(found) if own == context}
        for context in contexts
    }
