// docs/planning.md says what it says: every command of a ```console block prints exactly what
// stands below it, and every bold figure of a section is one that its commands print.
//
// PLATEAU_UPDATE_DOCS=1 test_cli -tc='*planning guide*' writes what the commands print now; prose
// that then quotes an old figure fails the next run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

namespace {

const std::string kGuide = PLATEAU_SOURCE_DIR "/docs/planning.md";

struct Block {
  std::string command;               // the lines after "$ ", continuations joined
  std::vector<std::string> words;    // those lines as they stand
  std::vector<std::string> printed;  // what the guide says
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Block block_of(const std::vector<std::string>& lines) {
  Block block;
  bool command = true;
  for (const std::string& line : lines) {
    if (!command) {
      block.printed.push_back(line);
      continue;
    }
    block.words.push_back(line);
    std::string word = block.command.empty() ? line.substr(2) : line;
    command = !word.empty() && word.back() == '\\';
    if (command) word.pop_back();
    block.command += word;
  }
  return block;
}

std::vector<std::string> printed_by(const std::string& command) {
  const plateau::test::TemporaryFolder folder;
  const std::string script = folder.write(
      "script", "plateau() { " PLATEAU_BINARY " \"$@\"; }\ncd " PLATEAU_SOURCE_DIR "\n" + command);
  const std::string out = folder.path("out");
  std::system(("bash " + script + " >" + out + " 2>&1 </dev/null").c_str());
  return lines_of(plateau::read_file(out));
}

std::string without_commas(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return text;
}

std::vector<std::string> bold_of(const std::string& line) {
  std::vector<std::string> bold;
  std::size_t from = line.find("**");
  while (from != std::string::npos) {
    const std::size_t to = line.find("**", from + 2);
    if (to == std::string::npos) break;
    bold.push_back(line.substr(from + 2, to - from - 2));
    from = line.find("**", to + 2);
  }
  return bold;
}

struct Section {
  std::string title;
  std::vector<std::string> bold;
  std::string output;
};

void check(const Section& section) {
  for (const std::string& figure : section.bold) {
    const bool stands =
        without_commas(section.output).find(without_commas(figure)) != std::string::npos;
    CHECK_MESSAGE(stands, section.title, ": nothing prints ", figure);
  }
}

}  // namespace

TEST_CASE("the planning guide prints what it says") {
  const bool update = std::getenv("PLATEAU_UPDATE_DOCS") != nullptr;
  std::string rewritten;
  std::vector<std::string> block;
  bool inside = false;
  int commands = 0;
  Section section;
  for (const std::string& line : lines_of(plateau::read_file(kGuide))) {
    if (!inside) {
      rewritten += line + "\n";
      if (line.rfind("## ", 0) == 0) {
        check(section);
        section = {line, {}, ""};
      }
      for (std::string& figure : bold_of(line)) section.bold.push_back(std::move(figure));
      inside = line == "```console";
    } else if (line != "```") {
      block.push_back(line);
    } else {
      const Block guide = block_of(block);
      const std::vector<std::string> now = printed_by(guide.command);
      ++commands;
      if (!update) CHECK_MESSAGE(now == guide.printed, guide.command);
      for (const std::string& word : guide.words) rewritten += word + "\n";
      for (const std::string& text : now) {
        rewritten += text + "\n";
        section.output += text + "\n";
      }
      rewritten += "```\n";
      block.clear();
      inside = false;
    }
  }
  check(section);
  CHECK(commands >= 8);
  if (update) plateau::write_file(kGuide, rewritten);
}
