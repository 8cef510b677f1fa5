// Which modules a quantised checkpoint leaves alone: the lists `exclude_modules`, `ignore` and
// `modules_to_not_convert` of Hugging Face configs.
//
// Three dialects share one list:
//   lm_head, gate, model.layers.3.self_attn.q_proj   names whole modules: hits when its dotted
//                                                    parts stand side by side in the module's name
//   model.layers.1.*, *.self_attn*                   the same with shell wildcards (* ? [...])
//   re:.*mlp\.(gate|up)_proj.*                       a regular expression matched from the start
// Expressions are the common subset: literals, escapes, . [...] \d \w \s, groups with |, and * + ?
// after a single character. They are matched by tracking a set of states, so no pattern takes more
// than length times length steps. Anything else is refused rather than read wrongly.
#pragma once

#include <bitset>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plateau {

class ModulePatterns {
 public:
  // "" when understood, else what is not.
  std::string add(std::string_view pattern);

  // `module` without the prefix that multimodal checkpoints put before or after "model.":
  // "model.layers.3.mlp.gate". Both spellings are tried.
  bool match(std::string_view module) const;

  enum class Repeat { once, optional, any, some };
  struct Atom {
    std::bitset<256> characters;
    Repeat repeat = Repeat::once;
  };
  using Sequence = std::vector<Atom>;

 private:
  bool match_spelling(std::string_view module) const;

  std::set<std::string, std::less<>> names_;
  struct Wildcards {
    std::string prefix;  // before the first wildcard: rejects almost every name at once
    Sequence rest;
  };
  std::vector<Wildcards> wildcards_;   // match aligned parts of a name
  std::vector<Sequence> expressions_;  // match from the start of a name
};

}  // namespace plateau
