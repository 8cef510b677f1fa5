import unittest

from . import __name__ as _package  # noqa: F401  (sets the path)
from collect import geometry


class ShardTest(unittest.TestCase):
    def test_two_gpus_halve_heads_and_expert_width(self):
        g = geometry.find("qwen3-30b-a3b-tp2")
        self.assertEqual((g.q_heads, g.kv_heads, g.inter, g.hidden, g.vocab, g.tp), (16, 2, 384, 2048, 151936, 2))
        self.assertEqual(g.qkv_width, 2560)

    def test_kv_heads_are_replicated_below_one_per_gpu(self):
        g = geometry.find("qwen3-30b-a3b-tp8")
        self.assertEqual((g.q_heads, g.kv_heads), (4, 1))

    def test_uneven_split_is_refused(self):
        with self.assertRaisesRegex(ValueError, "cannot be divided by 3"):
            geometry.find("qwen3-30b-a3b-tp3")

    def test_every_default_name_is_known(self):
        names = geometry.default_names()
        self.assertEqual(len(names), 16)
        for name in names:
            self.assertEqual(geometry.find(name).name, name)

    def test_unknown_name_lists_the_known(self):
        with self.assertRaisesRegex(ValueError, "mixtral-8x7b-16l"):
            geometry.find("mixtral")

    def test_parameter_count_is_about_the_model(self):
        self.assertAlmostEqual(geometry.find("qwen3-30b-a3b").model_elements / 1e9, 30.5, delta=0.6)


class CustomTest(unittest.TestCase):
    TEXT = "name=mine,layers=4,hidden=512,q_heads=8,kv_heads=2,head_dim=64,experts=16,topk=2,inter=256,vocab=1000"

    def test_custom_geometry_can_be_split(self):
        g = geometry.find("mine-tp2", [geometry.parse_custom(self.TEXT)])
        self.assertEqual((g.name, g.q_heads, g.inter), ("mine-tp2", 4, 128))

    def test_missing_and_unknown_fields_are_named(self):
        with self.assertRaisesRegex(ValueError, "missing.*vocab.*unknown.*colour"):
            geometry.parse_custom(self.TEXT.replace("vocab=1000", "colour=3"))

    def test_numbers_are_checked(self):
        with self.assertRaisesRegex(ValueError, "layers=-4"):
            geometry.parse_custom(self.TEXT.replace("layers=4", "layers=-4"))
        with self.assertRaisesRegex(ValueError, "power of two"):
            geometry.parse_custom(self.TEXT.replace("head_dim=64", "head_dim=80"))
        with self.assertRaisesRegex(ValueError, "given twice"):
            geometry.parse_custom(self.TEXT + ",layers=5")


if __name__ == "__main__":
    unittest.main()
