"""Which processors are ours to keep awake: affinity, quotas of control groups, who runs."""

import math
import os

import pytest

from host_bridge import processors
from host_bridge.processors import a_processor_is_free, quota_processors


def group(mount, path, **files):
    folder = mount / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def membership(tmp_path):
    return tmp_path / "membership"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000\n", math.inf), ("250000 100000\n", 2), ("50000 100000\n", 0), ("no limit", math.inf)],
)
def test_the_quota_of_a_version_2_group_counts_whole_processors(tmp_path, membership, limit, expected):
    membership.write_text("0::/app.slice/agent\n")
    group(tmp_path / "mount", "app.slice/agent", cpu__max=limit)
    assert quota_processors(membership, tmp_path / "mount") == expected


def test_the_narrowest_group_above_counts(tmp_path, membership):
    membership.write_text("0::/app.slice/agent\n")
    group(tmp_path / "mount", ".", cpu__max="400000 100000")
    group(tmp_path / "mount", "app.slice", cpu__max="100000 100000")
    group(tmp_path / "mount", "app.slice/agent", cpu__max="max 100000")
    assert quota_processors(membership, tmp_path / "mount") == 1


def test_a_container_that_sees_only_its_own_top_finds_its_quota_there(tmp_path, membership):
    membership.write_text("9:memory:/docker/1234\n3:cpu,cpuacct:/docker/1234\n0::/\n")
    group(tmp_path / "mount", "cpu,cpuacct", cpu__cfs_quota_us="300000\n", cpu__cfs_period_us="100000\n")
    assert quota_processors(membership, tmp_path / "mount") == 3


def test_a_version_1_group_without_a_limit_has_none(tmp_path, membership):
    membership.write_text("1:cpu:/\n")
    group(tmp_path / "mount", "cpu", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert quota_processors(membership, tmp_path / "mount") == math.inf
    assert quota_processors(tmp_path / "missing", tmp_path / "mount") == math.inf


def test_with_a_quota_of_one_no_processor_is_free(monkeypatch):
    monkeypatch.setattr(processors, "_own_quota", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    assert not a_processor_is_free()
