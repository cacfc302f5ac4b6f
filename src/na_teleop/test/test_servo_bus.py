# SPDX-License-Identifier: Apache-2.0
"""What every servo bus must do, on each family against emulated servos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from na_sim.faults.on_the_wire import CorruptBytes
from na_teleop.buses import base
from na_teleop.buses.errors import PortError, ServoError

Maker = Callable[..., Any]
RAD_PER_COUNT = 2 * np.pi / 4096


def opened(arm: Any, **options: Any) -> Any:
    bus = arm.bus(**options)
    bus.open()
    return bus


def ready(arm: Any) -> Any:
    bus = opened(arm)
    bus.configure()
    bus.write_goal(bus.read().position)
    return bus


def middle(bus: Any) -> int:
    """Id of a servo in the middle of the arm."""
    return int(bus.ids[bus.n // 2])


def test_values_come_in_si_joint_units_with_joint_sign(each: Maker) -> None:
    arm = each()
    joints = list(arm.spec.joints)
    joints[0] = replace(joints[0], servo=replace(joints[0].servo, sign=-1))
    arm.spec = replace(arm.spec, joints=tuple(joints))
    arm.change(position=2148, voltage=119, temperature=41)
    sample = opened(arm).read()
    assert sample.fresh and sample.valid.all()
    assert sample.position[0] == pytest.approx(-100 * RAD_PER_COUNT)
    assert sample.position[1] == pytest.approx(100 * RAD_PER_COUNT)
    np.testing.assert_allclose(sample.voltage, 11.9)
    np.testing.assert_allclose(sample.temperature, 41.0)
    assert np.isfinite(sample.current).all() and np.isfinite(sample.load).all()


def test_a_full_turn_is_4096_counts(each: Maker) -> None:
    arm = each()
    bus = opened(arm)
    per_count = []
    for count in (0, 1024, 2048, 4095):
        arm.change(position=count)
        per_count.append((bus.read().position[0], count))
    (first, start), *others = per_count
    for position, count in others:
        assert position - first == pytest.approx((count - start) * RAD_PER_COUNT, abs=1e-12)


def test_one_servo_silent_is_nan_not_old(each: Maker) -> None:
    arm = each()
    bus = opened(arm)
    assert bus.read().fresh
    arm.log.mute = {middle(bus)}
    sample = bus.read()
    assert not sample.fresh and sample.valid.sum() == bus.n - 1
    for values in (sample.position, sample.velocity, sample.voltage, sample.temperature):
        assert np.isnan(values).sum() == 1
    arm.log.mute = set()
    arm.clock.sleep(0.02)
    assert bus.read().fresh


def test_nobody_answers_gives_a_stale_sample_with_the_last_good_stamp(each: Maker) -> None:
    arm = each()
    bus = opened(arm, latency_s=0.02)
    good = bus.read()
    arm.log.mute = set(bus.ids)
    sample = bus.read()
    assert not sample.fresh and not sample.valid.any()
    assert sample.stamp_ns == good.stamp_ns and np.isnan(sample.position).all()


@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_damaged_bytes_never_become_values(each: Maker, rate: float) -> None:
    arm = each()
    bus = opened(arm, latency_s=0.02)
    noise = CorruptBytes(rate=rate, direction="from_servos", seed=3)
    bus.read()
    arm.log.mangle = lambda id, data: noise.change(data)
    for _ in range(120):
        arm.clock.sleep(1 / 60)
        sample = bus.read()
        assert (sample.raw_position[sample.valid] == 2000).all()
        assert (sample.velocity[sample.valid] == 0.0).all()
    assert bus.counters.damaged_packets > 10


def test_repeated_values_are_told_and_not_fresh(each: Maker) -> None:
    arm = each()
    bus = opened(arm)
    frozen: dict[tuple[int, int, int], bytes] = {}

    def freeze(servo_id: int, address: int, data: bytes, now: float) -> bytes:
        if servo_id != middle(bus):
            return data
        return frozen.setdefault((servo_id, address, len(data)), data)

    assert bus.read().fresh
    arm.log.served = freeze
    samples = []
    for _ in range(20):
        arm.clock.sleep(1 / 60)
        samples.append(bus.read())
    assert not any(sample.fresh for sample in samples[1:])
    assert all(sample.repeated.sum() == 1 for sample in samples[1:])
    arm.log.served = lambda servo_id, address, data, now: data
    for _ in range(3):
        arm.clock.sleep(1 / 60)
        sample = bus.read()
    assert sample.fresh


def test_goal_is_rounded_to_counts_and_told_back(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    q = bus.read().position + 0.1 * np.array([joint.ratio for joint in arm.spec.joints])
    written = bus.write_goal(q)
    assert np.all(np.abs(written - q) <= np.abs(bus.conversion.position_scale) / 2 + 1e-12)
    bus.torque_enabled()  # the goal has arrived by then
    counts = [arm.emulator.servo(id).registers.get("goal_position") for id in bus.ids]
    np.testing.assert_allclose(bus.conversion.position_from_raw(np.array(counts)), written)


def test_torque_goes_on_and_off_in_every_servo(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    bus.enable_torque()
    assert all(arm.emulator.torque_enabled().values()) and bus.torque_enabled().all()
    report = bus.disable_torque()
    assert report.ok and report.released == bus.ids
    assert not any(arm.emulator.torque_enabled().values())


def test_torque_is_refused_while_a_goal_is_far_from_the_arm(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    arm.change(position=1500)
    with pytest.raises(ServoError, match=r"goal 2000, present 1500"):
        bus.enable_torque()
    assert arm.log.torque_writes() == []


def test_torque_that_one_servo_refuses_leaves_all_off(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    arm.emulator.inject_hardware_error(middle(bus), 0x20)
    with pytest.raises(ServoError):
        bus.enable_torque()
    assert not any(arm.emulator.torque_enabled().values())


def test_torque_off_tries_every_servo_and_reports_the_silent_one(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    bus.enable_torque()
    lost = middle(bus)
    arm.log.mute = {lost}
    report = bus.disable_torque()
    assert list(report.failed) == [lost] and str(lost) in report.text()
    assert [id for id, on in arm.emulator.torque_enabled().items() if on] == [lost]


def test_settings_are_written_once_and_stick(each: Maker) -> None:
    arm = each()
    id = arm.spec.joints[0].servo.id
    arm.emulator.servo(id).registers.put("return_delay_time", 250)
    bus = opened(arm)
    assert f"id {id}: return_delay_time 250 → 0" in bus.configure()
    assert bus.configure() == []


def test_settings_in_eeprom_are_not_forced_while_torque_is_on(each: Maker) -> None:
    arm = each()
    id = arm.spec.joints[0].servo.id
    arm.emulator.servo(id).registers.put("return_delay_time", 250)
    arm.emulator.servo(id).registers.put("torque_enable", 1)
    with pytest.raises(ServoError, match="torque is off") as caught:
        opened(arm).configure()
    assert caught.value.id == id and caught.value.register == "return_delay_time"


def test_a_locked_eeprom_is_reported_by_register(each: Maker) -> None:
    arm = each()
    id = arm.spec.joints[0].servo.id
    arm.emulator.servo(id).registers.put("return_delay_time", 250)
    arm.log.eeprom_locked = lambda servo_id, now: True
    with pytest.raises(ServoError) as caught:
        opened(arm).configure()
    assert caught.value.id == id and caught.value.register == "return_delay_time"


def test_a_brown_out_shows_as_restarted_servos(each: Maker) -> None:
    arm = each()
    bus = ready(arm)
    bus.enable_torque()
    for _ in range(30):
        arm.clock.sleep(1 / 60)
        assert not bus.read().rebooted.any()
    arm.clock.sleep(0.5)
    bus.read()
    arm.emulator.brown_out()
    arm.clock.sleep(0.3)
    assert bus.read().rebooted.all()


def test_a_line_unplugged_in_the_middle_is_a_lost_port(each: Maker) -> None:
    arm = each()
    bus = opened(arm)
    bus.read()
    arm.port.close()
    with pytest.raises(PortError) as caught:
        bus.read()
    assert caught.value.port_is_gone
    assert set(bus.disable_torque().failed) == set(bus.ids)


def test_second_owner_is_refused(each: Maker) -> None:
    arm = each()
    opened(arm)
    with pytest.raises(PortError, match="already in use"):
        arm.bus().open()


def test_a_servo_silent_for_a_moment_at_the_start_is_asked_again(
    arm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm.log.mute.add(13)
    monkeypatch.setattr(base.time, "sleep", lambda seconds: arm.log.mute.clear())
    bus = arm.bus()
    bus.open()
    assert bus.release_at_start().ok
    bus.close()
