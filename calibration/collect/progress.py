"""What the user sees while it runs, and when the run has to end."""

import sys
import time


class Stop(Exception):
    """The given seconds are used up; what was measured is on disk."""


class UserError(Exception):
    """Something the user must change: shown as one message, exit code 2."""


class Budget:
    def __init__(self, seconds=None, clock=time.monotonic):
        self.clock = clock
        self.start = clock()
        self.seconds = seconds

    def elapsed(self):
        return self.clock() - self.start

    def left(self):
        return float("inf") if self.seconds is None else self.seconds - self.elapsed()

    def allows(self, need_s, reserve_s=0.0):
        return self.left() >= need_s + reserve_s

    def require(self, need_s, reserve_s=0.0):
        if not self.allows(need_s, reserve_s):
            raise Stop(f"{self.left():.0f} s of the budget left, {need_s + reserve_s:.1f} s needed")


class Progress:
    """At most one line a second, so that a log stays readable."""

    def __init__(self, budget, every_s=1.0, out=None):
        self.budget = budget
        self.every_s = every_s
        self.out = out or sys.stdout
        self.last = -1e9

    def line(self, text, force=False):
        now = self.budget.elapsed()
        if not force and now - self.last < self.every_s:
            return
        self.last = now
        print(f"[{now:6.1f} s] {text}", file=self.out, flush=True)

    def step(self, stage, index, total, text):
        self.line(f"{stage} {index + 1}/{total}: {text}", force=index + 1 == total)
