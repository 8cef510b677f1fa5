#include "calibration/import/launch_command.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "calibration/import/token.h"
#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

struct Word {
  std::string text;
  int line = 0;
  bool quoted = false;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Shell text to simple commands, each a list of words; variables are filled in as they were set
// before.
class Shell {
 public:
  Shell(std::string_view text, const std::string& file, LaunchScript& script)
      : text_(text), file_(file), script_(script) {}

  std::vector<std::vector<Word>> commands() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && continues(at_ + 1)) {
      skip_line_end(at_ + 1);
    } else if (c == '#' && !in_word_) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
      end_command();
      next();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      next();
    } else if (c == '>' || c == '<') {
      redirection();
    } else {
      character(c);
    }
  }

  bool continues(std::size_t at) const {
    return at < text_.size() && (text_[at] == '\n' || text_.substr(at, 2) == "\r\n");
  }
  void skip_line_end(std::size_t at) {
    at_ = at + (text_[at] == '\r' ? 2 : 1);
    ++line_;
  }
  void next() {
    if (text_[at_++] == '\n') ++line_;
  }

  // "2>&1", "> log": neither is a word of the command.
  void redirection() {
    if (in_word_ && std::all_of(word_.text.begin(), word_.text.end(), [](char c) {
          return std::isdigit(static_cast<unsigned char>(c)) != 0;
        })) {
      in_word_ = false;
      word_ = {};
    }
    end_word();
    while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<' || text_[at_] == '&'))
      ++at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    while (at_ < text_.size() && std::string_view(" \n;|&").find(text_[at_]) == kNowhere) ++at_;
  }

  void character(char c) {
    begin_word();
    if (c == '\'' || c == '"') {
      quote(c);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      word_.text += text_[at_ + 1];
      at_ += 2;
    } else if (c == '$') {
      variable();
    } else {
      word_.text += c;
      ++at_;
    }
  }

  void quote(char mark) {
    const int opened = line_;
    word_.quoted = true;
    for (++at_; at_ < text_.size() && text_[at_] != mark;) {
      if (mark == '"' && text_[at_] == '$') {
        variable();
      } else if (mark == '"' && text_[at_] == '\\' && continues(at_ + 1)) {
        skip_line_end(at_ + 1);
      } else if (mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                 std::string_view("\"\\$`").find(text_[at_ + 1]) != kNowhere) {
        word_.text += text_[at_ + 1];
        at_ += 2;
      } else {
        word_.text += text_[at_];
        next();
      }
    }
    if (at_ >= text_.size()) {
      throw InputError(Problem{file_, opened, 0, "",
                               std::string("a quote (") + mark + ") is not closed",
                               "close it, or quote the whole command once more"});
    }
    ++at_;
  }

  // $NAME, ${NAME}, ${NAME:-other}; a variable that the text does not set stays as it is written.
  void variable() {
    std::size_t end = at_ + 1;
    const bool braced = end < text_.size() && text_[end] == '{';
    if (braced) ++end;
    const std::size_t begin = end;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const std::string name(text_.substr(begin, end - begin));
    std::string otherwise;
    if (braced) {
      const std::size_t close = std::min(text_.find('}', end), text_.size());
      const std::string_view rest = text_.substr(end, close - end);
      if (rest.substr(0, 2) == ":-") otherwise = std::string(rest.substr(2));
      end = std::min(close + 1, text_.size());
    }
    const auto known = variables_.find(name);
    if (name.empty() || (known == variables_.end() && otherwise.empty())) {
      word_.text += text_.substr(at_, end - at_);
    } else {
      word_.text += known == variables_.end() ? otherwise : known->second;
    }
    at_ = std::max(end, at_ + 1);
  }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    word_ = {"", line_, false};
  }

  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    words_.push_back(word_);
  }

  // Assignments before a program (or alone, or exported) are variables; those with a program or
  // `export` are environment too.
  void end_command() {
    end_word();
    std::size_t first = 0;
    const bool exported = !words_.empty() && words_[0].text == "export";
    if (exported) ++first;
    std::vector<std::pair<std::string, std::string>> set;
    for (; first < words_.size(); ++first) {
      const std::size_t equals = words_[first].text.find('=');
      const std::string name = words_[first].text.substr(0, equals);
      if (equals == std::string::npos || name.empty() ||
          !std::all_of(name.begin(), name.end(), is_name))
        break;
      set.emplace_back(name, words_[first].text.substr(equals + 1));
    }
    const bool program = first < words_.size();
    for (const auto& [name, value] : set) {
      variables_[name] = value;
      if (exported || program) script_.environment[name] = value;
    }
    words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(first));
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  const std::string& file_;
  LaunchScript& script_;
  std::size_t at_ = 0;
  int line_ = 1;
  Word word_;
  bool in_word_ = false;
  std::vector<Word> words_;
  std::vector<std::vector<Word>> commands_;
  std::map<std::string, std::string> variables_;
};

struct Found {
  Program program;
  std::size_t behind = 0;  // index of the word after the program
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() &&
         std::string_view(text).substr(text.size() - end.size()) == end;
}

std::optional<Found> find_program(const std::vector<Word>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const auto next = [&](std::size_t n, const char* text) {
      return i + n < words.size() && words[i + n].text == text;
    };
    if (word == "sglang.launch_server" || ends_with(word, "sglang/launch_server.py"))
      return Found{Program::sglang_server, i + 1};
    if (word == "sglang.bench_serving" || ends_with(word, "sglang/bench_serving.py"))
      return Found{Program::sglang_bench, i + 1};
    if (word == "vllm.entrypoints.openai.api_server") return Found{Program::vllm_server, i + 1};
    if (ends_with(word, "benchmark_serving.py")) return Found{Program::vllm_bench, i + 1};
    const bool sglang = word == "sglang" || ends_with(word, "/sglang");
    if (sglang && next(1, "serve")) return Found{Program::sglang_server, i + 2};
    const bool vllm = word == "vllm" || ends_with(word, "/vllm");
    if (vllm && next(1, "bench") && next(2, "serve")) return Found{Program::vllm_bench, i + 3};
    if (vllm && next(1, "serve")) return Found{Program::vllm_server, i + 2};
  }
  return std::nullopt;
}

// "-tp" and "--tp" are flags, "-1" and "-0.5" are values.
bool is_flag(const Word& word) {
  if (word.text.size() < 2 || word.text[0] != '-' || word.quoted) return false;
  return std::isalpha(static_cast<unsigned char>(
             word.text[word.text[1] == '-' && word.text.size() > 2 ? 2 : 1])) != 0;
}

LaunchFlag flag_of(const Word& word) {
  const std::size_t equals = word.text.find('=');
  LaunchFlag flag;
  flag.written = word.text.substr(0, equals);
  flag.name =
      flag.written.substr(std::min(flag.written.find_first_not_of('-'), flag.written.size()));
  std::replace(flag.name.begin(), flag.name.end(), '_', '-');
  flag.line = word.line;
  if (equals != std::string::npos) flag.values.push_back(word.text.substr(equals + 1));
  return flag;
}

LaunchCommand command_of(const std::vector<Word>& words, const Found& found) {
  LaunchCommand command;
  command.program = found.program;
  command.line = words[found.behind - 1].line;
  for (std::size_t i = 0; i < words.size(); ++i) command.text += (i > 0 ? " " : "") + words[i].text;
  for (std::size_t i = found.behind; i < words.size(); ++i) {
    if (is_flag(words[i])) {
      command.flags.push_back(flag_of(words[i]));
    } else if (command.flags.empty()) {
      command.words.push_back(words[i].text);
    } else {
      command.flags.back().values.push_back(words[i].text);
    }
  }
  return command;
}

// "lmsysorg/sglang:v0.5.8-cu129" -> "0.5.8".
std::string version_of_image(const std::string& word) {
  const std::size_t tag = word.find("sglang:v");
  if (tag == std::string::npos) return "";
  std::string version;
  for (std::size_t i = tag + 8; i < word.size(); ++i) {
    const char c = word[i];
    const bool post = word.compare(i, 5, ".post") == 0;
    if (post) {
      version += ".post";
      i += 4;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      version += c;
    } else {
      break;
    }
  }
  return version;
}

// docker run -e NAME=VALUE
void collect_container_environment(const std::vector<Word>& words, LaunchScript& script) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text != "-e" && words[i].text != "--env") continue;
    const std::string& set = words[i + 1].text;
    const std::size_t equals = set.find('=');
    if (equals != std::string::npos)
      script.environment[set.substr(0, equals)] = set.substr(equals + 1);
  }
}

void collect(std::string_view text, const std::string& file, int depth, LaunchScript& script) {
  constexpr int kDeepest = 3;
  for (const std::vector<Word>& words : Shell(text, file, script).commands()) {
    for (const Word& word : words) {
      const std::string version = version_of_image(word.text);
      if (!version.empty()) script.sglang_version = version;
    }
    collect_container_environment(words, script);
    if (const auto found = find_program(words)) {
      script.commands.push_back(command_of(words, *found));
      continue;
    }
    // bash -c "python -m sglang.launch_server ..."
    for (const Word& word : words) {
      const bool nested = word.quoted && word.text.find(' ') != std::string::npos;
      if (nested && depth < kDeepest) collect(word.text, file, depth + 1, script);
    }
  }
}

}  // namespace

const LaunchFlag* LaunchCommand::find(std::string_view name) const {
  const auto found = std::find_if(flags.rbegin(), flags.rend(),
                                  [&](const LaunchFlag& flag) { return flag.name == name; });
  return found == flags.rend() ? nullptr : &*found;
}

LaunchScript parse_launch_script(std::string_view text, const std::string& file) {
  LaunchScript script;
  collect(text, file, 0, script);
  if (script.commands.empty()) {
    throw InputError(
        Problem{file, 0, 0, "", "no server and no benchmark is launched here",
                "known: sglang.launch_server, sglang.bench_serving, vllm serve, vllm bench serve"});
  }
  return script;
}

}  // namespace plateau::imports
