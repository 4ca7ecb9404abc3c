"""Judge code for curvature.

    python -m el_jax.curvature.conformance PACKAGE:FUNCTION [--eigenvalues=...] [--trace=...]

Exits with 1 if a line is not passed. Takes one to three minutes; ``--only="layer norm"`` takes one
of the networks.
"""

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from el_jax.curvature.conformance import __doc__ as protocol
from el_jax.curvature.conformance.problems import NETWORKS, PROBLEMS, Problem
from el_jax.curvature.conformance.report import report
from el_jax.process.errors import UserError


def function_of(flag: str, name: str) -> Any:
    """Import the function ``PACKAGE:FUNCTION``; the package may be a file in the current folder.

    Raises:
        UserError: there is no such function.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UserError(f"{flag}={name!r}: must be PACKAGE:FUNCTION ({error})") from error


def watched(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yield the problems, and show each name on a terminal before it is judged."""
    print(f"judging {len(problems)} problems ...", file=sys.stderr, flush=True)
    for number, problem in enumerate(problems, start=1):
        if sys.stderr.isatty():
            line = f"{number}/{len(problems)}  {problem.name}"
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        yield problem
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Judge and print."""
    parser = argparse.ArgumentParser(
        prog="python -m el_jax.curvature.conformance",
        description=protocol,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("product", metavar="PACKAGE:FUNCTION")
    parser.add_argument("--eigenvalues", metavar="PACKAGE:FUNCTION")
    parser.add_argument("--trace", metavar="PACKAGE:FUNCTION")
    parser.add_argument("--only", choices=NETWORKS, help="problems of one network")
    given = parser.parse_args()
    try:
        top, trace = (
            function_of(f"--{flag}", name) if (name := getattr(given, flag)) else None
            for flag in ("eigenvalues", "trace")
        )
        product = function_of("product", given.product)
    except UserError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    problems = [p for p in PROBLEMS if given.only in (None, p.network)]
    lines = report(product, top=top, trace=trace, problems=watched(problems))
    if not lines:
        parser.exit(
            2, f"error: product={given.product!r}: has neither matrix, so nothing was judged\n"
        )
    for name, (passed, text) in lines.items():
        print(f"{'passes' if passed else 'FAILS '}  {name}: {text}")
    return 0 if all(passed for passed, _ in lines.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
