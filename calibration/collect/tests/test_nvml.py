import ctypes
import unittest

from . import __name__ as _package  # noqa: F401
from collect import machine, nvml
from collect.progress import UserError


class FakeLibrary:
    """Answers as the driver's library does; `refuse` names a function that fails with a code."""

    def __init__(self, refuse=None, code=3, boards=1):
        self.refuse, self.code, self.boards = refuse, code, boards
        self.energy = 5000

    def __getattr__(self, name):
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return lambda *arguments: self.answer(name, arguments)

    def answer(self, name, arguments):
        if name == self.refuse:
            return self.code
        if name == "nvmlDeviceGetCount_v2":
            arguments[0]._obj.value = self.boards
        elif name == "nvmlDeviceGetUUID":
            arguments[1].value = b"GPU-1234"
        elif name == "nvmlDeviceGetName":
            arguments[1].value = b"Test GPU"
        elif name == "nvmlDeviceGetTotalEnergyConsumption":
            arguments[1]._obj.value = self.energy
        elif name == "nvmlDeviceGetPowerUsage":
            arguments[1]._obj.value = 119300
        return 0


def loaded(library):
    return nvml.Nvml(load=lambda name: library)


class NvmlTest(unittest.TestCase):
    def test_missing_library_is_said(self):
        def fail(name):
            raise OSError(name)

        with self.assertRaisesRegex(nvml.NvmlError, "libnvidia-ml.so.1"):
            nvml.Nvml(load=fail)

    def test_this_machine_without_gpu_is_a_user_error(self):
        try:
            ctypes.CDLL(nvml.LIBRARIES[0])
        except OSError:
            with self.assertRaisesRegex(UserError, "cannot reach a GPU"):
                machine.open_nvml()

    def test_driver_mismatch_is_named(self):
        with self.assertRaisesRegex(nvml.NvmlError, "versions differ"):
            loaded(FakeLibrary(refuse="nvmlInit_v2", code=18))

    def test_no_permission_for_the_energy_counter(self):
        board = loaded(FakeLibrary(refuse="nvmlDeviceGetTotalEnergyConsumption", code=4)).board(0)
        with self.assertRaisesRegex(UserError, "no permission.*--no-power"):
            machine.require_energy_counter(board)

    def test_readings(self):
        board = loaded(FakeLibrary()).board(0)
        self.assertEqual(board.energy_mj(), 5000)
        self.assertAlmostEqual(board.power_w(), 119.3)
        self.assertEqual(board.name(), "Test GPU")

    def test_board_id_is_short_stable_and_hides_the_uuid(self):
        board = loaded(FakeLibrary()).board(0)
        self.assertRegex(board.id, r"^b[0-9a-f]{6}$")
        self.assertEqual(board.id, loaded(FakeLibrary()).board(0).id)
        board.name_in_tables = "A"
        self.assertEqual(board.id, "A")

    def test_board_is_found_by_uuid_with_or_without_prefix(self):
        library = loaded(FakeLibrary())
        self.assertEqual(library.board_by_uuid("1234").index, 0)
        with self.assertRaises(nvml.NvmlError):
            library.board_by_uuid("9999")

    def test_nvlink_absent_is_false(self):
        self.assertFalse(loaded(FakeLibrary(refuse="nvmlDeviceGetNvLinkState")).board(0).nvlink_active())


class ReadingTest(unittest.TestCase):
    def samples(self, watts=300.0, update_s=0.1, poll_s=0.01, seconds=2.4):
        found, t = [], 0.0
        while t < seconds:
            moved = int(t / update_s + 1e-9) * update_s
            found.append((t, int(moved * watts * 1000), 1980, 100))
            t += poll_s
        return found

    def test_power_between_movements_of_a_slow_counter(self):
        reading = nvml.reading_from(self.samples(), 0.2)
        self.assertAlmostEqual(reading.power_w, 300.0, delta=2.0)
        self.assertGreater(reading.window_s, 1.8)

    def test_settling_time_is_left_out(self):
        early = [(t, e + (50000 if t > 0.05 else 0), m, u) for t, e, m, u in self.samples()]
        self.assertAlmostEqual(nvml.reading_from(early, 0.2).power_w, 300.0, delta=2.0)

    def test_a_counter_that_never_moves_gives_no_power(self):
        reading = nvml.reading_from([(t / 100, 7, 1980, 0) for t in range(200)])
        self.assertIsNone(reading.power_w)
        self.assertEqual(reading.sm_mhz, 1980)

    def test_meter_polls_in_the_background(self):
        board = loaded(FakeLibrary()).board(0)
        with nvml.Meter(board, every_s=0.001) as meter:
            while len(meter.samples) < 3:
                pass
        self.assertIsNone(meter.error)
        self.assertGreaterEqual(len(meter.samples), 3)

    def test_meter_without_board_is_only_a_clock(self):
        with nvml.Meter(None) as meter:
            pass
        self.assertIsNone(meter.reading().power_w)

    def test_meter_reports_what_went_wrong(self):
        library = FakeLibrary()
        board = loaded(library).board(0)
        library.refuse = "nvmlDeviceGetTotalEnergyConsumption"
        with nvml.Meter(board) as meter:
            while meter.error is None:
                pass
        with self.assertRaises(nvml.NvmlError):
            meter.reading()


if __name__ == "__main__":
    unittest.main()
