"""Messages and cycles are read from the text of a compiled program."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from el_jax.planning.compiled_text import CompiledText, Message

TWO = PartitionSpec("two")


def text_of(function, *shapes):
    return CompiledText(jax.jit(function).lower(*shapes).compile().as_text())


def over_two(function):
    mesh = jax.make_mesh((2,), ("two",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(
        function, mesh=mesh, in_specs=TWO, out_specs=PartitionSpec(), check_vma=False
    )


VECTOR = jax.ShapeDtypeStruct((64,), jnp.float32)


def test_messages_have_their_bytes_and_turns():
    once = over_two(lambda x: jax.lax.psum(x, "two"))
    assert text_of(once, VECTOR).messages() == [Message("all-reduce", 128, 1.0)]

    def looped(x):
        step = over_two(lambda x: jax.lax.psum(jnp.sin(x), "two"))
        return jax.lax.scan(lambda c, _: (jnp.tile(step(c), 2), None), x, None, length=5)

    found = text_of(looped, VECTOR)
    assert Message("all-reduce", 128, 5.0) in found.messages()
    assert Message("all-reduce", 128, 0.5) in found.messages(num_updates=10)
    assert text_of(jnp.sin, VECTOR).messages() == []


TPU = """
HloModule jit_f
%body.1 (arg: (s32[], f32[8])) -> (s32[], f32[8]) {
  %fusion.1 = f32[8]{0:T(128)} fusion(%x), backend_config={"a":{"estimated_cycles":"100"}}
  %all-reduce-start.1 = f32[8]{0} all-reduce-start(%fusion.1), to_apply=%add
  ROOT %tuple.1 = (s32[], f32[8]) tuple(%i, %fusion.1)
}

%condition.1 (arg: (s32[], f32[8])) -> pred[] {
  %constant.5 = s32[]{:T(128)} constant(40), metadata={op_name="limit"}
  ROOT %lt.1 = pred[] compare(%i, %constant.5), direction=LT
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %copy.1 = f32[8]{0} copy(%p), backend_config={"estimated_cycles":"7"}
  %while.1 = (s32[], /*index=1*/f32[8]) while(%copy.1), condition=%condition.1, body=%body.1
  ROOT %out = f32[8] get-tuple-element(%while.1), index=1
}
"""


def test_cycles_count_as_often_as_their_loop_turns():
    text = CompiledText(TPU)
    assert text.cycles() == 7 + 40 * 100
    assert text.messages() == [Message("all-reduce", 32, 40.0)]


STARTS = """
ENTRY %main (p: f32[8]) -> f32[8] {
  %g.1 = (f32[2]{0}, f32[8]{0}) all-gather-start(%p), dimensions={0}
  %g.2 = ((f32[2]{0}, bf16[4]{0}), (f32[8]{0}, bf16[16]{0})) all-gather-start(%p, %q)
  %s.1 = (f32[8]{0:T(128)}, f32[2]{0:T(128)}, u32[], u32[]) reduce-scatter-start(%p)
  %c.1 = (f32[8]{0}, f32[8]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(%p)
}
"""


def test_start_of_an_asynchronous_message_counts_its_results_alone():
    assert CompiledText(STARTS).messages() == [
        Message("all-gather", 32, 1.0),
        Message("all-gather", 32 + 32, 1.0),
        Message("reduce-scatter", 8, 1.0),
        Message("collective-permute", 32, 1.0),
    ]
