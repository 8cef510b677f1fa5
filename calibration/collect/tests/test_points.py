import unittest

from . import __name__ as _package  # noqa: F401
from collect import geometry, points, tables


def everything():
    return points.plan([geometry.find(name) for name in geometry.default_names()])


class SplitsTest(unittest.TestCase):
    def test_parts_of_the_first_measured_engine(self):
        """(batch, KV heads, context) -> parts, as in the h200-measured tables (132 multiprocessors)."""
        for batch, kv_heads, ctx, parts in ((1, 4, 128, 1), (1, 4, 256, 1), (1, 4, 4096, 16), (8, 4, 4096, 9),
                                            (16, 4, 4096, 5), (32, 4, 4096, 3), (64, 4, 4096, 2), (128, 4, 1024, 1),
                                            (8, 8, 2048, 5), (16, 8, 2048, 3), (64, 8, 2048, 1), (64, 2, 1024, 3)):
            self.assertEqual(points.attention_splits(batch, kv_heads, ctx, 132), parts, (batch, kv_heads, ctx))


class PlanTest(unittest.TestCase):
    def test_no_row_is_planned_twice(self):
        seen = set()
        for point in everything():
            for model in point.models:
                key = tuple(tables.cell(point.row_key(model)[k]) for k in tables.KEYS["kernels.csv"])
                self.assertNotIn(key, seen)
                seen.add(key)

    def test_every_model_gets_every_operation(self):
        have = {(model, p.op) for p in everything() for model in p.models}
        for name in geometry.default_names():
            for op in points.OPS:
                if not op.endswith("_fp8") or geometry.find(name).tp <= 2:
                    self.assertIn((name, op), have)

    def test_equal_shapes_are_measured_once(self):
        norms = [p for p in everything() if p.op == "rms_norm" and p.m == 64]
        self.assertEqual(len(norms), 2)
        self.assertEqual(sum(len(p.models) for p in norms), 16)

    def test_about_a_hundred_and_twenty_power_points_from_idle_to_saturated(self):
        power = [p for p in everything() if p.power]
        self.assertTrue(95 <= len(power) <= 130, len(power))
        self.assertTrue({"moe_experts", "attention_decode", "qkv_gemm", "rms_norm"} <= {p.op for p in power})
        tokens = {p.m for p in power if p.op == "moe_experts"}
        self.assertIn(1, tokens)
        self.assertIn(8192, tokens)

    def test_useful_points_come_first(self):
        ranks = [p.rank for p in everything()]
        self.assertEqual(ranks, sorted(ranks))

    def test_kv_of_one_call_is_bounded(self):
        for p in everything():
            if p.op == "attention_decode":
                self.assertLessEqual(p.m * p.ctx * p.geometry.kv_bytes_per_token, points.KV_LIMIT_BYTES)

    def test_attention_reaches_the_long_contexts(self):
        contexts = {p.ctx for p in everything() if p.op == "attention_decode" and p.m == 32}
        self.assertEqual(contexts, set(points.CONTEXTS))

    def test_no_power_means_no_power_points(self):
        plan = points.plan([geometry.find("olmoe-1b-7b")], with_power=False)
        self.assertFalse(any(p.power for p in plan))

    def test_quick_is_much_smaller(self):
        quick = points.plan([geometry.find(name) for name in geometry.BASE], quick=True)
        self.assertLess(len(quick), 250)
        self.assertLess(sum(points.guess_point_s(p, 2.0) for p in quick), 60)


class EstimateTest(unittest.TestCase):
    def test_expected_active_experts(self):
        g = geometry.find("qwen3-30b-a3b")
        self.assertAlmostEqual(points.expected_active(g, 1), 8)
        self.assertAlmostEqual(points.expected_active(g, 32), 111.8, delta=0.2)

    def test_guess_is_within_a_factor_two_of_measured_rows(self):
        """Lines of the h200-measured tables, in microseconds."""
        g = geometry.find("qwen3-30b-a3b")
        for op, m, ctx, us in (("moe_experts", 32, None, 387.4), ("moe_experts", 8192, None, 1585.0),
                               ("qkv_gemm", 8192, None, 250.1), ("lm_head_argmax", 1024, None, 1034.9),
                               ("attention_decode", 1024, 256, 163.4), ("moe_combine", 8192, None, 565.5)):
            ratio = points.guess_latency_s(op, g, m, ctx) * 1e6 / us
            self.assertTrue(0.5 < ratio < 2.0, (op, m, ratio))

    def test_small_weights_rotate_out_of_the_cache(self):
        calls = points.calls_in_graph("qkv_gemm", 3.2e6, 3e-6)
        self.assertGreaterEqual(calls * 3.2e6, 190e6)
        self.assertEqual(points.calls_in_graph("moe_experts", 1.2e9, 430e-6), 2)
        self.assertLessEqual(points.calls_in_graph("attention_decode", 1e3, 3e-6), 64)


if __name__ == "__main__":
    unittest.main()
