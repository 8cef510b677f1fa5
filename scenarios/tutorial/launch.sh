#!/usr/bin/env bash
# How the server of docs/tutorial.md was started, and loaded.
export NCCL_P2P_LEVEL=5
export NCCL_MIN_NCHANNELS=8
export NCCL_IB_DISABLE=1

python -m sglang.launch_server \
  --model-path nvidia/GLM-5-NVFP4 \
  --tensor-parallel-size 8 \
  --quantization modelopt_fp4 \
  --mem-fraction-static 0.92 \
  --max-running-requests 2048 \
  --chunked-prefill-size 8192 \
  --attention-backend flashinfer \
  --moe-runner-backend flashinfer_cutlass \
  --num-continuous-decode-steps 8 \
  --disable-radix-cache \
  --disable-cuda-graph \
  --host 0.0.0.0 --port 30000 &

python -m sglang.bench_serving \
  --backend sglang --dataset-name random --num-prompts 2048 \
  --random-input-len 128 --random-output-len 128 --random-range-ratio 1.0 \
  --max-concurrency 2048 --output-file bench.jsonl
