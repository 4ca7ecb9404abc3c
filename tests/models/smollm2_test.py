"""SmolLM2-135M as its package has it, on the beginning of Genesis."""

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import generate
from el_jax.losses import cross_entropy, token_stats
from el_jax.models.pretrained import load_pretrained
from el_jax.process.errors import MissingPackageError
from el_jax.tasks.king_james import verses
from el_jax.tokenizers import load_tokenizer, smollm2_gguf
from el_jax.types import Batch

LENGTH = 256  # tokens predicted in each of the two windows


@pytest.fixture(scope="module")
def file():
    try:
        return smollm2_gguf()
    except MissingPackageError as error:
        pytest.skip(f"98 MB: {error}")


@pytest.fixture(scope="module")
def network(file):
    """The model and its parameters."""
    return load_pretrained(file)[:2]


@pytest.fixture(scope="module")
def windows():
    """The first 2 × 257 tokens of Genesis, its verses joined by spaces, nothing before them."""
    text = " ".join(verse for book, verse in verses() if book == "Genesis")
    ids = load_tokenizer("smollm2").encode(text).ids
    return np.array(ids[: 2 * (LENGTH + 1)]).reshape(2, LENGTH + 1)


def test_the_first_two_windows_of_genesis(network, windows):
    asked = jnp.broadcast_to(jnp.arange(LENGTH), (2, LENGTH))
    batch = Batch(windows[:, :-1], asked, jnp.asarray(windows[:, 1:]), asked >= 0, 0 * asked)
    model, params = network
    stats = token_stats(model.apply(params, batch), batch.labels)
    nats, right = cross_entropy(stats), stats.label_logit > stats.max_other
    assert nats.mean() == pytest.approx(1.6155, abs=1e-3)  # by another program; a guess has 10.8
    assert nats.mean() == pytest.approx(1.61596, abs=5e-5)  # by a forward pass in float64
    assert nats[:, :64].mean() == pytest.approx(2.40, abs=5e-3)
    assert nats[:, -64:].mean() == pytest.approx(1.55, abs=5e-3)
    assert right.mean() == 304 / 512


@pytest.mark.usefixtures("file")
def test_a_text_is_continued(capsys):
    begun = "In the beginning God created the heaven and the"
    assert generate.main(["smollm2", begun, "--tokens=6", "--temperature=0"]) == 0
    assert capsys.readouterr().out.startswith(" earth")
