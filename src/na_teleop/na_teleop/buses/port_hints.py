# SPDX-License-Identifier: Apache-2.0
"""What to tell a person whose serial port does not open: holders, groups, rules, latency."""

from __future__ import annotations

import contextlib
import getpass
import glob
import grp
import os
from pathlib import Path

PATTERNS = ("/dev/serial/by-id/*", "/dev/ttyUSB*", "/dev/ttyACM*", "/dev/ttyAMA*")


def candidate_ports() -> list[str]:
    """Return serial ports that exist on this machine."""
    return [path for pattern in PATTERNS for path in sorted(glob.glob(pattern))]


def _command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        if words:
            return f"process {pid} ({words[:120]})"
    return f"process {pid}"


def _lock_owner(path: str) -> int | None:
    """Return the process that holds the file lock on `path`, from /proc/locks."""
    try:
        info = os.stat(path)
        rows = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    for row in rows:
        fields = row.split()
        if "FLOCK" in fields and device in fields and "->" not in fields:
            pid = int(fields[fields.index("FLOCK") + 3])
            return pid if pid > 0 else None
    return None


def _openers(path: str) -> list[int]:
    """Return other processes that have `path` open, as far as we may look."""
    try:
        target = os.stat(path)
    except OSError:
        return []
    found: list[int] = []
    for entry in glob.glob("/proc/[0-9]*/fd/*"):
        pid = int(entry.split("/")[2])
        if pid == os.getpid() or pid in found:
            continue
        with contextlib.suppress(OSError):
            info = os.stat(entry)
            if info.st_rdev == target.st_rdev and info.st_ino == target.st_ino:
                found.append(pid)
    return found


def port_holder(path: str) -> str | None:
    """Name the process that holds `path`, e.g. 'process 812 (follower_node …)'; None unknown."""
    owner = _lock_owner(path)
    if owner is not None:
        return _command_of(owner) + (" (this process itself)" if owner == os.getpid() else "")
    others = _openers(path)
    return ", ".join(_command_of(pid) for pid in others[:3]) if others else None


def permission_remedy(path: str) -> str:
    """Say how the present user gets access to `path`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"uid {os.getuid()}"
    group = "dialout"
    with contextlib.suppress(OSError, KeyError):
        group = grp.getgrgid(os.stat(path).st_gid).gr_name
    if group == "root":
        group = "dialout"
    return (
        f"User {user} needs group {group}: run `sudo usermod -aG {group} {user}` and log in "
        "again, or install a udev rule such as "
        '`KERNEL=="ttyUSB*", MODE="0660", GROUP="dialout"` in /etc/udev/rules.d'
    )


def latency_timer_file(path: str) -> Path | None:
    """Return the sysfs file with the adapter's latency timer, or None where there is none."""
    name = Path(os.path.realpath(path)).name
    file = Path(f"/sys/bus/usb-serial/devices/{name}/latency_timer")
    return file if file.exists() else None


def latency_timer_ms(path: str) -> int | None:
    """Return the USB adapter's latency timer [ms], or None where there is none."""
    file = latency_timer_file(path)
    if file is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return None


def latency_timer_hint(path: str) -> str | None:
    """Return advice when the adapter buffers replies for longer than 1 ms."""
    timer = latency_timer_ms(path)
    if timer is None or timer <= 1:
        return None
    return (
        f"the adapter at {path} buffers replies for {timer} ms; for full rate run "
        f"`echo 1 | sudo tee {latency_timer_file(path)}`"
    )
