"""Board power, energy, clocks and utilisation from the driver's management library, through ctypes.

nvmlDeviceGetTotalEnergyConsumption counts millijoules since the driver was loaded and moves about every 100 ms on data
centre boards; nvmlDeviceGetPowerUsage is a trailing average of about one second there. Mean power is therefore taken
from the energy counter, between two instants at which it moved.
"""

import ctypes
import hashlib
import statistics
import threading
import time

NVML_CLOCK_SM = 1
ERRORS = {2: "invalid argument", 3: "not supported on this GPU", 4: "no permission", 9: "the driver is not loaded",
          12: "the library was not found", 15: "the GPU is lost", 18: "library and driver versions differ"}
LIBRARIES = ("libnvidia-ml.so.1", "libnvidia-ml.so")


class NvmlError(Exception):
    pass


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Nvml:
    """The loaded library. `load` lets a test put a fake in its place."""

    def __init__(self, load=ctypes.CDLL):
        self.lib = None
        for name in LIBRARIES:
            try:
                self.lib = load(name)
                break
            except OSError:
                continue
        if self.lib is None:
            raise NvmlError("the NVIDIA management library (libnvidia-ml.so.1) is not on this machine: no NVIDIA "
                            "driver, or a container started without its utilities")
        self.call("nvmlInit_v2")

    def call(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            raise NvmlError(f"{name}: {ERRORS.get(code, 'error')} (code {code})")

    def driver_version(self):
        text = ctypes.create_string_buffer(96)
        self.call("nvmlSystemGetDriverVersion", text, ctypes.c_uint(96))
        return text.value.decode()

    def device_count(self):
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return count.value

    def board(self, index):
        return Board(self, index)

    def board_by_uuid(self, uuid):
        """The board that CUDA calls by this UUID (with or without its GPU- prefix)."""
        for index in range(self.device_count()):
            board = Board(self, index)
            if board.uuid.replace("GPU-", "").lower() == str(uuid).replace("GPU-", "").lower():
                return board
        raise NvmlError(f"no board with UUID {uuid}")


class Board:
    def __init__(self, nvml, index):
        self.nvml = nvml
        self.index = index
        self.handle = ctypes.c_void_p()
        nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.handle))
        text = ctypes.create_string_buffer(96)
        nvml.call("nvmlDeviceGetUUID", self.handle, text, ctypes.c_uint(96))
        self.uuid = text.value.decode()
        self.name_in_tables = None  # the user's own name for it

    @property
    def id(self):
        """A short name of the physical board that does not give its UUID away."""
        return self.name_in_tables or "b" + hashlib.sha256(self.uuid.encode()).hexdigest()[:6]

    def name(self):
        text = ctypes.create_string_buffer(96)
        self.nvml.call("nvmlDeviceGetName", self.handle, text, ctypes.c_uint(96))
        return text.value.decode()

    def _uint(self, function, *middle):
        value = ctypes.c_uint()
        self.nvml.call(function, self.handle, *middle, ctypes.byref(value))
        return value.value

    def energy_mj(self):
        value = ctypes.c_ulonglong()
        self.nvml.call("nvmlDeviceGetTotalEnergyConsumption", self.handle, ctypes.byref(value))
        return value.value

    def power_w(self):
        return self._uint("nvmlDeviceGetPowerUsage") / 1000.0

    def power_limit_w(self):
        return self._uint("nvmlDeviceGetEnforcedPowerLimit") / 1000.0

    def sm_mhz(self):
        return self._uint("nvmlDeviceGetClockInfo", ctypes.c_uint(NVML_CLOCK_SM))

    def max_sm_mhz(self):
        return self._uint("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(NVML_CLOCK_SM))

    def temperature_c(self):
        return self._uint("nvmlDeviceGetTemperature", ctypes.c_uint(0))

    def nvlink_active(self):
        """True when the first NVLink of the board is up; boards without NVLink answer 'not supported'."""
        try:
            return bool(self._uint("nvmlDeviceGetNvLinkState", ctypes.c_uint(0)))
        except NvmlError:
            return False

    def util_pct(self):
        value = Utilization()
        self.nvml.call("nvmlDeviceGetUtilizationRates", self.handle, ctypes.byref(value))
        return value.gpu


class Reading:
    """What a window measured; a value that could not be had is None."""

    def __init__(self, power_w=None, sm_mhz=None, util_pct=None, window_s=None, joules=None):
        self.power_w = power_w
        self.sm_mhz = sm_mhz
        self.util_pct = util_pct
        self.window_s = window_s
        self.joules = joules


def reading_from(samples, start_s=None):
    """samples: (seconds, energy mJ, MHz, util), at least two movements of the counter at or after start_s."""
    moves = []
    previous = None
    for t, energy, _, _ in samples:
        if previous is not None and energy != previous and (start_s is None or t >= start_s):
            moves.append((t, energy))
        previous = energy
    kept = [s for s in samples if start_s is None or s[0] >= start_s]
    clocks = [s[2] for s in kept if s[2] is not None]
    utils = [s[3] for s in kept if s[3] is not None]
    reading = Reading(sm_mhz=statistics.median_low(clocks) if clocks else None,
                      util_pct=statistics.median_low(utils) if utils else None)
    if len(moves) >= 2:
        (t0, e0), (t1, e1) = moves[0], moves[-1]
        reading.window_s = t1 - t0
        reading.joules = (e1 - e0) / 1000.0
        reading.power_w = reading.joules / reading.window_s
    return reading


def known(read):
    """The value, or None where this board does not tell."""
    try:
        return read()
    except NvmlError:
        return None


class Meter:
    """Polls a board in a thread while the caller keeps the GPU busy.

    with Meter(board) as meter: ...work...
    meter.reading(settle_s) then uses only the samples after settle_s.
    """

    def __init__(self, board, every_s=0.01, detail_every_s=0.05, clock=time.perf_counter):
        self.board = board
        self.every_s = every_s
        self.detail_every_s = detail_every_s
        self.clock = clock
        self.samples = []
        self.log = []  # (t_s, power_w, sm_mhz, util_pct): the board's own trailing power
        self.error = None
        self._stop = threading.Event()
        self._thread = None

    def __enter__(self):
        self.start = self.clock()
        if self.board is None:  # power is off: only the clock runs
            return self
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _poll(self):
        next_detail = 0.0
        try:
            while not self._stop.is_set():
                t = self.clock() - self.start
                mhz = util = None
                if t >= next_detail:
                    mhz, util, watts = (known(read) for read in (self.board.sm_mhz, self.board.util_pct,
                                                                 self.board.power_w))
                    self.log.append((t, watts, mhz, util))
                    next_detail += self.detail_every_s
                self.samples.append((self.clock() - self.start, self.board.energy_mj(), mhz, util))
                self._stop.wait(self.every_s)
        except NvmlError as error:
            self.error = error

    def reading(self, settle_s=0.0):
        if self.error:
            raise self.error
        return reading_from(self.samples, settle_s)


def idle_reading(board, seconds):
    """Power while the caller does nothing."""
    with Meter(board) as meter:
        time.sleep(seconds)
    return meter.reading()
