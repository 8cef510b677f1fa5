#include <CLI/CLI.hpp>

#include "sim/cli/command_options.h"

namespace plateau {

namespace {

void add_work(CLI::App* command, int* threads, int* repetitions) {
  command->add_option("--threads", *threads, "Threads (default: every core; under MPI 1 a rank)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--intervals", *repetitions,
                   "Repeat each point N times with other experts and tables as noisy as they "
                   "are, and give p5 and p95")
      ->type_name("N")
      ->check(CLI::Range(2, 10'000));
}

}  // namespace

void add_sweep_options(CLI::App* command, SweepArguments* arguments) {
  add_scenario(command, &arguments->scenario);
  command
      ->add_option("--vary", arguments->vary,
                   "Values of one key: KEY=a,b,c or KEY=lo..hi:steps (may be repeated)")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  CLI::Option* zip = command->add_flag("--zip", arguments->zip, "Pair the values of all keys");
  CLI::Option* points = command->add_option("--points", arguments->points,
                                            "A CSV file of points, its header names the keys");
  points->type_name("FILE");
  const auto sample = [&](const char* name, std::int64_t* size, const char* description) {
    return command->add_option(name, *size, description)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  };
  CLI::Option* random =
      sample("--random", &arguments->random, "N different points of the grid, at random");
  CLI::Option* latin = sample("--lhs", &arguments->latin, "A Latin hypercube of N points");
  zip->excludes(points)->excludes(random)->excludes(latin);
  points->excludes(random)->excludes(latin);
  random->excludes(latin);
  command->add_option("--sample-seed", arguments->sample_seed, "Seed of the sample (default 1)")
      ->type_name("N");
  add_work(command, &arguments->threads, &arguments->repetitions);
  command->add_option("--csv", arguments->csv, "Write the rows as CSV")->type_name("FILE|-");
  command->add_option("--jsonl", arguments->json_lines, "Write the rows as JSON lines")
      ->type_name("FILE|-");
  command
      ->add_option("--html", arguments->html,
                   "Write the rows as one HTML page to FILE: any two figures and their front")
      ->type_name("FILE|-");
  add_common(command, &arguments->common);
}

void add_plan_options(CLI::App* command, PlanArguments* arguments) {
  add_scenario(command, &arguments->scenario);
  command
      ->add_option("--vary", arguments->vary,
                   "Values of one key to choose from (may be repeated; default: the engine's "
                   "caps and flags, power limits, TP and devices)")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  command
      ->add_option("--maximise,--maximize", arguments->maximise,
                   "tok_per_s (default), tok_per_s_per_gpu, tok_per_s_per_w or request_rate")
      ->type_name("FIGURE");
  command
      ->add_option("--minimise,--minimize", arguments->minimise,
                   "gpus, j_per_token or cost_per_million_tokens")
      ->type_name("FIGURE");
  command
      ->add_option("--limit", arguments->limits,
                   "What an answer must keep: 'ttft_p99 <= 500 ms' (may be repeated)")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command->add_option("--random", arguments->random, "Choose from N points of the space, at random")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command->add_flag("--exhaustive", arguments->exhaustive, "Simulate every point");
  command->add_option("--best", arguments->best, "How many answers to give (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  add_work(command, &arguments->threads, &arguments->repetitions);
  command
      ->add_option("--html", arguments->html,
                   "Write the points that ran as one HTML page to FILE: any two figures and "
                   "their front")
      ->type_name("FILE");
  add_common(command, &arguments->common);
}

}  // namespace plateau
