#include "sim/scenario/draft_yaml.h"

#include <algorithm>
#include <cctype>

#include "calibration/csv.h"

namespace plateau {

namespace {

// Words of a shell may hold anything; the text must stay one line of plain ASCII.
std::string printable(std::string text) {
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
  return text;
}

}  // namespace

std::string yaml_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
           c == '-';
  });
  if (plain && std::isalnum(static_cast<unsigned char>(text[0])) != 0) return text;
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::optional<std::string> yaml_value(const imports::LaunchFlag& flag, FlagRule::Value kind) {
  using Value = FlagRule::Value;
  const std::vector<std::string>& values = flag.values;
  const auto is_number = [](const std::string& value) { return parse_number(value).has_value(); };
  switch (kind) {
    case Value::none: {
      const bool off = !values.empty() && (values[0] == "false" || values[0] == "False");
      return off ? "false" : "true";
    }
    case Value::word:
      return values.empty() ? std::nullopt : std::optional(yaml_word(values[0]));
    case Value::list: {
      if (values.empty() || !std::all_of(values.begin(), values.end(), is_number))
        return std::nullopt;
      std::string list;
      for (const std::string& value : values) list += (list.empty() ? "[" : ", ") + value;
      return list + "]";
    }
    case Value::integer:
    case Value::number:
      if (values.empty() || !is_number(values[0])) return std::nullopt;
      return values[0];
  }
  return std::nullopt;
}

namespace {

std::string title_of(const ScenarioDraft& draft) {
  std::string model = "a model";
  for (const DraftKey& key : draft.keys) {
    if (key.key == "model" && key.value != "~") model = key.value;
  }
  return "# What does " + model + " reach when it is launched like this?\n#\n";
}

// "# what: word word ..." in lines of bounded width; "" without words.
std::string comment_of(const char* what, const std::vector<std::string>& words) {
  constexpr std::size_t kWidth = 100;
  if (words.empty()) return "";
  std::string text;
  std::string line = std::string("# ") + what;
  for (const std::string& written : words) {
    const std::string word = printable(written);
    if (line.size() + word.size() + 1 > kWidth) {
      text += line + "\n";
      line = "#  ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

std::vector<std::string> flags_of(const std::vector<FlagReason>& reasons) {
  std::vector<std::string> flags;
  for (const FlagReason& reason : reasons) flags.push_back(reason.flag);
  return flags;
}

}  // namespace

std::string yaml_of(const ScenarioDraft& draft) {
  std::string text = title_of(draft);
  text += comment_of("Without an effect on what is simulated:", flags_of(draft.immaterial));
  text += comment_of("Ignored by the engine itself:", flags_of(draft.ignored_by_engine));
  text += comment_of("Unknown, left out:", draft.unknown);
  std::string section;
  for (const DraftKey& key : draft.keys) {
    const std::size_t dot = key.key.find('.');
    const bool nested = dot != std::string::npos;
    const std::string head = nested ? key.key.substr(0, dot) : "";
    if (nested && head != section) text += head + ":\n";
    section = head;
    text += (nested ? "  " + key.key.substr(dot + 1) : key.key) + ": " + key.value;
    text += (key.flag.empty() ? "" : "  # " + printable(key.flag)) + "\n";
  }
  return text;
}

}  // namespace plateau
