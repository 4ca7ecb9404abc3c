"""Words of the King James Bible as contexts and next tokens.

    python -m el_jax.analyze_ntp --config=configs/linear_ntp/text.py:T=2,d=256 --workdir=runs/kjv

Arguments after the colon: ``T`` words per context, ``d`` dimensions, ``V`` words kept (the others
share one token, in contexts, too), ``words`` read from Genesis, the word to ``start`` at,
``embedding`` (gaussian|bag_of_words|one_hot_positions), ``prefixes`` (contexts are all
prefixes of sequences of T + 1 words, as in Appendix C), ``seed``, ``steps`` of gradient descent
(0: none). Cost: seconds to a minute.
"""

from ml_collections import ConfigDict

from configs import common


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        T=2,
        d=256,
        V=60,
        words=1500,
        start=0,
        embedding="gaussian",
        prefixes=False,
        seed=0,
        steps=2_000,
    )
    config = ConfigDict()
    config.problem = {
        "name": "text",
        "books": ("Genesis",),
        "first_word": given.start,
        "num_words": given.words,
        "context_length": given.T,
        "vocab_limit": given.V,
        "min_count": 1,
        "embedding": given.embedding,
        "dim": given.d,
        "seed": given.seed,
        "all_prefixes": given.prefixes,
    }
    config.norms = ("frobenius",)  # the others take minutes at this size
    config.trajectory = common.trajectory(num_steps=given.steps)
    return config
