# SPDX-License-Identifier: Apache-2.0
"""The computer: clock, disk, processor, wake-up times, ROS environment."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from na_teleop.doctor.checks import Check, Status

LOW_DISK_GB, NO_DISK_GB = 10.0, 1.0  # an hour of two arms with force labels is about 1 GB
SLOW_DISK_MB_S = 5.0  # recording needs a tenth of it
WRITE_MB = 8
TICK_S = 0.005
TICKS = 100
LATE_S = 0.004  # a quarter of the control period
FIRST_YEAR = 2024
MANY_SHM_FILES = 200
UNSYNCHRONISED = 5  # adjtimex: TIME_ERROR


def check_clock(root: Path = Path("/"), now: float | None = None) -> list[Check]:
    """Is the wall clock plausible, synchronised, and cheap to read?"""
    year = time.gmtime(time.time() if now is None else now).tm_year
    if year < FIRST_YEAR:
        found = f"the clock says {year}"
        remedy = "Set it (timedatectl set-time …): stamps of recordings would be wrong"
        clock = Check("clock", "time", Status.FAIL, found, remedy)
    else:
        clock = Check(
            "clock", "time", Status.OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
        )
    checks = [clock]
    state = _clock_state()
    if state is not None:
        good = state != UNSYNCHRONISED
        checks.append(
            Check(
                "clock",
                "synchronised",
                Status.OK if good else Status.NOTE,
                "yes" if good else "no",
                "" if good else "Run an NTP client where several machines record together",
            )
        )
    source = _read(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source:
        fast = source in ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
        checks.append(
            Check(
                "clock",
                "source",
                Status.OK if fast else Status.WARN,
                source,
                "" if fast else "Reading this clock is slow; see the kernel log for why not tsc",
            )
        )
    return checks


class _Timex(ctypes.Structure):
    """Enough of struct timex for a read-only adjtimex call."""

    _fields_ = [("modes", ctypes.c_uint), ("rest", ctypes.c_byte * 256)]


def _clock_state() -> int | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return int(libc.adjtimex(ctypes.byref(_Timex(modes=0))))
    except (OSError, AttributeError):
        return None


def check_disk(folder: Path) -> list[Check]:
    """Is there room for recordings below `folder`, and does it write fast enough?"""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free / 1e9
    text = f"{free:.1f} GB free for {folder}"
    status, remedy = Status.OK, ""
    if free < LOW_DISK_GB:
        status = Status.FAIL if free < NO_DISK_GB else Status.WARN
        remedy = "Delete old bags, or record elsewhere (bag_dir:=…)"
    checks = [Check("disk", "space", status, text, remedy)]
    rate = _write_rate(place)
    if rate is None:
        who = "cannot write there"
        remedy = "Choose a folder of your own with bag_dir:=…"
        return [*checks, Check("disk", "writing", Status.FAIL, f"{place}: {who}", remedy)]
    slow = rate < SLOW_DISK_MB_S
    remedy = "Record on a local disk" if slow else ""
    status = Status.WARN if slow else Status.OK
    return [*checks, Check("disk", "writing", status, f"{rate:.0f} MB/s, synced", remedy)]


def _write_rate(folder: Path) -> float | None:
    path = folder / f".na-doctor-{os.getpid()}"
    try:
        begin = time.perf_counter()
        with open(path, "wb") as file:
            file.write(os.urandom(1_000_000) * WRITE_MB)
            file.flush()
            os.fsync(file.fileno())
        return WRITE_MB / max(time.perf_counter() - begin, 1e-9)
    except OSError:
        return None
    finally:
        path.unlink(missing_ok=True)


def check_processor(root: Path = Path("/"), load: float | None = None) -> list[Check]:
    """Cores, governor, load."""
    cores = len(os.sched_getaffinity(0))
    checks = [
        Check(
            "processor",
            "cores",
            Status.OK if cores >= 2 else Status.WARN,
            str(cores),
            "" if cores >= 2 else "Two arms and a recorder want two cores",
        )
    ]
    files = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    governors = {_read(file) for file in files} - {""}
    if governors:
        slow = governors & {"powersave", "conservative"}
        checks.append(
            Check(
                "processor",
                "governor",
                Status.WARN if slow else Status.OK,
                ", ".join(sorted(governors)),
                "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
                if slow
                else "",
            )
        )
    busy = os.getloadavg()[0] if load is None else load
    full = busy > 1.5 * cores
    checks.append(
        Check(
            "processor",
            "load",
            Status.WARN if full else Status.OK,
            f"{busy:.1f} on {cores} cores",
            "Something else keeps the processor busy: ticks will be late" if full else "",
        )
    )
    return checks


def check_wake_up(
    clock: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep
) -> list[Check]:
    """How late this process wakes up, 99th percentile of short sleeps."""
    late = []
    for _ in range(TICKS):
        begin = clock()
        sleep(TICK_S)
        late.append(clock() - begin - TICK_S)
    worst = sorted(late)[math.ceil(0.99 * TICKS) - 1]
    bad = worst > LATE_S
    return [
        Check(
            "processor",
            "wake-up",
            Status.WARN if bad else Status.OK,
            f"{1e3 * worst:.2f} ms late (99 % of {TICKS})",
            "The control loop will miss deadlines: close other programs" if bad else "",
        )
    ]


def check_ros(environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> list[Check]:
    """Are rclpy and our messages there, and who hears us?"""
    env = os.environ if environment is None else environment
    checks = []
    for module in ("rclpy", "na_msgs.msg"):
        present = _importable(module)
        checks.append(
            Check(
                "ROS 2",
                module,
                Status.OK if present else Status.FAIL,
                "found" if present else "cannot be imported",
                "" if present else "Run ./na setup, and start through ./na",
            )
        )
    middleware = env.get("RMW_IMPLEMENTATION", "default")
    domain, reach = (
        env.get("ROS_DOMAIN_ID", "0"),
        env.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET"),
    )
    found = f"domain {domain}, discovery {reach}, middleware {middleware}"
    checks.append(Check("ROS 2", "graph", Status.OK, found))
    left = len(list((root / "dev/shm").glob("fastrtps_*")))
    many = left > MANY_SHM_FILES
    checks.append(
        Check(
            "ROS 2",
            "shared memory",
            Status.WARN if many else Status.OK,
            f"{left} files of Fast DDS",
            "Killed nodes left them: rm /dev/shm/fastrtps_* while no node runs" if many else "",
        )
    )
    return checks


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
