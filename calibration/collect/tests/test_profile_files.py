"""meta.yaml from tables: the gap that closes on the prices, the watts of waiting."""

import os
import tempfile
import unittest

from collect import profile_files


def folder_of(files):
    folder = tempfile.mkdtemp()
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    return folder


KERNELS = """model,op,m_tokens,n,k,ctx_tokens,splits,zipf_alpha,experts,topk,hidden,inter,active_experts,expert_load_max_over_mean,latency_us,latency_p10_us,latency_p90_us,power_w,sm_mhz
m,rms_norm,8,,,,,,,,,,,,3,,,,
m,attention_decode,8,,,128,,,,,,,,,99,,,,
m,attention_decode,8,,,256,,,,,,,,,20,,,,
m,moe_experts,8,,,,,1.2,,,,,,,77,,,,
m,moe_experts,8,,,,,0,,,,,,,50,,,,
"""
LAUNCH = """quantity,model,batch,ctx_tokens,value_us,p10_us,p90_us,repeats,detail
graph_gap,m,8,256,9,9,9,5,layer 100.00 us of 2 captured; alone 70.00: rms_norm=5.00 attention_decode=19.00 o_gemm=6.00 moe_experts=40.00
"""


class Gaps(unittest.TestCase):
    def test_the_gap_brings_the_prices_to_the_layer(self):
        folder = folder_of({"kernels.csv": KERNELS, "launch.csv": LAUNCH})
        found = profile_files.gaps(profile_files.rows(folder, "launch.csv"), profile_files.prices(folder))
        # two norms of 3, attention 20, experts 50 and, of what the table lacks, o_gemm 6 as timed beside the layer
        self.assertEqual(found, [(100 - (2 * 3 + 20 + 50 + 6)) / 5])


class Waiting(unittest.TestCase):
    def test_every_board_and_size_counts(self):
        states = "state,board,power_w,util_pct,sm_mhz\n\"idle, context only\",a,100,0,\n" + "".join(
            f"rank waits inside an all-reduce of {size} B over nvlink for a late peer,{board},{watts},100,1980\n"
            for size, board, watts in ((4096, "a", 120), (4096, "b", 126), (1048576, "a", 160), (1048576, "b", 124)))
        folder = folder_of({"states.csv": states, "roofline.csv": "op,tb_per_s\ncopy,4.2\n"})
        wait = profile_files.power_terms(folder)["wait"]
        self.assertEqual(wait["value"], "125 W")
        self.assertIn("median of 4", wait["note"])


if __name__ == "__main__":
    unittest.main()
