// `plateau sweep` as typed: its forms, its errors, its resumption and its ranks.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::read_file;
using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;
using plateau::test::Transcript;

namespace {

namespace fs = std::filesystem;

const std::string kSweep = "sweep " PLATEAU_SOURCE_DIR
                           "/scenarios/qwen3-30b-a3b-1x-h200.yaml --set workload.requests=40 --set "
                           "'workload.output_length=16 tokens' ";
const std::string kVary = "--vary workload.concurrency=1..20:10 --vary parallel.tp=1,3 ";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string refused(const std::string& words) {
  const Transcript transcript = run_plateau(kSweep + words);
  CHECK(transcript.code == 2);
  CHECK(transcript.out.empty());
  return transcript.err;
}

}  // namespace

TEST_CASE("sweep prints a table, the infeasible points with their reason") {
  const Transcript sweep = run_plateau(kSweep + "--vary parallel.tp=1,3");
  CHECK(sweep.code == 0);
  CHECK(sweep.err.empty());
  CHECK(contains(sweep.out, "tp  tok/s"));
  CHECK(contains(sweep.out, "parallel.tp=3 cannot run: parallel.tp: 32 attention heads"));
  CHECK(contains(sweep.out, "2 points, 1 infeasible"));
  CHECK(contains(sweep.out, "at parallel.tp=1"));
  CHECK(contains(refused("--vary parallel.tp=3"), "cannot be split over 3 GPUs"));
}

TEST_CASE("sweep writes CSV, JSON lines and JSON of the same rows") {
  const TemporaryFolder folder;
  const std::string csv = folder.path("rows.csv");
  const std::string lines = folder.path("rows.jsonl");
  const std::string json = folder.path("rows.json");
  const Transcript sweep =
      run_plateau(kSweep + kVary + "--csv " + csv + " --jsonl " + lines + " --json " + json);
  CHECK(sweep.code == 0);
  const plateau::CsvTable table = plateau::CsvTable::read(csv);
  REQUIRE(table.rows() == 20);
  CHECK(table.columns()[0] == "workload.concurrency");
  CHECK(table.text(2, table.column("workload.concurrency")) == "3");
  CHECK(table.text(1, table.column("status")) == "infeasible");
  const auto document = nlohmann::json::parse(read_file(json));
  CHECK(document["schema"] == "plateau-sweep/1");
  CHECK(document["points"] == 20);
  CHECK(document["infeasible"] == 10);
  CHECK(document["rows"][2]["set"]["workload.concurrency"] == 3);
  CHECK(document["rows"][1]["output_tok_per_s"].is_null());
  CHECK(document["rows"][2]["output_tok_per_s"].get<double>() ==
        table.number(2, table.column("output_tok_per_s")));
  std::istringstream text(read_file(lines));
  std::string line;
  REQUIRE(std::getline(text, line));
  CHECK(nlohmann::json::parse(line)["schema"] == "plateau-sweep/1");
  for (int i = 0; i < 20; ++i) {
    REQUIRE(std::getline(text, line));
    CHECK(nlohmann::json::parse(line) == document["rows"][i]);
  }
  CHECK_FALSE(std::getline(text, line));
  for (const auto& entry : fs::directory_iterator(folder.path("")))
    CHECK_FALSE(contains(entry.path().string(), ".partial"));
}

TEST_CASE("sweep writes the same bytes on one thread, on two and to the standard output") {
  const Transcript one = run_plateau(kSweep + kVary + "--threads 1 --csv -");
  CHECK(one.code == 0);
  CHECK(one.out == run_plateau(kSweep + kVary + "--threads 2 --csv -").out);
}

TEST_CASE("a sweep that was killed goes on from its rows and ends with the same bytes") {
  const TemporaryFolder folder;
  const std::string csv = folder.path("rows.csv");
  const std::string vary = "--vary workload.concurrency=1..40:40 --vary seed=1..10:10 ";
  const std::string whole = run_plateau(kSweep + vary + "--csv -").out;
  // Killed as soon as some rows are written.
  const std::string words = kSweep + vary + "--threads 1 --csv " + csv;
  const std::string script = folder.write(
      "kill.sh", PLATEAU_BINARY " " + words + " >/dev/null 2>&1 &\nuntil [ -e " + csv +
                     " ] || [ \"$(wc -l 2>/dev/null <" + csv +
                     ".partial)\" -gt 9 ] 2>/dev/null; do sleep 0.01; done\nkill -9 $!\nwait\n");
  CHECK(std::system(("bash " + script + " 2>/dev/null").c_str()) != -1);
  REQUIRE(fs::exists(csv + ".partial"));
  CHECK_FALSE(fs::exists(csv));
  // What the kill may have cut off: half a row.
  std::string partial = read_file(csv + ".partial");
  partial.resize(partial.rfind('\n') + 1);
  const std::size_t ok = partial.find("\tok\t\t");
  REQUIRE(ok != std::string::npos);
  plateau::write_file(csv + ".partial", partial + "7\tok\t\t1.5");
  CHECK(run_plateau(words).code == 0);
  CHECK(read_file(csv) == whole);
  CHECK_FALSE(fs::exists(csv + ".partial"));
  // A kept row is taken as it stands: a changed one comes out changed.
  std::string changed = partial;
  changed.insert(ok + 5, "123");
  plateau::write_file(csv + ".partial", changed);
  CHECK(run_plateau(words).code == 0);
  CHECK(contains(read_file(csv), ",ok,,123"));
}

TEST_CASE("the rows of another sweep are not gone on with") {
  const TemporaryFolder folder;
  const std::string csv = folder.path("rows.csv");
  folder.write("rows.csv.partial", "plateau-sweep-partial/1 0123456789abcdef\n3\tok\t\t1\n");
  CHECK(contains(refused(kVary + "--csv " + csv), "holds the rows of another sweep"));
  CHECK_FALSE(fs::exists(csv));
}

TEST_CASE("sweep refuses what it cannot vary, and says how to put it right") {
  CHECK(contains(refused(""), "nothing varies"));
  CHECK(
      contains(refused("--vary workload.concurency=1,2"), "did you mean `workload.concurrency`?"));
  CHECK(contains(refused("--vary hardware.power_limit=400..600:3"), "`400` has no unit"));
  CHECK(contains(refused("--vary workload.concurrency=1..9"), "says no number of steps"));
  CHECK(contains(refused("--vary workload.concurrency=1..1000:1000 --vary "
                         "engine.max_running_requests=1..1000:1000 --vary seed=1..1000:1000"),
                 "a grid of 1,000,000,000 points (ask for a sample of it"));
  CHECK(contains(refused("--vary seed=1,2 --zip --lhs 3"), "excludes"));
}

TEST_CASE("an output that cannot be written ends a sweep before it starts, without a file") {
  const std::string words = kVary + "--csv /nonexistent/rows.csv";
  CHECK(contains(refused(words), "cannot be written: No such file or directory"));
  const TemporaryFolder folder;
  fs::permissions(folder.path(""), fs::perms::owner_read | fs::perms::owner_exec);
  if (::access(folder.path("").c_str(), W_OK) == 0) {
    MESSAGE("skipped: this user may write to read-only folders");
  } else {
    CHECK(contains(refused(kVary + "--csv " + folder.path("rows.csv")), "cannot be written"));
    CHECK(fs::is_empty(folder.path("")));
  }
  fs::permissions(folder.path(""), fs::perms::owner_all);
}

TEST_CASE("a full disk is told, and leaves whole rows to go on from") {
  const Transcript full = run_plateau(kSweep + kVary + "--csv /dev/full");
  CHECK(full.code == 2);
  CHECK(contains(full.err, "/dev/full: cannot be written: No space left on device"));
}

// On a file system of a few pages, in a mount namespace of its own.
TEST_CASE("a disk that fills up leaves whole rows and no half output; with room the sweep ends") {
  const TemporaryFolder folder;
  const std::string csv = folder.path("disk/rows.csv");
  const std::string vary = "--vary workload.concurrency=1..40:40 ";
  const std::string command = PLATEAU_BINARY " " + kSweep + vary + "--csv " + csv +
                              " >/dev/null 2>>" + folder.path("err") + "; echo $? >>" +
                              folder.path("codes");
  const std::string mount =
      "mount -t tmpfs -o size=16k tmpfs " + folder.path("disk") + " || exit 9\n";
  const std::string script =
      folder.write("full.sh", "mkdir " + folder.path("disk") + "\n" + mount + command + "\nls " +
                                  folder.path("disk") + " >" + folder.path("left") +
                                  "\nmount -o remount,size=1m " + folder.path("disk") + "\n" +
                                  command + "\ncp " + csv + " " + folder.path("rows.csv") + "\n");
  if (std::system(("unshare -m bash " + script + " 2>/dev/null").c_str()) != 0) {
    MESSAGE("skipped: this user may not mount");
    return;
  }
  CHECK(read_file(folder.path("codes")) == "2\n0\n");
  CHECK(read_file(folder.path("left")) == "rows.csv.partial\n");
  CHECK(contains(read_file(folder.path("err")), "No space left on device"));
  CHECK(contains(read_file(folder.path("err")), "repeat the command to go on from there"));
  CHECK(read_file(folder.path("rows.csv")) == run_plateau(kSweep + vary + "--csv -").out);
}

TEST_CASE("sweep over 1, 2 and 4 MPI ranks writes the bytes of one process") {
  const std::string whole = run_plateau(kSweep + kVary + "--csv -").out;
  const auto on_ranks = [](int ranks, const std::string& words) {
    return run_plateau(words,
                       "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun "
                       "--oversubscribe -n " +
                           std::to_string(ranks));
  };
  const Transcript first = on_ranks(2, kSweep + kVary + "--csv -");
  if (first.code == 127 || contains(first.err, "has no MPI")) {
    MESSAGE("skipped: built without MPI, or mpirun is not installed");
    return;
  }
  CHECK(first.code == 0);
  CHECK(first.out == whole);
  for (const int ranks : {1, 4}) {
    const Transcript sweep = on_ranks(ranks, kSweep + kVary + "--csv -");
    CHECK(sweep.code == 0);
    CHECK(sweep.out == whole);
  }
  const Transcript wrong = on_ranks(3, kSweep + "--vary nothing=1");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "nothing: is no key of a scenario"));
  const Transcript unwritable = on_ranks(3, kSweep + kVary + "--csv /nonexistent/rows.csv");
  CHECK(unwritable.code == 2);
  CHECK(contains(unwritable.err, "cannot be written"));
}
