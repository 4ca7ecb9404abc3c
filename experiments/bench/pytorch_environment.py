"""A Python that has PyTorch: this one, or an environment of the benchmark's own."""

import sys

from el_jax.runtime.own_environment import NoEnvironmentError, OwnEnvironment, works

# PyTorch without CUDA, 0.2 GB instead of 3 GB, where the configured index has it
CPU_TORCH, ANY_TORCH = "torch==2.13.0+cpu", "torch"
OTHERS = (
    "transformers>=5",
    *("numpy", "scipy", "tqdm", "einops", "einconv", "linear_operator", "opt-einsum", "unfoldNd"),
)
# ask for torchvision, which nothing here uses; one built for another PyTorch breaks transformers
WITHOUT_NEEDS = ("PyHessian", "backpack-for-pytorch>=1.6", "curvlinops-for-pytorch>=3")
_CHECK = (
    "import torch, transformers, curvlinops, pyhessian; transformers.GPTNeoXForCausalLM; "
    "assert int(transformers.__version__.split('.')[0]) >= 5; "
    "assert {cuda} <= torch.cuda.is_available()"
)


class NoPyTorchError(RuntimeError):
    """PyTorch cannot be had; the message is one line."""


def python_with_pytorch(*, cuda: bool, install: bool = True) -> str:
    """The interpreter to start PyTorch's side with; installs it once.

    Args:
        cuda: True if PyTorch must see a GPU.
        install: True if an environment may be made; otherwise only an existing one is used.

    Raises:
        NoPyTorchError: pip could not install it.
    """
    own = OwnEnvironment(
        folder_name="pytorch_cuda" if cuda else "pytorch",
        contents="PyTorch",
        size="5 GB" if cuda else "1 GB",
        choices=tuple(
            (torch, *OTHERS) for torch in ([ANY_TORCH] if cuda else [CPU_TORCH, ANY_TORCH])
        ),
        check=_CHECK.format(cuda=cuda),
        without_needs=WITHOUT_NEEDS,
    )
    if works(sys.executable, own.check):
        return sys.executable
    try:
        return own.python(install=install)
    except NoEnvironmentError as error:
        raise NoPyTorchError(str(error)) from error
