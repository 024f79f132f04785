"""What a skipped test means: nothing, or a failure where everything is at hand."""

import os

import pytest

# Set where data, browser and every extra are there. A test that skips there has lost what it needs,
# and would pass forever. The variable CI says nothing about it: many systems set it.
REQUIRE_ALL = os.environ.get("CLUSTERTRUST_REQUIRE_ALL") == "1"


# Of scikit-learn's own checks: SciPy's support of the array API is off unless a variable turns it on.
NOT_OURS = "SCIPY_ARRAY_API"


def failed_if_skipped(report):
    """Return the report, with a skip turned into a failure if everything must be there."""
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        if NOT_OURS in str(reason):
            return report
        report.outcome = "failed"
        report.longrepr = f"{reason}: CLUSTERTRUST_REQUIRE_ALL=1 lets no test skip"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    return report if item.get_closest_marker("gpu") else failed_if_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return failed_if_skipped((yield))
