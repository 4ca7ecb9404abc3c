"""Objectives on tokens after the next one, which a training adds to its token loss.

A method is one file and one line of ``FUTURE``: a function from the width of the hidden states, the
number of classes and its numbers to a ``Future``. They are known to solve the path-star task, where
next-token prediction guesses; here they are controls for losses on the next token only.
"""

from collections.abc import Callable

from el_jax.training.objectives.future.bag import bag
from el_jax.training.objectives.future.belief_state import belief_state
from el_jax.training.objectives.future.head import OWN, FutureHead, with_own_parameters
from el_jax.training.objectives.future.multi_token import multi_token
from el_jax.training.objectives.future.next_latent import next_latent
from el_jax.training.objectives.future.term import Answers, Future
from el_jax.training.objectives.future.token_order import token_order

FUTURE: dict[str, Callable[..., Future]] = {
    "multi_token": multi_token,
    "bag": bag,
    "token_order": token_order,
    "next_latent": next_latent,
    "belief_state": belief_state,
}
