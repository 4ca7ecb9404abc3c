"""The padded-shifted copy task of Yang, Puli and Ranganath (2025), section 3.

A string is ``<BOS> seq padding <CLS> seq <EOS>`` and the model predicts the second ``seq``. In an
*easy* string the padding is ``seq`` with every letter shifted, repeated to fill the padding; in a
*hard* string it is noise. Two mechanisms solve easy strings: copying ``seq`` from the start
(correct everywhere), and undoing the shift of any padding letter (a shortcut, at chance on hard
strings). The swap test (``swap_set``) distinguishes them.

With seq of ``L_c`` letters and padding of ``L_p``, a string has ``2 L_c + L_p + 3`` tokens: 55
for the paper's (1, 50), eight of which fill its longest context, 440, and 2013 for (5, 2000).
"""

from dataclasses import dataclass
from string import ascii_lowercase
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from el_jax.process.errors import require
from el_jax.tasks.draws import letters_of, string_keys
from el_jax.tasks.packing import epoch_order, pack_windows, window_layout
from el_jax.tasks.sentences import FRESH_TRAIN_SPLIT
from el_jax.types import Batch, Key

# uses of a key derived from `data_seed`; one stream each, so no two draws are related
_TRAIN, _TEST, _SWAP = range(3)


class CopyStrings(NamedTuple):
    """Strings of the task, not yet packed into windows.

    Attributes:
        tokens: ``<BOS> seq padding <CLS> seq <EOS>``, ``[S, L]``.
        groups: 0 where the padding is the shifted seq (easy), 1 where it is not (hard), ``[S]``.
    """

    tokens: Int[Array, "S L"]
    groups: Int[Array, "S"]


@dataclass(frozen=True)
class PaddedCopy:
    """The padded-shifted copy task: its distribution, data sets and packing.

    Every method is a pure function of the fields and its arguments, and all but ``render`` can be
    jitted; the task is hashable and is a static argument. String ``i`` of a set depends on the key
    and on ``i`` only, so a larger set begins with the smaller one.

    As in the paper, an update reads the same strings whatever ``strings_per_window``. The paper
    does not say how strings share a window: here attention crosses strings unless ``doc_mask`` is
    set, since a longer context adds nothing but neighbours to memorise.

    Attributes:
        alphabet_size: letters of the alphabet, at least 2.
        copy_length: letters to copy, ``L_c``.
        padding_length: letters of padding, ``L_p``, at least ``L_c`` so that easy padding contains
            the whole answer.
        easy_fraction: probability ``p_s`` that a string is easy.
        shift: distance of the Caesar shift, in ``[0, alphabet_size)``.
        num_train: strings in the training set, a multiple of ``strings_per_update``; 0 draws new
            ones for every update, and the split "train" is then 1,024 other strings.
        strings_per_update: strings one update reads.
        strings_per_window: strings packed into one window, a divisor of ``strings_per_update``.
        grouping: ``"static"`` only reorders the updates each epoch, so a string keeps its
            neighbours; ``"reshuffled"`` permutes all strings.
        doc_mask: keep attention inside each string.
        reset_positions: restart positions at each string.
        supervise: ``"answer"``, or ``"all"`` for a loss on every token of training strings with a
            one-letter answer; data sets always supervise only answers.
        data_seed: seed of the data sets; the run's seed orders its updates.
    """

    alphabet_size: int = 26
    copy_length: int = 1
    padding_length: int = 50
    easy_fraction: float = 0.8
    shift: int = 1
    num_train: int = 400
    strings_per_update: int = 8
    strings_per_window: int = 1
    grouping: str = "static"
    doc_mask: bool = False
    reset_positions: bool = False
    supervise: str = "answer"
    data_seed: int = 0
    group_names: ClassVar[tuple[str, ...]] = ("easy", "hard")
    labels_follow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        letters, copied, update = self.alphabet_size, self.copy_length, self.strings_per_update
        padding, train, window = self.padding_length, self.num_train, self.strings_per_window
        # in this order: a later line may divide by a number that an earlier one checked
        require("alphabet_size", letters, letters >= 2, "at least 2")
        require("copy_length", copied, copied >= 1, "at least 1")
        require("padding_length", padding, padding >= copied, f"at least copy_length={copied}")
        require("easy_fraction", self.easy_fraction, 0 <= self.easy_fraction <= 1, "in [0, 1]")
        require("shift", self.shift, 0 <= self.shift < letters, f"in [0, {letters})")
        require("strings_per_update", update, update >= 1, "at least 1")
        allowed = f"0 or a multiple of strings_per_update={update}"
        require("num_train", train, train >= 0 and train % update == 0, allowed)
        allowed = f"a divisor of strings_per_update={update}"
        require("strings_per_window", window, window >= 1 and update % window == 0, allowed)
        groupings = ("static", "reshuffled")
        require("grouping", self.grouping, self.grouping in groupings, f"one of {groupings}")
        asked = ("answer", "all") if copied == 1 else ("answer",)
        allowed = f"one of {asked} with copy_length={copied}"
        require("supervise", self.supervise, self.supervise in asked, allowed)
        require("data_seed", self.data_seed, self.data_seed >= 0, "at least 0")

    @property
    def special_ids(self) -> tuple[int, int, int]:
        """Tokens BOS, CLS and EOS; the letters are ``0 .. alphabet_size - 1``."""
        return self.alphabet_size, self.alphabet_size + 1, self.alphabet_size + 2

    @property
    def token_names(self) -> list[str]:
        """The name of each token; letters past 26 are numbers."""
        n = self.alphabet_size
        letters = ascii_lowercase[:n] if n <= len(ascii_lowercase) else map(str, range(n))
        return [*letters, "<BOS>", "<CLS>", "<EOS>"]

    @property
    def vocab_size(self) -> int:
        """Letters and the three special tokens."""
        return self.alphabet_size + 3

    @property
    def string_length(self) -> int:
        """Tokens of one string, ``2 L_c + L_p + 3``."""
        return 2 * self.copy_length + self.padding_length + 3

    @property
    def window_length(self) -> int:
        """Tokens of one training window, the context length."""
        return self.strings_per_window * self.string_length

    @property
    def answer_length(self) -> int:
        """Supervised tokens of one string; an exact match has all correct."""
        return self.copy_length

    @property
    def chance(self) -> float:
        """Letter accuracy of guessing, and of the shortcut on hard strings.

        A hard string's padding is independent of its seq: no function of it beats guessing.
        """
        return 1 / self.alphabet_size

    def sample(self, key: Key, num: int) -> CopyStrings:
        """Draw ``num`` strings from the task's distribution.

        Tasks that differ only in ``easy_fraction`` or ``shift`` draw the same seqs and the
        same noise, and a larger ``easy_fraction`` only turns hard strings into easy ones.
        """
        letters_key, group_key = jax.random.split(key)
        drawn = self.copy_length + self.padding_length
        letters = letters_of(letters_key, num, drawn, 0, self.alphabet_size)
        seq, noise = letters[:, : self.copy_length], letters[:, self.copy_length :]
        easy = jax.vmap(jax.random.uniform)(string_keys(group_key, num)) < self.easy_fraction
        padding = jnp.where(easy[:, None], self._easy_padding(seq), noise)
        return CopyStrings(self._string(seq, padding), (~easy).astype(np.int32))

    def train_set(self) -> CopyStrings:
        """The training strings, or stand-ins if every update draws new ones."""
        return self.sample(self._key(_TRAIN), self.num_train or FRESH_TRAIN_SPLIT)

    def test_set(self, num: int) -> CopyStrings:
        """The first ``num`` test strings, drawn like the training strings but separately."""
        return self.sample(self._key(_TEST), num)

    def swap_set(self, num: int) -> tuple[CopyStrings, Int[Array, "num L_c"]]:
        """Strings on which copying and undoing the shift always give different answers.

        The padding is the shift of another seq, uniform among those that differ from the true one
        in every letter; it looks like an easy string's. The shares of answers equal to the labels
        and to the shortcut's answers show which mechanism a model uses.

        Returns:
            The strings, in the hard group, and the shortcut's answer to each, ``[num, L_c]``.
        """
        seq_key, offset_key = jax.random.split(self._key(_SWAP))
        seq = letters_of(seq_key, num, self.copy_length, 0, self.alphabet_size)
        offset = letters_of(offset_key, num, self.copy_length, 1, self.alphabet_size)
        shortcut_labels = (seq + offset) % self.alphabet_size
        tokens = self._string(seq, self._easy_padding(shortcut_labels))
        return CopyStrings(tokens, jnp.ones((num,), jnp.int32)), shortcut_labels

    def pack(self, strings: CopyStrings, *, strings_per_window: int | None = None) -> Batch:
        """Concatenate consecutive strings into windows and supervise each one's copy.

        Args:
            strings: ``S`` strings.
            strings_per_window: ``n``, the task's own when None; 1 gives unpacked strings.

        Returns:
            ``S / n`` windows of ``n L`` tokens with ``P = n L_c`` supervised slots; ``[B, P]``
            reshaped to ``[S, L_c]`` has one string's answer per row.

        Raises:
            ValueError: if ``n`` does not divide the number of strings.
        """
        places = self._cls_place + np.arange(self.copy_length)
        return self._windows(strings, places, self._packed(strings_per_window))

    def batch_at(self, train_set: CopyStrings, step: int | Int[Array, ""], key: Key) -> Batch:
        """The windows that an update reads; their strings depend on the arguments and ``grouping``.

        Args:
            train_set: the training strings; unused if updates draw new ones.
            step: number of earlier updates; may be traced.
            key: one per run; it draws the strings, or reshuffles them each epoch.

        Raises:
            ValueError: if ``train_set`` does not hold ``num_train`` strings.
        """
        if self.num_train:
            num, given = self.num_train, len(train_set.tokens)  # indexing past the end would clamp
            require("num_train", num, num == given, f"the number of strings given, {given}")
            epoch, update = divmod(step, num // self.strings_per_update)
            of_epoch, static = jax.random.fold_in(key, epoch), self.grouping == "static"
            chosen = epoch_order(of_epoch, num, self.strings_per_update, static=static)[update]
            strings = CopyStrings(train_set.tokens[chosen], train_set.groups[chosen])
        else:
            strings = self.sample(jax.random.fold_in(key, step), self.strings_per_update)
        if self.supervise == "answer":
            return self.pack(strings)
        return self._windows(strings, np.arange(self.string_length - 1), self.strings_per_window)

    def attention_targets(
        self, strings_per_window: int | None = None
    ) -> tuple[Int[Array, "P"], Bool[Array, "P T"]]:
        """Positions that the two mechanisms read, for each supervised slot of a packed window.

        Returns:
            The position of the letter to copy, ``[P]``, and a mask of the padding in the slot's own
            string, ``[P, T]``.
        """
        string, place = window_layout(self._packed(strings_per_window), self.string_length)
        answer = np.flatnonzero((place >= 1) & (place <= self.copy_length))
        is_padding = (place > self.copy_length) & (place < self._cls_place)
        own = string == string[answer][:, None]  # the letter to copy is in the slot's own string
        return jnp.asarray(answer, jnp.int32), jnp.asarray(own & is_padding)

    def render(self, tokens: Int[Array | np.ndarray, "T"], *, max_padding: int = 8) -> str:
        """Render strings, such as ``<BOS>g hhhhhhhh… <CLS>g<EOS>``; numbers if over 26 letters.

        Args:
            tokens: tokens of one or several whole strings.
            max_padding: letters of padding shown before an ellipsis.

        Raises:
            ValueError: if ``tokens`` are not whole strings.
        """
        length, start, end = self.string_length, 1 + self.copy_length, self._cls_place
        if tokens.size % length:
            raise ValueError(f"tokens of shape {tokens.shape}: must be strings of {length}")
        names, spelled = self.token_names, self.alphabet_size <= len(ascii_lowercase)

        def write(tokens: list[int]) -> str:
            return ("" if spelled else ",").join(names[token] for token in tokens)

        more = "…" * (self.padding_length > max_padding)
        return " ".join(
            f"{names[row[0]]}{write(row[1:start])} {write(row[start:end][:max_padding])}{more} "
            f"{names[row[end]]}{write(row[end + 1 : -1])}{names[row[-1]]}"
            for row in np.reshape(tokens, (-1, length)).tolist()
        )

    @property
    def _cls_place(self) -> int:
        return 1 + self.copy_length + self.padding_length

    def _windows(self, strings: CopyStrings, places: np.ndarray, strings_per_window: int) -> Batch:
        return pack_windows(
            *strings,
            places,
            strings_per_window=strings_per_window,
            reset_positions=self.reset_positions,
            doc_mask=self.doc_mask,
        )

    def _packed(self, strings_per_window: int | None) -> int:
        return self.strings_per_window if strings_per_window is None else strings_per_window

    def _key(self, stream: int) -> Key:
        return jax.random.fold_in(jax.random.key(self.data_seed), stream)

    def _easy_padding(self, seq: Int[Array, "S L_c"]) -> Int[Array, "S L_p"]:
        place = np.arange(self.padding_length) % self.copy_length
        return (seq[:, place] + self.shift) % self.alphabet_size

    def _string(self, seq: Int[Array, "S L_c"], padding: Int[Array, "S L_p"]) -> Int[Array, "S L"]:
        bos, cls, eos = (jnp.full((len(seq), 1), token, jnp.int32) for token in self.special_ids)
        return jnp.concatenate([bos, seq, padding, cls, seq, eos], axis=1)
