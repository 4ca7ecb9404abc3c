"""The page agrees with the tools of today:  bash tests/run.sh --peers"""

import pytest

from tests.peers.conformance_page import END, PAGE, START, reports, table

pytestmark = pytest.mark.peers


def test_the_table_is_that_of_the_tools_of_today():
    """Only rows of counts are compared, since sizes of errors differ between machines."""
    committed = PAGE.read_text().partition(START)[2].partition(END)[0]
    fresh = table(reports())

    def counts(text):
        return [line for line in text.splitlines() if " of " in line and line.startswith("|")][1:11]

    assert counts(fresh) == counts(committed)
    assert len(counts(fresh)) == 10
