"""What a user sees without a GPU: plans, messages, exit codes."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

from . import __name__ as _package  # noqa: F401
from collect import common, compare, ranks, run, serving, steps, tables
from collect.progress import Budget, Progress, Stop, UserError

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NO_GPU = not os.path.exists("/proc/driver/nvidia/version")


def command(script, *arguments):
    return subprocess.run([sys.executable, os.path.join(FOLDER, script), *arguments], capture_output=True, text=True)


class PlanTest(unittest.TestCase):
    def test_plan_needs_no_gpu_and_prints_the_seconds(self):
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(run.main(["--plan"]), 0)
        self.assertIn("moe_experts", out.getvalue())
        self.assertRegex(out.getvalue(), r"one GPU, all stages +\d+")

    def test_plan_as_a_script_and_as_a_module(self):
        self.assertEqual(command("run.py", "--plan", "--quick").returncode, 0)
        self.assertEqual(command("__main__.py", "--plan", "--quick").returncode, 0)


@unittest.skipUnless(NO_GPU, "this machine has a GPU")
class NoGpuTest(unittest.TestCase):
    def test_exit_code_two_and_one_message(self):
        with tempfile.TemporaryDirectory() as folder:
            for script, flags in (("run.py", []), ("run.py", ["--gpus", "2"]), ("run.py", ["--smoke"]), ("steps.py", []),
                                  ("serving.py", [])):
                done = command(script, "--out", folder, *flags)
                self.assertEqual(done.returncode, 2, (script, flags, done.stderr))
                self.assertIn("error: cannot reach a GPU", done.stderr)
                self.assertNotIn("Traceback", done.stderr)


class FlagsTest(unittest.TestCase):
    def test_unknown_model_is_a_message(self):
        done = command("run.py", "--out", "/nonexistent", "--models", "gpt-5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown model 'gpt-5'", done.stderr)

    def test_unknown_stage_lists_the_known(self):
        with self.assertRaisesRegex(ValueError, "kernels"):
            run.stages_of(run.parser().parse_args(["--only", "kernel"]))
        with self.assertRaisesRegex(ValueError, "collectives"):
            run.stages_of(run.parser().parse_args(["--gpus", "2", "--only", "kernels"]))

    def test_default_stages_depend_on_the_gpus(self):
        self.assertIn("kernels", run.stages_of(run.parser().parse_args([])))
        self.assertEqual(run.stages_of(run.parser().parse_args(["--gpus", "2"])), list(run.RANK_STAGES))

    def test_custom_geometry_joins_the_table(self):
        args = run.parser().parse_args(["--geometry", "name=m,layers=1,hidden=512,q_heads=8,kv_heads=2,head_dim=64,"
                                        "experts=8,topk=2,inter=64,vocab=100"])
        self.assertIn("m", [g.name for g in run.geometries_of(args)])

    def test_shapes_of_steps(self):
        self.assertEqual(steps.shapes_of(steps.parser().parse_args(["--shapes", "8x256,1x4096"])), [(8, 256), (1, 4096)])
        self.assertEqual(steps.shapes_of(steps.parser().parse_args(["--batches", "1,2", "--ctx", "128,256"])),
                         [(1, 128), (2, 128), (1, 256), (2, 256)])

    def test_models_of_one_command_share_the_gpus(self):
        args = steps.parser().parse_args(["--model", "qwen3-30b-a3b,olmoe-1b-7b-tp2"])
        with self.assertRaisesRegex(ValueError, "same -tpN"):
            steps.geometries_of(args)

    def test_serving_refuses_a_pool_that_holds_no_request(self):
        with self.assertRaisesRegex(ValueError, "cannot hold one request"):
            serving.check(serving.parser().parse_args(["--kv-tokens", "128", "--isl", "128", "--osl", "128"]))
        with self.assertRaisesRegex(ValueError, "multiple of the page"):
            serving.check(serving.parser().parse_args(["--kv-tokens", "65537"]))

    def test_serving_row_has_every_input_column(self):
        row = serving.inputs_row(serving.parser().parse_args([]), "qwen3-30b-a3b", "", "A")
        self.assertTrue(set(row) < set(tables.COLUMNS["serving_runs.csv"]))


class GuardTest(unittest.TestCase):
    def code(self, error):
        def fail():
            raise error

        err, sys.stderr = sys.stderr, io.StringIO()
        try:
            with redirect_stdout(io.StringIO()):
                return common.guarded(fail)
        finally:
            sys.stderr = err

    def test_codes(self):
        self.assertEqual(self.code(UserError("x")), 2)
        self.assertEqual(self.code(ValueError("x")), 2)
        self.assertEqual(self.code(Stop("x")), 0)
        with self.assertRaises(KeyError):
            self.code(KeyError("ours"))


class BudgetTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0
        self.budget = Budget(10.0, clock=lambda: self.now)

    def test_reserve_is_kept(self):
        self.assertTrue(self.budget.allows(7.0, 3.0))
        self.now = 0.5
        self.assertFalse(self.budget.allows(7.0, 3.0))
        with self.assertRaises(Stop):
            self.budget.require(7.0, 3.0)

    def test_no_budget_allows_all(self):
        self.assertTrue(Budget().allows(1e9))

    def test_progress_is_at_most_one_line_a_second(self):
        out = io.StringIO()
        progress = Progress(self.budget, out=out)
        for i in range(100):
            self.now = i * 0.05
            progress.step("kernels", i, 100, "x")
        self.assertLessEqual(len(out.getvalue().splitlines()), 7)
        self.assertIn("100/100", out.getvalue())


class RanksTest(unittest.TestCase):
    def test_host_memory_switches_peer_to_peer_off(self):
        self.assertEqual(ranks.environment(1, 2, 999, "host_memory")["NCCL_P2P_DISABLE"], "1")
        env = ranks.environment(0, 2, 999, "nvlink")
        self.assertNotIn("NCCL_P2P_DISABLE", env)
        self.assertEqual(env["NCCL_NVLS_ENABLE"], os.environ.get("NCCL_NVLS_ENABLE", "0"))

    def test_parent_is_no_worker(self):
        self.assertIsNone(ranks.worker_rank())

    def test_children_run_and_a_failure_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "w.py")
            with open(script, "w") as file:
                file.write("import os, sys, time\nif os.environ['PLATEAU_COLLECT_RANK'] == '1': sys.exit(7)\ntime.sleep(30)\n")
            self.assertEqual(ranks.launch([script], 2, "nvlink"), 7)
            with open(script, "w") as file:
                file.write("import os\nassert os.environ['PLATEAU_COLLECT_BUDGET'] == '5.0'\n")
            self.assertEqual(ranks.launch([script], 2, "nvlink", 5.0), 0)


class CompareTest(unittest.TestCase):
    def test_ratios_by_operation(self):
        def line(m, us):
            return {"model": "x", "op": "o", "m_tokens": m, "latency_us": us}

        found = compare.ratios([line("1", "2"), line("2", "3"), line("4", "")], [line("1", "1"), line("2", "3")],
                               ["model", "op", "m_tokens"], "latency_us", "op")
        self.assertEqual([r for _, r in found["o"]], [2.0, 1.0])


if __name__ == "__main__":
    unittest.main()
