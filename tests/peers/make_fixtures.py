"""Make the folders in tests/models/pretrained anew.

    python -m tests.peers.make_fixtures

The models are random; another version of PyTorch makes other models. Installs PyTorch and
transformers into the user's cache folder if they are not there.
"""

import shutil

from tests.peers.environment import ROOT, run_peer

FIXTURES = ROOT / "tests" / "models" / "pretrained"

if __name__ == "__main__":
    shutil.rmtree(FIXTURES, ignore_errors=True)
    run_peer("tests.peers.transformers_models", "write", FIXTURES, 0)
