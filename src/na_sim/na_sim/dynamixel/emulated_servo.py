# SPDX-License-Identifier: Apache-2.0
"""One emulated servo: registers plus what happens when they change, time passes or power fails."""

from __future__ import annotations

from na_core.control_tables import DYNAMIXEL_BAUD_RATES
from na_sim.dynamixel.instructions import (
    ALERT,
    CLEAR_MULTI_TURN,
    RESET_ALL,
    RESET_ALL_BUT_ID,
    RESET_ALL_BUT_ID_AND_BAUD,
    HardwareError,
    StatusError,
)
from na_sim.dynamixel.servo_config import BAUD_VALUES, ServoConfig, first_fast_read_firmware
from na_sim.dynamixel.servo_registers import (
    POSITION_MODE,
    WATCHDOG_ERROR,
    RegisterError,
    ServoRegisters,
)

COUNTS_PER_TURN = 4096
_REVERSE = 0x01
_TORQUE_ON_BY_GOAL = 0x08
_WATCHDOG_UNIT = 0.020  # s
_GAINS = (
    "velocity_i_gain",
    "velocity_p_gain",
    "position_d_gain",
    "position_i_gain",
    "position_p_gain",
    "feedforward_2nd_gain",
    "feedforward_1st_gain",
)


class EmulatedServo:
    """State of one servo between instructions.

    Positions on the wire and counts of the shaft differ by homing offset, reverse mode and
    whole turns: wire = ±(shaft − 2048) + 2048 + homing − turns.
    """

    def __init__(self, config: ServoConfig, index: int | None) -> None:
        self.config = config
        self.index = index  # row in the plant; None: no shaft attached
        self.registers = ServoRegisters(config.model)
        self.connected = config.connected
        self.last_heard = float("-inf")
        self.ready_at = float("-inf")
        self.booted_at = 0.0
        self.registered_write: tuple[int, bytes] | None = None
        self.watchdog_trips = 0
        self.dirty = True  # commands() has changed since the bus last asked
        self.report_offset = 0  # counts added to reported positions (a fault)
        self._latched = 0
        self._injected = 0
        self._turns = 0  # counts, a multiple of COUNTS_PER_TURN
        self._shaft = 2048
        self._seen: tuple[tuple[int, ...], float, bool] | None = None  # last readings
        put = self.registers.put
        put("model_number", self._model_number())
        put("firmware_version", config.firmware)
        put("id", config.id)
        put("baud_rate", BAUD_VALUES[config.baud])
        put("return_delay_time", config.return_delay_us // 2)
        for name, value in config.registers.items():
            put(name, value)

    # ---- identity and state that tests and the bus ask for

    @property
    def id(self) -> int:
        """Its id on the bus now."""
        return self.registers.get("id")

    @property
    def baud(self) -> int:
        """Speed it listens at [bit/s]."""
        return DYNAMIXEL_BAUD_RATES[self.registers.get("baud_rate")]

    @property
    def return_delay(self) -> float:
        """Delay before its answers [s]."""
        return self.registers.get("return_delay_time") * 2e-6

    @property
    def torque_on(self) -> bool:
        """Whether the motor is driven."""
        return bool(self.registers.get("torque_enable"))

    @property
    def supports_fast_read(self) -> bool:
        """Whether its firmware knows fast sync read and fast bulk read."""
        return self.config.firmware >= first_fast_read_firmware(self.config.model)

    @property
    def alert(self) -> int:
        """Alert bit of its status packets."""
        return ALERT if self.registers.get("hardware_error_status") else 0

    def _model_number(self) -> int:
        if self.config.model_number is not None:
            return self.config.model_number
        return self.registers.table["model_number"].default or 0

    # ---- positions

    def _homing(self) -> int:
        offset = self.registers.get("homing_offset")
        if self.registers.get("operating_mode") == POSITION_MODE and abs(offset) > 1024:
            return 0  # e-manual: ignored in position control mode
        return offset

    def _sign(self) -> int:
        return -1 if self.registers.get("drive_mode") & _REVERSE else 1

    def to_wire(self, shaft: int) -> int:
        """Return the position register value for `shaft` counts."""
        return self._sign() * (shaft - 2048) + 2048 + self._homing() - self._turns

    def to_shaft(self, wire: int) -> int:
        """Return the shaft counts for a position register value."""
        return self._sign() * (wire + self._turns - self._homing() - 2048) + 2048

    def reset_turns(self) -> None:
        """Fold the present position into one turn, as an absolute encoder does at power-on."""
        self._turns = 0
        without_homing = self.to_wire(self._shaft) - self._homing()
        self._turns = without_homing // COUNTS_PER_TURN * COUNTS_PER_TURN
        self._convert_again()

    def clear_turns(self, parameters: bytes) -> None:
        """Execute CLEAR: fold the position into one turn; the goal moves with it."""
        if parameters != CLEAR_MULTI_TURN:
            raise RegisterError(StatusError.DATA_RANGE, f"clear with {parameters!r}")
        if self.registers.get("moving"):
            raise RegisterError(StatusError.RESULT_FAIL, f"servo {self.id}: clear while moving")
        goal = self.to_shaft(self.registers.get("goal_position"))
        self.reset_turns()
        self.registers.put("goal_position", self.to_wire(goal))
        self.dirty = True

    def observe_nothing(self, now: float) -> None:
        """Take constant readings: a servo on the bench, its horn attached to nothing."""
        low = self.registers.get("min_voltage_limit")
        high = self.registers.get("max_voltage_limit")
        voltage = 120 if low <= 120 <= high else (low + high) // 2
        row = (0, 0, 0, 0, self._shaft, voltage, 30)
        self.observe(self._shaft, row, now, False)

    def observe(self, shaft: int, row: tuple[int, ...], now: float, moving: bool) -> None:
        """Take the plant's readings: PWM, current, velocity, two trajectories, V, °C in `row`."""
        pwm, current, velocity, v_trajectory, p_trajectory, voltage, temperature = row
        self._shaft = shaft
        self._seen = (row, now, moving)
        sign = self._sign()
        position = self.to_wire(shaft) + self.report_offset
        trajectory = self.to_wire(p_trajectory) + self.report_offset
        registers = self.registers
        registers.put_present(
            (
                sign * pwm,
                sign * current,
                sign * velocity,
                position,
                sign * v_trajectory,
                trajectory,
                voltage,
                temperature,
            )
        )
        moving = moving or abs(velocity) > registers.get("moving_threshold")
        registers.put_motion(
            int((now - self.booted_at) * 1000.0),
            moving,
            self._moving_status(position, trajectory, v_trajectory),
        )
        self._protect(voltage, temperature)

    def _convert_again(self) -> None:
        """Show the last readings in the frame that the settings now ask for."""
        if self._seen is not None:
            row, now, moving = self._seen
            self.observe(self._shaft, row, now, moving)

    def _moving_status(self, position: int, trajectory: int, v_trajectory: int) -> int:
        goal = self.registers.get("goal_position")
        status = 0x01 if abs(goal - position) <= 20 else 0
        if v_trajectory or trajectory != goal:
            status |= 0x02
        if self.registers.get("profile_velocity"):
            status |= 0x30 if self.registers.get("profile_acceleration") else 0x10
        return status

    # ---- protection

    def _protect(self, voltage: int, temperature: int) -> None:
        get = self.registers.get
        found = self._injected
        if not get("min_voltage_limit") <= voltage <= get("max_voltage_limit"):
            found |= HardwareError.INPUT_VOLTAGE
        if temperature > get("temperature_limit"):
            found |= HardwareError.OVERHEATING
        self._latched |= found & get("shutdown")
        self._show_errors(found)

    def inject_hardware_error(self, bits: int) -> None:
        """Make `bits` present (0: gone); those in the shutdown register latch until a reboot."""
        self._injected = bits
        self._latched |= bits & self.registers.get("shutdown")
        self._show_errors(bits)

    def _show_errors(self, found: int) -> None:
        self.registers.put("hardware_error_status", found | self._latched)
        if self._latched and self.torque_on:
            self.registers.put("torque_enable", 0)
            self.dirty = True

    def watchdog_deadline(self) -> float:
        """Return when the bus watchdog trips if nothing is heard [s], infinity when it cannot."""
        value = self.registers.get("bus_watchdog")
        if value <= 0 or not self.torque_on:
            return float("inf")
        return self.last_heard + value * _WATCHDOG_UNIT

    def trip_watchdog(self) -> None:
        """Stop where the servo is and refuse goals until 0 is written to bus_watchdog."""
        self.registers.put("bus_watchdog", WATCHDOG_ERROR)
        self.watchdog_trips += 1
        self.hold()

    def hold(self) -> None:
        """Make every goal mean "stay": present position, zero velocity, zero effort."""
        self.dirty = True
        registers = self.registers
        registers.put("goal_position", self.to_wire(self._shaft))
        registers.put("goal_velocity", 0)
        mode = registers.get("operating_mode")
        if mode == 0:
            registers.put("goal_current", 0)
        if mode == 16:
            registers.put("goal_pwm", 0)

    # ---- power

    def power_on(self, now: float) -> None:
        """Boot for the first time, RAM overrides of the configuration included, ready at once."""
        self._boot(now)
        for name, value in self.config.registers.items():
            if not self.registers.table[name].eeprom:
                self.registers.put(name, value)

    def reboot(self, now: float) -> None:
        """Boot and stay deaf for the boot time."""
        self._boot(now)
        self.ready_at = now + self.config.boot_time

    def _boot(self, now: float) -> None:
        """Start with RAM at its defaults, torque off, goal at the present position."""
        self.registers.load_ram_defaults()
        self._latched = self._injected = 0
        self.registered_write = None
        self.booted_at = now
        self.reset_turns()
        self._default_goals()
        self.dirty = True

    def factory_reset(self, parameters: bytes, now: float) -> None:
        """Restore the factory EEPROM, but for id or id and baud as the option says; reboot."""
        option = parameters[0] if len(parameters) == 1 else -1
        if option not in (RESET_ALL, RESET_ALL_BUT_ID, RESET_ALL_BUT_ID_AND_BAUD):
            raise RegisterError(StatusError.DATA_RANGE, f"factory reset with {parameters!r}")
        registers = self.registers
        keep = {"model_number": self._model_number(), "firmware_version": self.config.firmware}
        if option != RESET_ALL:
            keep["id"] = self.id
            if option != RESET_ALL_BUT_ID:
                keep["baud_rate"] = registers.get("baud_rate")
        registers.load_defaults(r for r in registers.table.values() if r.eeprom)
        for name, value in keep.items():
            registers.put(name, value)
        self.reboot(now)

    def _default_goals(self) -> None:
        registers = self.registers
        registers.put("goal_pwm", registers.get("pwm_limit"))
        if "goal_current" in registers.table:
            registers.put("goal_current", registers.get("current_limit"))
        registers.put("goal_velocity", 0)
        registers.put("goal_position", self.to_wire(self._shaft))

    # ---- instructions

    def write(self, address: int, data: bytes, now: float) -> None:
        """Execute a write; RegisterError carries the error of the status packet."""
        torque_before = self.torque_on
        values = self.registers.check(address, data)
        names = {register.name: value for register, value in values}
        if names.get("torque_enable") and self._latched:
            raise RegisterError(
                StatusError.RESULT_FAIL,
                f"servo {self.id}: torque stays off until a reboot, "
                f"hardware error 0x{self._latched:02x}",
            )
        self.dirty = True
        for register, value in values:
            self.registers.put(register.name, value)
        if "operating_mode" in names:
            self._mode_changed()
        if "pwm_limit" in names:
            self.registers.put("goal_pwm", names["pwm_limit"])
        if "current_limit" in names:
            self.registers.put("goal_current", names["current_limit"])
        if not names.keys().isdisjoint({"homing_offset", "drive_mode"}):
            self._convert_again()
            self.registers.put("goal_position", self.to_wire(self._shaft))
        if not self._latched and not names.keys().isdisjoint(
            {"goal_position", "goal_velocity", "goal_current", "goal_pwm"}
        ):
            self._goal_written()
        if self.torque_on and not torque_before:
            self._torque_turned_on(keep_goal="goal_position" in names)
            self.last_heard = now

    def register_write(self, address: int, data: bytes) -> None:
        """Keep a write for the next ACTION, refusing now what would be refused then."""
        self.registers.check(address, data)
        self.registered_write = (address, data)
        self.registers.put("registered_instruction", 1)

    def action(self, now: float) -> None:
        """Execute the registered write; RegisterError when there is none."""
        if self.registered_write is None:
            raise RegisterError(StatusError.INSTRUCTION, f"servo {self.id}: nothing registered")
        address, data = self.registered_write
        self.registered_write = None
        self.registers.put("registered_instruction", 0)
        self.write(address, data, now)

    def _goal_written(self) -> None:
        if self.registers.get("drive_mode") & _TORQUE_ON_BY_GOAL:
            self.registers.put("torque_enable", 1)

    def _torque_turned_on(self, keep_goal: bool) -> None:
        if self.registers.get("operating_mode") == POSITION_MODE:
            self.reset_turns()
        if self.config.torque_on_resets_goal and not keep_goal:
            self.registers.put("goal_position", self.to_wire(self._shaft))

    def _mode_changed(self) -> None:
        """Reset gains, profile and goals, as the manual says a change of mode does."""
        registers = self.registers
        registers.load_defaults(registers.table[name] for name in _GAINS)
        registers.put("profile_velocity", 0)
        registers.put("profile_acceleration", 0)
        if registers.get("operating_mode") == POSITION_MODE:
            self.reset_turns()
        self._convert_again()
        self._default_goals()

    # ---- what the plant is told

    def commands(self) -> dict[str, int]:
        """Return the servo's row of ServoCommands, in shaft counts and normal direction."""
        registers = self.registers
        get, sign = registers.get, self._sign()
        mode = get("operating_mode")
        stopped = get("bus_watchdog") == WATCHDOG_ERROR
        return {
            "operating_mode": mode,
            "torque_enable": get("torque_enable"),
            "goal_position": self.to_shaft(get("goal_position")),
            "goal_velocity": sign * get("goal_velocity"),
            # Outside their own modes these two are limits, which have no direction.
            "goal_current": (sign if mode == 0 else 1) * registers.get_or("goal_current", 0),
            "goal_pwm": (sign if mode == 16 else 1) * get("goal_pwm"),
            "profile_velocity": 0 if stopped else get("profile_velocity"),
            "profile_acceleration": 0 if stopped else get("profile_acceleration"),
            "drive_mode": get("drive_mode") & ~_REVERSE,
            "position_p_gain": get("position_p_gain"),
            "position_i_gain": get("position_i_gain"),
            "position_d_gain": get("position_d_gain"),
            "feedforward_1st_gain": get("feedforward_1st_gain"),
            "feedforward_2nd_gain": get("feedforward_2nd_gain"),
            "velocity_p_gain": get("velocity_p_gain"),
            "velocity_i_gain": get("velocity_i_gain"),
            "pwm_limit": get("pwm_limit"),
            "current_limit": registers.get_or("current_limit", 0),
            "velocity_limit": get("velocity_limit"),
            "homing_offset": 0,
        }
