"""Curvature by other tools, in the form that :mod:`el_jax.curvature.conformance` asks for.

    python -m tests.peers.curvature_tools [TOOL]

Needs both PyTorch and el_jax. Prints the report of a tool as JSON; without a name, prints the tools
with their versions.
"""

import importlib.metadata
import json
import sys
import warnings

import torch

from el_jax.curvature.conformance import IGNORED, report

torch.set_num_threads(1)
warnings.simplefilter("ignore")  # PyTorch's, about versions and deprecations


def tensors_of(problem, tree):
    return {name: torch.tensor(x, dtype=getattr(torch, problem.dtype)) for name, x in tree.items()}


def arrays_of(tree):
    return {name: x.detach().double().numpy() for name, x in tree.items()}


class Logits(torch.nn.Module):
    """A problem's network as a module, from windows to the logits of all their positions."""

    def __init__(self, problem):
        super().__init__()
        self.problem, self.names = problem, list(problem.params)
        leaves = tensors_of(problem, problem.params).values()
        self.leaves = torch.nn.ParameterList(torch.nn.Parameter(leaf) for leaf in leaves)

    def forward(self, tokens):
        return self.problem.logits(dict(zip(self.names, self.leaves, strict=True)), tokens).flatten(
            0, 1
        )


def data_of(problem):
    return [tuple(map(torch.from_numpy, (b.tokens, b.labels.flatten()))) for b in problem.batches]


def criterion():
    return torch.nn.CrossEntropyLoss(ignore_index=IGNORED)


def in_order(problem, function):
    """Turn a product on lists of leaves into one on dicts."""

    def product(v):
        found = function([*tensors_of(problem, v).values()])
        return arrays_of(dict(zip(problem.params, found, strict=True)))

    return product


def mean_loss(problem):
    """The mean over all supervised positions: each batch is weighted by its number of them."""
    counts = [int((batch.labels != IGNORED).sum()) for batch in problem.batches]
    batches = [
        b._replace(tokens=torch.from_numpy(b.tokens), labels=torch.from_numpy(b.labels))
        for b in problem.batches
    ]
    return lambda params: (
        sum(n * problem.loss(params, b) for n, b in zip(counts, batches, strict=True)) / sum(counts)
    )


def only_hessian(function):
    def product(problem):
        if problem.matrix != "hessian":
            raise NotImplementedError("the Hessian only")
        return function(problem)

    return product


@only_hessian
def autograd(problem):
    def product(v):
        params = {n: x.requires_grad_() for n, x in tensors_of(problem, problem.params).items()}
        leaves = [*params.values()]
        slopes = torch.autograd.grad(mean_loss(problem)(params), leaves, create_graph=True)
        along = sum(
            (g * x).sum() for g, x in zip(slopes, tensors_of(problem, v).values(), strict=True)
        )
        found = torch.autograd.grad(along, leaves, materialize_grads=True)
        return arrays_of(dict(zip(params, found, strict=True)))

    return product


def over_reverse(slopes_of):
    @only_hessian
    def product(problem):
        params, loss = tensors_of(problem, problem.params), mean_loss(problem)
        return lambda v: arrays_of(
            torch.func.jvp(slopes_of(loss), (params,), (tensors_of(problem, v),))[1]
        )

    return product


def curvlinops(problem):
    from curvlinops import GGNLinearOperator, HessianLinearOperator

    kind = HessianLinearOperator if problem.matrix == "hessian" else GGNLinearOperator
    model = Logits(problem)
    params = [*model.parameters()]
    once = {"check_deterministic": False}  # the check reads the data once more
    return in_order(problem, kind(model, criterion(), params, data_of(problem), **once).__matmul__)


def of_pyhessian(problem):
    from pyhessian import hessian

    return hessian(Logits(problem).eval(), criterion(), dataloader=data_of(problem), cuda=False)


@only_hessian
def pyhessian(problem):
    operator = of_pyhessian(problem)
    return in_order(problem, lambda v: operator.dataloader_hv_product(v)[1])


def backpack(problem):
    from backpack.hessianfree.ggnvp import ggn_vector_product
    from backpack.hessianfree.hvp import hessian_vector_product

    model = Logits(problem)
    leaves = [*model.parameters()]
    outputs, labels = map(
        torch.cat, zip(*((model(x), y) for x, y in data_of(problem)), strict=True)
    )
    loss = criterion()(outputs, labels)
    if problem.matrix == "hessian":
        return in_order(problem, lambda v: hessian_vector_product(loss, leaves, v))
    return in_order(problem, lambda v: ggn_vector_product(loss, outputs, model, v))


TOOLS = {  # name -> the functions of the tool, and its package
    "torch.autograd.grad, twice": ({"product": autograd}, "torch"),
    "torch.func.jvp of grad": ({"product": over_reverse(torch.func.grad)}, "torch"),
    "torch.func.jvp of jacrev": ({"product": over_reverse(torch.func.jacrev)}, "torch"),
    "curvlinops": ({"product": curvlinops}, "curvlinops-for-pytorch"),
    "BackPACK": ({"product": backpack}, "backpack-for-pytorch"),
    "PyHessian": (
        {
            "product": pyhessian,
            "top": lambda problem, num: of_pyhessian(problem).eigenvalues(top_n=num)[0],
            "trace": lambda problem, _: [sum(of_pyhessian(problem).trace())],
        },
        "PyHessian",
    ),
}


def main():
    if len(sys.argv) > 1:
        asked, _ = TOOLS[sys.argv[1]]
        print(json.dumps(report(**asked, say=lambda line: print(line, file=sys.stderr))))
    else:
        packages = {name: package for name, (_, package) in TOOLS.items()}
        print(json.dumps({n: f"{p} {importlib.metadata.version(p)}" for n, p in packages.items()}))


if __name__ == "__main__":
    main()
