"""What a process may still take: the machine's, or its container's, told from files."""

from __future__ import annotations

from pathlib import Path

from kvnb.tensors.memory import free_main_memory

GIB = 2**30


def put(root: Path, **files: object) -> None:
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(content))


def machine(root: Path, gib_available: int, cgroup: str = "") -> Path:
    put(root, proc__meminfo=f"MemTotal: 99 kB\nMemAvailable: {gib_available * 1024**2} kB", proc__self__cgroup=cgroup)
    return root


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_without_a_container_it_is_what_the_machine_has_available(tmp_path):
    assert free_main_memory(machine(tmp_path, 5)) == 5 * GIB


def test_this_machine_has_some():
    assert free_main_memory() > 0


def test_a_container_may_take_what_is_left_of_its_limit(tmp_path):
    root = machine(tmp_path, 5, "0::/")
    write(root / "sys/fs/cgroup", memory__max=2 * GIB, memory__current=GIB, memory__stat="anon 7\ninactive_file 0")
    assert free_main_memory(root) == GIB


def test_file_pages_that_nobody_reads_count_as_free(tmp_path):
    root = machine(tmp_path, 5, "0::/")
    write(root / "sys/fs/cgroup", memory__max=2 * GIB, memory__current=2 * GIB, memory__stat=f"inactive_file {GIB}")
    assert free_main_memory(root) == GIB


def test_the_tightest_of_the_groups_above_counts(tmp_path):
    root = machine(tmp_path, 50, "0::/user/job")
    group = root / "sys/fs/cgroup"
    write(group / "user/job", memory__max="max", memory__current=0)
    write(group / "user", memory__max=3 * GIB, memory__current=0)
    write(group, memory__max=4 * GIB, memory__current=0)
    assert free_main_memory(root) == 3 * GIB


def test_a_path_of_the_host_that_the_container_does_not_see_is_passed_over(tmp_path):
    root = machine(tmp_path, 50, "0::/kubepods/pod7")
    write(root / "sys/fs/cgroup", memory__max=GIB, memory__current=0)
    assert free_main_memory(root) == GIB


def test_the_older_cgroups_are_read_too(tmp_path):
    root = machine(tmp_path, 50, "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/")
    write(
        root / "sys/fs/cgroup/memory/docker/x",
        memory__limit_in_bytes=2 * GIB, memory__usage_in_bytes=GIB, memory__stat=f"total_inactive_file {GIB // 2}",
    )  # fmt: skip
    assert free_main_memory(root) == 3 * GIB // 2


def test_a_container_over_its_limit_has_nothing_left(tmp_path):
    root = machine(tmp_path, 50, "0::/")
    write(root / "sys/fs/cgroup", memory__max=GIB, memory__current=2 * GIB)
    assert free_main_memory(root) == 0
