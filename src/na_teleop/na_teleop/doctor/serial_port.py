# SPDX-License-Identifier: Apache-2.0
"""One serial port: there, ours to open, free, quick, and under a name that stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from na_teleop.buses.port_hints import (
    candidate_ports,
    latency_timer_file,
    latency_timer_ms,
    permission_remedy,
    port_holder,
)
from na_teleop.doctor.checks import Check, Status

RULES = ("etc/udev/rules.d", "lib/udev/rules.d", "usr/lib/udev/rules.d")
UDEV_RULE = (
    'ACTION=="add", SUBSYSTEM=="usb-serial", DRIVER=="ftdi_sio", ATTR{latency_timer}="1" in '
    "/etc/udev/rules.d/99-usb-serial.rules, then sudo udevadm control --reload and plug in again"
)


def check_port(path: str, root: Path = Path("/")) -> list[Check]:
    """Look at a port without opening it."""
    topic = f"port {path}"
    try:
        info = os.stat(path)
    except OSError as error:
        others = candidate_ports()
        listed = ", ".join(others) if others else "none: is the adapter plugged in?"
        return [
            Check(
                topic,
                "exists",
                Status.FAIL,
                f"{error.strerror}",
                f"Serial ports on this machine: {listed}",
            )
        ]
    checks = [_kind(topic, path, info.st_mode)]
    allowed = os.access(path, os.R_OK | os.W_OK)
    checks.append(
        Check(
            topic,
            "permission",
            Status.OK if allowed else Status.FAIL,
            "read and write" if allowed else "not ours to read and write",
            "" if allowed else permission_remedy(path),
        )
    )
    holder = port_holder(path)
    checks.append(
        Check(
            topic,
            "free",
            Status.OK if holder is None else Status.FAIL,
            "nobody holds it" if holder is None else f"held by {holder}",
            "" if holder is None else "Stop that process first",
        )
    )
    return [*checks, *_latency(topic, path), *_name(topic, path, root)]


def _kind(topic: str, path: str, mode: int) -> Check:
    if stat.S_ISCHR(mode):
        real = os.path.realpath(path)
        found = "yes" if real == path else f"yes, {real}"
        return Check(topic, "exists", Status.OK, found)
    return Check(
        topic, "exists", Status.FAIL, "there, but not a serial port", "Name the arm's device"
    )


def _latency(topic: str, path: str) -> list[Check]:
    timer = latency_timer_ms(path)
    if timer is None:
        return []
    slow = timer > 1
    remedy = f"echo 1 | sudo tee {latency_timer_file(path)}; for good: {UDEV_RULE}"
    return [
        Check(
            topic,
            "latency timer",
            Status.WARN if slow else Status.OK,
            f"{timer} ms",
            remedy if slow else "",
        )
    ]


def _name(topic: str, path: str, root: Path) -> list[Check]:
    """A /dev/ttyUSBn changes with the order of plugging in; a by-id name does not."""
    if not Path(path).name.startswith(("ttyUSB", "ttyACM")):
        return []
    links = [
        link
        for link in sorted((root / "dev/serial/by-id").glob("*"))
        if os.path.realpath(link) == os.path.realpath(path)
    ]
    rule = any(
        "SYMLINK" in file.read_text(errors="replace") and "tty" in file.read_text(errors="replace")
        for folder in RULES[:1]
        for file in sorted((root / folder).glob("*.rules"))
    )
    if rule:
        return [Check(topic, "name", Status.OK, "a udev rule gives serial ports names")]
    better = str(links[0]) if links else "a udev SYMLINK rule"
    return [
        Check(
            topic,
            "name",
            Status.NOTE,
            "depends on the order of plugging in",
            f"Use {better} instead, so that leader and follower are not swapped",
        )
    ]
