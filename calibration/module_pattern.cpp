#include "calibration/module_pattern.h"

#include <algorithm>
#include <utility>

namespace plateau {
namespace {

using Atom = ModulePatterns::Atom;
using Repeat = ModulePatterns::Repeat;
using Sequence = ModulePatterns::Sequence;

constexpr std::size_t kMostAlternatives = 64;
constexpr std::size_t kLongestPattern = 512;
constexpr int kDeepestGroup = 8;

std::size_t index_of(char c) { return static_cast<unsigned char>(c); }

std::bitset<256> any_character() { return std::bitset<256>().set(); }

std::bitset<256> range(char low, char high) {
  std::bitset<256> set;
  for (std::size_t c = index_of(low); c <= index_of(high); ++c) set.set(c);
  return set;
}

Atom one(std::bitset<256> characters) { return {characters, Repeat::once}; }

Atom literal(char c) { return one(std::bitset<256>().set(index_of(c))); }

Atom anything() { return {any_character(), Repeat::any}; }

// \d, \w, \s, or the escaped character itself; empty when the escape has another meaning.
std::bitset<256> escaped(char c) {
  const std::bitset<256> word = range('a', 'z') | range('A', 'Z') | range('0', '9');
  switch (c) {
    case 'd':
      return range('0', '9');
    case 'w':
      return std::bitset<256>(word).set(index_of('_'));
    case 's':
      return range('\t', '\r') | range(' ', ' ');
    default:
      return word.test(index_of(c)) ? std::bitset<256>() : literal(c).characters;
  }
}

// Reads "[...]" whose '[' stands at `at` and moves `at` behind it; false when it is not closed.
bool read_class(std::string_view text, std::size_t* at, std::bitset<256>* out) {
  std::size_t i = *at + 1;
  const bool negated = i < text.size() && (text[i] == '^' || text[i] == '!');
  if (negated) ++i;
  for (bool first = true; i < text.size() && (first || text[i] != ']'); first = false) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      *out |= escaped(text[i + 1]);
      i += 2;
    } else if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
      *out |= range(text[i], text[i + 2]);
      i += 3;
    } else {
      out->set(index_of(text[i++]));
    }
  }
  if (i >= text.size()) return false;
  if (negated) out->flip();
  *at = i + 1;
  return true;
}

// The sets of atoms that a regular expression stands for, one per way through its groups.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  bool parse(std::vector<Sequence>* out) {
    *out = alternatives(0);
    return ok_ && at_ == text_.size();
  }

 private:
  std::vector<Sequence> alternatives(int depth) {
    std::vector<Sequence> all;
    if (depth > kDeepestGroup) ok_ = false;
    while (ok_) {
      for (Sequence& sequence : branch(depth)) all.push_back(std::move(sequence));
      if (all.size() > kMostAlternatives) ok_ = false;
      if (at_ >= text_.size() || text_[at_] != '|') break;
      ++at_;
    }
    return all;
  }

  std::vector<Sequence> branch(int depth) {
    std::vector<Sequence> all(1);
    while (ok_ && at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      if (text_[at_] == '(') {
        all = followed_by(all, group(depth));
      } else {
        const Atom next = atom();
        for (Sequence& sequence : all) sequence.push_back(next);
      }
    }
    return all;
  }

  std::vector<Sequence> group(int depth) {
    ++at_;
    if (text_.substr(at_, 2) == "?:") at_ += 2;
    std::vector<Sequence> inside = alternatives(depth + 1);
    if (at_ >= text_.size() || text_[at_] != ')') ok_ = false;
    ++at_;
    if (at_ < text_.size() && is_quantifier(text_[at_])) ok_ = false;  // a repeated group
    return inside;
  }

  std::vector<Sequence> followed_by(const std::vector<Sequence>& heads,
                                    const std::vector<Sequence>& tails) {
    std::vector<Sequence> all;
    if (heads.size() * tails.size() > kMostAlternatives) ok_ = false;
    for (std::size_t i = 0; ok_ && i < heads.size(); ++i) {
      for (const Sequence& tail : tails) {
        all.push_back(heads[i]);
        all.back().insert(all.back().end(), tail.begin(), tail.end());
      }
    }
    return all;
  }

  static bool is_quantifier(char c) { return c == '*' || c == '+' || c == '?' || c == '{'; }

  Atom atom() {
    Atom result;
    const char c = text_[at_];
    if (c == '[') {
      ok_ = read_class(text_, &at_, &result.characters);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      result.characters = escaped(text_[at_ + 1]);
      at_ += 2;
    } else {
      result.characters = c == '.' ? any_character() : literal(c).characters;
      ok_ = c != '\\' && c != '^' && c != '$' && !is_quantifier(c);
      ++at_;
    }
    if (result.characters.none()) ok_ = false;
    if (at_ < text_.size() && is_quantifier(text_[at_])) result.repeat = quantifier();
    return result;
  }

  Repeat quantifier() {
    const char c = text_[at_++];
    if (c == '{') ok_ = false;
    if (at_ < text_.size() && text_[at_] == '?') ++at_;  // lazy: the same set of matches
    return c == '*' ? Repeat::any : c == '+' ? Repeat::some : Repeat::optional;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

bool parse_wildcards(std::string_view text, Sequence* out) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '[') {
      Atom atom;
      if (!read_class(text, &i, &atom.characters)) return false;
      out->push_back(atom);
      continue;
    }
    out->push_back(text[i] == '*'   ? anything()
                   : text[i] == '?' ? one(any_character())
                                    : literal(text[i]));
    ++i;
  }
  return true;
}

bool may_be_skipped(const Atom& atom) {
  return atom.repeat == Repeat::any || atom.repeat == Repeat::optional;
}

bool may_repeat(const Atom& atom) {
  return atom.repeat == Repeat::any || atom.repeat == Repeat::some;
}

// Positions in a sequence that are alive after some characters; the last one means "matched".
class States {
 public:
  explicit States(const Sequence& sequence)
      : sequence_(sequence), alive_(sequence.size() + 1, false) {
    enter(alive_, 0);
  }

  // False when no state is left.
  bool step(char c) {
    std::vector<bool> next(alive_.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < sequence_.size(); ++i) {
      if (!alive_[i] || !sequence_[i].characters.test(index_of(c))) continue;
      if (may_repeat(sequence_[i])) enter(next, i);
      enter(next, i + 1);
      any = true;
    }
    alive_ = std::move(next);
    return any;
  }

  bool matched() const { return alive_.back(); }

 private:
  void enter(std::vector<bool>& alive, std::size_t i) const {
    alive[i] = true;
    while (i < sequence_.size() && may_be_skipped(sequence_[i])) alive[++i] = true;
  }

  const Sequence& sequence_;
  std::vector<bool> alive_;
};

// Does the sequence match text[from, end) for an `end` at the text's end or at a dot?
bool matches_parts(const Sequence& sequence, std::string_view text, std::size_t from) {
  States states(sequence);
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '.' && states.matched()) return true;
    if (!states.step(text[i])) return false;
  }
  return states.matched();
}

bool matches_whole(const Sequence& sequence, std::string_view text) {
  States states(sequence);
  for (const char c : text) {
    if (!states.step(c)) return false;
  }
  return states.matched();
}

}  // namespace

std::string ModulePatterns::add(std::string_view pattern) {
  if (pattern.size() > kLongestPattern) return "is longer than 512 characters";
  if (pattern.substr(0, 3) == "re:") {
    pattern.remove_prefix(3);
    if (!pattern.empty() && pattern.front() == '^') pattern.remove_prefix(1);
    const bool to_end = !pattern.empty() && pattern.back() == '$';
    if (to_end) pattern.remove_suffix(1);
    std::vector<Sequence> sequences;
    if (!ExpressionParser(pattern).parse(&sequences)) {
      return "is a regular expression beyond what is read here";
    }
    for (Sequence& sequence : sequences) {
      if (!to_end) sequence.push_back(anything());
      expressions_.push_back(std::move(sequence));
    }
    return "";
  }
  const std::size_t first = pattern.find_first_of("*?[");
  if (first == std::string_view::npos) {
    names_.emplace(pattern);
    return "";
  }
  Wildcards wildcards{std::string(pattern.substr(0, first)), {}};
  if (!parse_wildcards(pattern.substr(first), &wildcards.rest)) {
    return "has a [ that is not closed";
  }
  wildcards_.push_back(std::move(wildcards));
  return "";
}

bool ModulePatterns::match_spelling(std::string_view module) const {
  for (std::size_t from = 0; from < module.size();) {
    const std::string_view tail = module.substr(from);
    for (std::size_t end = tail.find('.');; end = tail.find('.', end + 1)) {
      if (names_.find(tail.substr(0, end)) != names_.end()) return true;
      if (end == std::string_view::npos) break;
    }
    for (const Wildcards& wildcards : wildcards_) {
      const std::string& prefix = wildcards.prefix;
      if (tail.compare(0, prefix.size(), prefix) != 0) continue;
      if (matches_parts(wildcards.rest, module, from + prefix.size())) return true;
    }
    const std::size_t dot = module.find('.', from);
    if (dot == std::string_view::npos) break;
    from = dot + 1;
  }
  return std::any_of(expressions_.begin(), expressions_.end(),
                     [&](const Sequence& sequence) { return matches_whole(sequence, module); });
}

bool ModulePatterns::match(std::string_view module) const {
  const std::string name(module);
  if (match_spelling("language_model." + name)) return true;
  if (name.substr(0, 6) == "model.") {
    if (match_spelling("model.language_model." + name.substr(6))) return true;
  }
  // An expression is anchored, so the plain spelling is a case of its own.
  return std::any_of(expressions_.begin(), expressions_.end(),
                     [&](const Sequence& sequence) { return matches_whole(sequence, name); });
}

}  // namespace plateau
