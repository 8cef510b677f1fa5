import csv
import os
import tempfile
import unittest

from . import __name__ as _package  # noqa: F401
from collect import tables


def row(m=1, **values):
    return dict({"model": "x", "op": "rms_norm", "m_tokens": m, "ctx_tokens": None, "zipf_alpha": None}, **values)


class TableTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "kernels.csv")

    def test_values_are_written_and_missing_ones_stay_empty(self):
        tables.Table(self.folder.name, "kernels.csv").append(row(latency_us=2.9641234, power_w=None, sm_mhz=1980))
        with open(self.path, newline="") as file:
            line = list(csv.DictReader(file))[0]
        self.assertEqual((line["latency_us"], line["power_w"], line["sm_mhz"]), ("2.96412", "", "1980"))

    def test_resume_knows_the_keys(self):
        tables.Table(self.folder.name, "kernels.csv").append(row(4, latency_us=1.0))
        again = tables.Table(self.folder.name, "kernels.csv")
        self.assertIn(row(4), again)
        self.assertNotIn(row(8), again)
        again.append(row(8, latency_us=2.0))
        self.assertEqual(len(tables.read_rows(self.path)), 2)

    def test_key_of_a_number_is_its_text(self):
        tables.Table(self.folder.name, "kernels.csv").append(row(zipf_alpha=0.0))
        again = tables.Table(self.folder.name, "kernels.csv")
        self.assertIn(row(zipf_alpha=0.0), again)
        self.assertNotIn(row(zipf_alpha=0.6), again)

    def test_half_written_line_is_dropped(self):
        tables.Table(self.folder.name, "kernels.csv").append(row(4, latency_us=1.0))
        with open(self.path, "a") as file:
            file.write("x,rms_norm,16,,")
        again = tables.Table(self.folder.name, "kernels.csv")
        self.assertNotIn(row(16), again)
        again.append(row(16, latency_us=1.5))
        self.assertEqual([r["m_tokens"] for r in tables.read_rows(self.path)], ["4", "16"])

    def test_foreign_columns_are_refused(self):
        with open(self.path, "w") as file:
            file.write("model,op\nx,y\n")
        with self.assertRaisesRegex(ValueError, "columns"):
            tables.Table(self.folder.name, "kernels.csv")

    def test_unknown_column_is_our_fault(self):
        with self.assertRaises(KeyError):
            tables.Table(self.folder.name, "kernels.csv").append(row(wats=3))

    def test_not_a_number_is_never_written(self):
        table = tables.Table(self.folder.name, "kernels.csv")
        with self.assertRaises(ValueError):
            table.append(row(latency_us=float("nan")))
        self.assertEqual(tables.read_rows(self.path), [])

    def test_names_with_commas_are_quoted(self):
        table = tables.Table(self.folder.name, "states.csv")
        table.append({"state": "idle, context only", "board": "b1", "power_w": 119.3})
        self.assertIn({"state": "idle, context only", "board": "b1"}, tables.Table(self.folder.name, "states.csv"))


class ColumnsTest(unittest.TestCase):
    SHARED = os.path.join(os.path.dirname(__file__), *[".."] * 4, "shared", "data", "h200-measured")

    def test_columns_equal_the_earlier_tables(self):
        if not os.path.isdir(self.SHARED):
            self.skipTest("skipped: the earlier tables are not beside the checkout")
        for name in ("kernels", "collectives", "roofline", "states", "decode_steps", "serving_runs"):
            with open(os.path.join(self.SHARED, name + ".csv"), newline="") as file:
                self.assertEqual(next(csv.reader(file)), tables.COLUMNS[name + ".csv"], name)

    def test_keys_are_columns(self):
        for name, keys in tables.KEYS.items():
            self.assertTrue(set(keys) <= set(tables.COLUMNS[name]), name)


class YamlTest(unittest.TestCase):
    def test_nested_values(self):
        text = tables.yaml_text({"a": {"b": None, "c": 1.5, "d": {}}, "e": ["x", 2], "f": 'say "hi"', "g": True})
        self.assertEqual(text, 'a:\n  b: null\n  c: 1.5\n  d: {}\ne: ["x", 2]\nf: "say \\"hi\\""\ng: true\n')


if __name__ == "__main__":
    unittest.main()
