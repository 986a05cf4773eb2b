"""Ten thousand guests; a thousand run in tests/host_bridge/test_zygote_client.py."""

import pytest

from tests.host_bridge.test_zygote_client import runs_leave_nothing


@pytest.mark.soak
async def test_ten_thousand_runs_leave_no_zombie_no_descriptor_and_no_process():
    await runs_leave_nothing(10_000)
