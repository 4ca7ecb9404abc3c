"""Facts are read in the text of a compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from el_jax.planning.compiled_text import CompiledText, Message, Product

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
    assert text_of(once, VECTOR).messages() == [Message("all-reduce", 128, 1.0, looped=False)]

    def looped(x):
        step = over_two(lambda x: jax.lax.psum(jnp.sin(x), "two"))
        return jax.lax.scan(lambda c, _: (jnp.tile(step(c), 2), None), x, None, length=5)

    found = text_of(looped, VECTOR).messages()
    assert Message("all-reduce", 128, 5.0, looped=True) in found
    assert text_of(jnp.sin, VECTOR).messages() == []


def test_exchanges_with_the_host_are_found():
    def calls_back(x):
        return jax.pure_callback(np.sin, VECTOR, x)

    assert len(text_of(calls_back, VECTOR).host_transfers()) == 1
    assert text_of(jnp.sin, VECTOR).host_transfers() == []


def test_the_largest_array_is_that_of_an_instruction_that_is_executed():
    def outer(x):
        return jnp.sort(x[:, None] * x[None, :], axis=0).sum()

    largest = text_of(outer, VECTOR).largest()
    assert "f32[64,64]" in largest.shape


PRODUCTS = """
%fused (a: bf16[8,4], b: bf16[4,8]) -> bf16[8,8] {
  %a = bf16[8,4]{1,0} parameter(0)
  %b = bf16[4,8]{1,0} parameter(1)
  %scores = f32[8,8]{1,0:T(8,128)S(1)} convolution(%a, %b), dim_labels=bf_io->bf
  %weights = f32[8,8]{1,0} exponential(%scores)
  ROOT %convert = bf16[8,8]{1,0} convert(%weights)
}

ENTRY %main (p: bf16[8,4], q: bf16[4,8]) -> bf16[8,4] {
  %p = bf16[8,4]{1,0} parameter(0)
  %q = bf16[4,8]{1,0} parameter(1)
  %fusion = bf16[8,8]{1,0} fusion(%p, %q), kind=kOutput, calls=%fused
  %gemm = (bf16[8,4]{1,0}, s8[64]{0}) custom-call(%fusion, %p), backend_config={"gemm_config":{}}
  ROOT %out = bf16[8,4]{1,0} get-tuple-element(%gemm), index=0
}
"""


def test_products_and_exponentials_have_their_types():
    text = CompiledText(PRODUCTS)
    assert text.products() == [Product("bf16", "f32", (8, 8)), Product("bf16", "bf16", (8, 4))]
    assert text.exponential_types() == {"f32": 1}


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


SLICES = """
ENTRY %main (p: f32[8]) -> f32[8] {
  %start = token[] after-all()
  %send = (f32[8]{0:T(128)}, u32[], token[]) send(%p, %start), is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime",_xla_megascale_transfer_type="ALL_REDUCE"}
  %done = token[] send-done(%send), frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}
  %told = (f32[8]{0}, u32[], token[]) send(%p, %start), is_host_transfer=true
  ROOT %out = f32[8] copy(%p)
}
"""  # noqa: E501


def test_a_message_between_slices_is_no_exchange_with_the_host():
    text = CompiledText(SLICES)
    assert text.messages() == [Message("all-reduce between slices", 32, 1.0, looped=False)]
    assert text.host_transfers() == ["told"]


def test_cycles_count_as_often_as_their_loop_turns():
    text = CompiledText(TPU)
    assert text.entry == "main"
    assert text.cycles() == 7 + 40 * 100
    assert text.messages() == [Message("all-reduce", 32, 40.0, looped=True)]
