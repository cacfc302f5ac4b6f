# SPDX-License-Identifier: Apache-2.0
"""One emulated STS servo: registers plus what happens when they change, time passes or power fails.

Source: FEETECH memory table of the STS3215; guesses are listed in docs/emulator.md.
"""

from __future__ import annotations

from na_core.control_tables import FEETECH_BAUD_RATES
from na_sim.feetech.packet import HardwareError
from na_sim.feetech.servo_config import BAUD_VALUES, FeetechServoConfig
from na_sim.feetech.servo_registers import ServoRegisters

COUNTS_PER_TURN = 4096
MIDDLE = 2048
CALIBRATE_MIDDLE = 128  # written to torque_enable: the present position becomes the middle
TOP_SPEED = 3072  # counts/s: 45 rev/min without load (data sheet)
# operating_mode → mode of ServoCommands: position, wheel (velocity), open loop (PWM), step.
_MODES = {0: 3, 1: 1, 2: 16, 3: 4}
_UNLIMITED = 1_000_000


class EmulatedFeetechServo:
    """State of one servo between instructions.

    It reports (shaft − homing_offset) folded into one turn, or unfolded when both position limits
    are 0 (multi-turn). There is no bus watchdog: a servo left alone goes on to its goal.
    """

    def __init__(self, config: FeetechServoConfig, index: int | None) -> None:
        self.config = config
        self.index = index
        self.registers = ServoRegisters(config.model)
        self.connected = config.connected
        self.last_heard = float("-inf")
        self.ready_at = float("-inf")
        self.dirty = True
        self.report_offset = 0
        self.reboots = 0
        self.registered_write: tuple[int, bytes] | None = None
        self._shaft = MIDDLE
        self._latched = 0
        self._injected = 0
        self._seen: tuple[tuple[int, ...], float, bool] | None = None
        put = self.registers.put
        if config.model_number is not None:
            put("model_number", config.model_number)
        put("firmware_major_version", config.firmware[0])
        put("firmware_minor_version", config.firmware[1])
        put("id", config.id)
        put("baud_rate", BAUD_VALUES[config.baud])
        put("return_delay_time", config.return_delay_us // 2)
        for name, value in config.registers.items():
            put(name, value)
        for register in self.registers.table.values():
            if register.eeprom:
                self.registers.store(register)

    # ---- identity and state

    @property
    def id(self) -> int:
        """Its id on the bus now."""
        return self.registers.get("id")

    @property
    def baud(self) -> int:
        """Speed it listens at [bit/s]."""
        return FEETECH_BAUD_RATES[self.registers.get("baud_rate")]

    @property
    def return_delay(self) -> float:
        """Delay before its answers [s]."""
        return self.registers.get("return_delay_time") * 2e-6

    @property
    def torque_on(self) -> bool:
        """Whether the motor is driven."""
        return self.registers.get("torque_enable") == 1

    @property
    def error(self) -> int:
        """Error field of its status packets."""
        return self.registers.get("hardware_error_status")

    # ---- positions

    @property
    def multi_turn(self) -> bool:
        """Whether positions are counted across turns."""
        get = self.registers.get
        return get("min_position_limit") == 0 == get("max_position_limit")

    def to_wire(self, shaft: int) -> int:
        """Return the position register value for `shaft` counts."""
        value = shaft - self.registers.get("homing_offset")
        return value if self.multi_turn else value % COUNTS_PER_TURN

    def to_shaft(self, wire: int) -> int:
        """Return the shaft counts at which the servo would report `wire`.

        Of the turns that look alike it is the one in which the shaft is now: the servo drives the
        way between two register values and never across the seam.
        """
        return self._shaft + wire - self.to_wire(self._shaft)

    def observe_nothing(self, now: float) -> None:
        """Take constant readings: a servo on the bench, its horn attached to nothing."""
        low = self.registers.get("min_voltage_limit")
        high = self.registers.get("max_voltage_limit")
        voltage = 120 if low <= 120 <= high else (low + high) // 2
        self.observe(self._shaft, (0, 0, 0, 0, self._shaft, voltage, 30), now, False)

    def observe(self, shaft: int, row: tuple[int, ...], now: float, moving: bool) -> None:
        """Take the plant's readings: PWM, current, velocity, two trajectories, V, °C in `row`."""
        pwm, current, velocity, _, _, voltage, temperature = row
        self._shaft = shaft
        self._seen = (row, now, moving)
        put = self.registers.put_clipped
        put("present_position", self.to_wire(shaft) + self.report_offset)
        put("present_velocity", velocity)
        put("present_load", pwm)
        put("present_current", current)
        put("present_input_voltage", voltage)
        put("present_temperature", temperature)
        put("moving", int(moving))
        self._protect(voltage, temperature)

    def _convert_again(self) -> None:
        if self._seen is not None:
            row, now, moving = self._seen
            self.observe(self._shaft, row, now, moving)

    # ---- protection

    def _protect(self, voltage: int, temperature: int) -> None:
        get = self.registers.get
        found = self._injected
        if not get("min_voltage_limit") <= voltage <= get("max_voltage_limit"):
            found |= HardwareError.INPUT_VOLTAGE
        if temperature > get("temperature_limit"):
            found |= HardwareError.OVERHEATING
        self._show_errors(found)

    def inject_hardware_error(self, bits: int) -> None:
        """Make `bits` present (0: gone); those in unloading_condition latch until a reboot."""
        self._injected = bits
        self._show_errors(bits)

    def _show_errors(self, found: int) -> None:
        self._latched |= found & self.registers.get("unloading_condition")
        self.registers.put("hardware_error_status", found | self._latched)
        if self._latched and self.torque_on:
            self.registers.put("torque_enable", 0)
            self.dirty = True

    def watchdog_deadline(self) -> float:
        """Return infinity: the family has no bus watchdog."""
        return float("inf")

    def trip_watchdog(self) -> None:
        """Do nothing: the family has no bus watchdog."""

    # ---- power

    def power_on(self, now: float) -> None:
        """Boot for the first time, RAM overrides of the configuration included, ready at once."""
        self._boot()
        for name, value in self.config.registers.items():
            if not self.registers.table[name].eeprom:
                self.registers.put(name, value)

    def reboot(self, now: float) -> None:
        """Boot and stay deaf for the boot time."""
        self._boot()
        self.reboots += 1
        self.ready_at = now + self.config.boot_time

    def _boot(self) -> None:
        """Start with EEPROM loaded, RAM at its defaults, torque off, goal at the position."""
        self.registers.power_cycle()
        self._latched = self._injected = 0
        self.registered_write = None
        self.registers.put("torque_limit", self.registers.get("max_torque_limit"))
        self._convert_again()
        self._goal_here()
        self.dirty = True

    def _goal_here(self) -> None:
        self.registers.put_clipped("goal_position", self.to_wire(self._shaft))

    # ---- instructions

    def write(self, address: int, data: bytes, *, eeprom_locked: bool = False) -> None:
        """Execute a write; what the servo does not take is dropped without a word."""
        torque_before = self.registers.get("torque_enable")
        names = self.registers.write(address, data, eeprom_locked=eeprom_locked)
        if not names:
            return
        self.dirty = True
        if "torque_enable" in names:
            self._torque_written(torque_before)
        if not {"homing_offset", "min_position_limit", "max_position_limit"}.isdisjoint(names):
            self._convert_again()
            self._goal_here()
        if "operating_mode" in names:
            self._goal_here()
        if "goal_position" in names and self.config.goal_enables_torque and not self._latched:
            self.registers.put("torque_enable", 1)

    def _torque_written(self, before: int) -> None:
        value = self.registers.get("torque_enable")
        if value == CALIBRATE_MIDDLE:
            self.registers.put("torque_enable", before)
            offset = self._shaft % COUNTS_PER_TURN - MIDDLE  # −2048 does not fit: 1 count off
            self.registers.put_clipped("homing_offset", offset)
            self.registers.store(self.registers.table["homing_offset"])
            self._convert_again()
            self._goal_here()
        elif value > 1 or (value and self._latched):
            self.registers.put("torque_enable", 0 if self._latched else before)

    def register_write(self, address: int, data: bytes) -> None:
        """Keep a write for the next ACTION."""
        self.registered_write = (address, data)
        self.registers.put("registered_instruction", 1)

    def action(self) -> None:
        """Execute the registered write, if there is one."""
        if self.registered_write is not None:
            address, data = self.registered_write
            self.registered_write = None
            self.registers.put("registered_instruction", 0)
            self.write(address, data)

    # ---- what the plant is told

    def commands(self) -> dict[str, int]:
        """Return the servo's row of ServoCommands, in shaft counts and STS register units."""
        get = self.registers.get
        goal = get("goal_position")
        if not self.multi_turn:
            goal = max(get("min_position_limit"), min(get("max_position_limit"), goal))
        return {
            "operating_mode": _MODES[get("operating_mode")],
            "torque_enable": int(self.torque_on),
            "goal_position": self.to_shaft(goal),
            "goal_velocity": get("goal_velocity"),
            "goal_current": _UNLIMITED,
            "goal_pwm": get("goal_time"),
            "profile_velocity": abs(get("goal_velocity")),
            "profile_acceleration": get("acceleration"),
            "drive_mode": 0,
            "position_p_gain": get("position_p_gain"),
            "position_i_gain": get("position_i_gain"),
            "position_d_gain": get("position_d_gain"),
            "feedforward_1st_gain": 0,
            "feedforward_2nd_gain": 0,
            "velocity_p_gain": get("velocity_p_gain"),
            "velocity_i_gain": get("velocity_i_gain"),
            "pwm_limit": get("torque_limit"),
            "current_limit": _UNLIMITED,
            "velocity_limit": TOP_SPEED,
            "homing_offset": 0,
        }
