"""SmolLM2-135M as its package has it, on the beginning of Genesis."""

import gguf
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

LENGTH = 256  # tokens that are predicted in each of the two windows
LAYERS, HEADS, KEY_HEADS, SIZE = 30, 9, 3, 64
BASE, EPSILON = 1e5, 1e-5


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


def every_token(windows):
    """Each token of the windows but the first is asked for."""
    asked = jnp.broadcast_to(jnp.arange(windows.shape[1] - 1), windows[:, 1:].shape)
    return Batch(windows[:, :-1], asked, jnp.asarray(windows[:, 1:]), asked >= 0, 0 * asked)


def measured(network, windows):
    """Nats of every token, and whether it is the most probable one; logits."""
    model, params = network
    batch = every_token(windows)
    logits = model.apply(params, batch)
    stats = token_stats(logits, batch.labels)
    return np.asarray(cross_entropy(stats)), np.asarray(stats.label_logit > stats.max_other), logits


def test_the_first_two_windows_of_genesis(network, windows):
    nats, right, _ = measured(network, windows)
    assert nats.mean() == pytest.approx(1.6155, abs=1e-3)  # another program's; a guess has 10.8
    assert nats.mean() == pytest.approx(1.61596, abs=5e-5)  # logits_in_float64 on both windows
    assert nats[:, :64].mean() == pytest.approx(2.40, abs=5e-3)
    assert nats[:, -64:].mean() == pytest.approx(1.55, abs=5e-3)
    assert right.mean() == 304 / 512


def test_logits_are_those_of_plain_arithmetic_on_the_tensors_of_the_file(file, network, windows):
    start = windows[:1, :25]
    nats, _, logits = measured(network, start)
    expected = logits_in_float64(file, start[0, :-1])
    np.testing.assert_allclose(logits[0], expected, atol=1e-3)  # logits reach 30
    wanted = np.log(np.exp(expected).sum(-1)) - expected[np.arange(24), start[0, 1:]]
    np.testing.assert_allclose(nats[0], wanted, atol=1e-4)


@pytest.mark.usefixtures("file")
def test_a_text_is_continued(capsys):
    begun = "In the beginning God created the heaven and the"
    assert generate.main(["smollm2", begun, "--tokens=6", "--temperature=0"]) == 0
    assert capsys.readouterr().out.startswith(" earth")


def logits_in_float64(file, tokens):
    """The model as llama.cpp has it, with its order of queries and keys."""
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}

    def weights(name):
        tensor = tensors[f"{name}.weight"]
        return gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def normed(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * weights(name)

    def heads(x, name, num):
        return (x @ weights(name).T).reshape(len(x), num, SIZE)

    angles = np.arange(len(tokens))[:, None, None] * BASE ** (-np.arange(0, SIZE, 2) / SIZE)
    turn = np.exp(1j * angles)

    def turned(x):  # entries 2j and 2j + 1 of a head are a complex number
        pairs = np.ascontiguousarray(x).view(np.complex128) * turn
        return pairs.view(np.float64)

    table = weights("token_embd")
    later = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    x = table[tokens]
    for name in (f"blk.{i}" for i in range(LAYERS)):
        inputs = normed(x, f"{name}.attn_norm")
        query = turned(heads(inputs, f"{name}.attn_q", HEADS))
        key = turned(heads(inputs, f"{name}.attn_k", KEY_HEADS)).repeat(HEADS // KEY_HEADS, 1)
        value = heads(inputs, f"{name}.attn_v", KEY_HEADS).repeat(HEADS // KEY_HEADS, 1)
        scores = np.exp(np.einsum("qhk,thk->hqt", query, key) / np.sqrt(SIZE) + later)
        mixed = np.einsum("hqt,thk->qhk", scores / scores.sum(-1, keepdims=True), value)
        x = x + mixed.reshape(len(x), -1) @ weights(f"{name}.attn_output").T
        inputs = normed(x, f"{name}.ffn_norm")
        gate = inputs @ weights(f"{name}.ffn_gate").T
        hidden = gate / (1 + np.exp(-gate)) * (inputs @ weights(f"{name}.ffn_up").T)
        x = x + hidden @ weights(f"{name}.ffn_down").T
    return normed(x, "output_norm") @ table.T
