"""Next-token prediction with a linear decoder on frozen embeddings, in float64.

When are the data separable, and towards which max-margin matrix does training go? (Thrampoulidis
2024, arXiv 2402.18551.) ``problem.py`` defines the data and the notation; ``attention.py`` answers
the same of one attention layer. Public functions take NumPy or JAX arrays and return NumPy float64:
they enter ``float64()`` and compile themselves, so nothing depends on the precision of the rest of
the program.
"""

from el_jax.linear_ntp.analysis import Analysis, analyze
from el_jax.linear_ntp.attention import AttentionProblem, finite_part, graph_svm
from el_jax.linear_ntp.problems.builders import (
    antipodal_problem,
    crowded_problem,
    duplicate_problem,
    facet_problem,
    figure1_problem,
    one_hot_problem,
    orthonormal_problem,
    random_problem,
    teacher_problem,
)
from el_jax.linear_ntp.problems.corpus import (
    TokenProblem,
    bag_of_tokens,
    from_counts,
    from_tokens,
    load_activations,
    load_array,
    one_hot_positions,
)
from el_jax.linear_ntp.problems.problem import NTPProblem, coinciding_contexts, merge_contexts
from el_jax.linear_ntp.solvers.conditions import (
    Compatibility,
    Separability,
    check_compatibility,
    check_separability,
)
from el_jax.linear_ntp.solvers.limit import LimitProblem, limit_problem
from el_jax.linear_ntp.solvers.max_margin import (
    KKT,
    MaxMargin,
    NotSeparableError,
    UndecidedError,
    margin_upper_bound,
    max_margin,
)
from el_jax.linear_ntp.theory.certificates import (
    Certificate,
    FarkasMatrix,
    FiniteSolution,
    FredholmMatrix,
    SeparatingMatrix,
    Verification,
    verify_certificate,
)
from el_jax.linear_ntp.theory.conditioning import Conditioning
from el_jax.linear_ntp.theory.directions import (
    DIRECTIONS,
    Adam,
    Direction,
    Memoryless,
    Steepest,
)
from el_jax.linear_ntp.theory.flow import gradient_flow
from el_jax.linear_ntp.theory.metrics import decoder_metrics
from el_jax.linear_ntp.theory.objective import (
    ExcessLoss,
    cross_entropy,
    entropy_lower_bound,
    excess_loss,
    gradient,
    leaked_mass,
    residual,
    smoothness_bound,
)
from el_jax.linear_ntp.theory.path import (
    RegularizationPath,
    frank_wolfe_gap,
    regularization_path,
)
from el_jax.linear_ntp.theory.rates import RateFit, fit_rate
from el_jax.linear_ntp.theory.subspace import (
    DataSubspace,
    data_subspace,
    finite_component,
    top_curvature,
)
from el_jax.linear_ntp.theory.trajectory import Trajectory, log_spaced_marks, run_trajectory

__all__ = [
    "DIRECTIONS",
    "KKT",
    "Adam",
    "Analysis",
    "AttentionProblem",
    "Certificate",
    "Compatibility",
    "Conditioning",
    "DataSubspace",
    "Direction",
    "ExcessLoss",
    "FarkasMatrix",
    "FiniteSolution",
    "FredholmMatrix",
    "LimitProblem",
    "MaxMargin",
    "Memoryless",
    "NTPProblem",
    "NotSeparableError",
    "RateFit",
    "RegularizationPath",
    "Separability",
    "SeparatingMatrix",
    "Steepest",
    "TokenProblem",
    "Trajectory",
    "UndecidedError",
    "Verification",
    "analyze",
    "antipodal_problem",
    "bag_of_tokens",
    "check_compatibility",
    "check_separability",
    "coinciding_contexts",
    "cross_entropy",
    "crowded_problem",
    "data_subspace",
    "decoder_metrics",
    "duplicate_problem",
    "entropy_lower_bound",
    "excess_loss",
    "facet_problem",
    "figure1_problem",
    "finite_component",
    "finite_part",
    "fit_rate",
    "frank_wolfe_gap",
    "from_counts",
    "from_tokens",
    "gradient",
    "gradient_flow",
    "graph_svm",
    "leaked_mass",
    "limit_problem",
    "load_activations",
    "load_array",
    "log_spaced_marks",
    "margin_upper_bound",
    "max_margin",
    "merge_contexts",
    "one_hot_positions",
    "one_hot_problem",
    "orthonormal_problem",
    "random_problem",
    "regularization_path",
    "residual",
    "run_trajectory",
    "smoothness_bound",
    "teacher_problem",
    "top_curvature",
    "verify_certificate",
]
