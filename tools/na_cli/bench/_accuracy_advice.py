# SPDX-License-Identifier: Apache-2.0
"""When to use which method, in plain words; printed under the accuracy tables."""

from __future__ import annotations

ADVICE = """\
Which to use. An arm with joint-torque sensors needs none of this. With a current sensor, first
fit the motor: current regressed on effort, moving samples only. On an arm that moves, take the
momentum observer: one gain, no acceleration, and it says nothing that is not in the model.
Without the friction term it is ID-Linear behind another filter. If the arm also stands still
under load, add the memory of the last motion: at rest most of the current is friction, and
which branch it sits on was decided by how the joint came to rest. The Kalman observer is the
momentum observer with an error bar; take it when something downstream weighs the estimate. The
disturbance observer needs one inertia per joint and no robot dynamics, and pays for that as
soon as joints move together.

For effort and simulation, identify the rigid bodies together with friction; use the possible-
bodies solution wherever a simulator must run on the result, and add a network only for what is
left over, clipped. An actuator network needs no robot model, and a recurrent one remembers how
friction was left: it is the one to put into a reinforcement-learning simulator. A Deep
Lagrangian network is for an arm whose file is missing, a Gaussian process for when the error
bar matters more than the microseconds.

The learned force estimate costs labelled recordings of this very arm. Where it does not beat
the tuned observer with memory in the tables above, use the observer."""
