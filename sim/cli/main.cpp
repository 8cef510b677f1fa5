// `plateau`: the one file that reads the environment and knows where the data was installed.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "sim/cli/commands.h"

namespace {

namespace fs = std::filesystem;

// $PLATEAU_DATA, else the source tree it was built from, else ../share/plateau beside the
// executable.
std::string find_data_dir() {
  if (const char* chosen = std::getenv("PLATEAU_DATA"); chosen != nullptr && *chosen != '\0')
    return chosen;
  std::error_code error;
  if (fs::is_directory(fs::path(PLATEAU_DATA_DIR) / "calibration" / "data", error))
    return PLATEAU_DATA_DIR;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return (executable.parent_path().parent_path() / "share" / "plateau").string();
}

// Started by mpirun (Open MPI, or another one over PMI) or by srun, and not alone.
bool among_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const plateau::Terminal terminal{
      find_data_dir(), &std::cout, &std::cerr, ::isatty(STDERR_FILENO) == 1, colour, among_ranks()};
  const int code =
      plateau::run_command_line(std::vector<std::string>(argv + 1, argv + argc), terminal);
  std::cout.flush();
  if (std::cout) return code;
  std::cerr << "plateau: the standard output cannot be written\n";
  return plateau::kBadInput;
}
