// parse_yaml over yaml-cpp's event interface: its node tree would drop duplicate keys silently (the
// first wins), and neither merges `<<` nor says that it did not.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "calibration/config_tree.h"

namespace plateau {

namespace {

TextPlace place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

class TreeEvents : public YAML::EventHandler {
 public:
  explicit TreeEvents(const std::string& file) : tree_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      tree_.refuse(place_of(mark), "a second YAML document starts here",
                   "one file holds one document: look for a stray `---`, or a quote or bracket "
                   "closed too early");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.expects_key()) refuse_key(mark);
    tree_.null(place_of(mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.expects_key()) refuse_key(mark);
    tree_.alias(anchor, place_of(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    check_tag(mark, tag);
    if (!tree_.expects_key()) {
      tree_.scalar(value, quoted, place_of(mark), anchor);
      return;
    }
    tree_.key(value, place_of(mark));
    if (value == "<<" && !quoted) {
      tree_.complain(place_of(mark), "merge keys are not supported",
                     "write the keys out; a scenario inherits with `base: other.yaml`");
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(ConfigNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { tree_.close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(ConfigNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { tree_.close(); }

  ConfigTreeBuilder& tree() { return tree_; }

 private:
  [[noreturn]] void refuse_key(const YAML::Mark& mark) {
    tree_.refuse(place_of(mark), "a key must be a word", "write `key: value`");
  }

  // "?" and "!" are the parser's own marks for plain and quoted values; anything else the user
  // wrote.
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    tree_.complain(place_of(mark), "YAML tags are not supported (" + tag + ")", "remove the tag");
  }

  void open(ConfigNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (tree_.expects_key()) {
      // What yaml-cpp makes of a bracket that is never closed, too.
      tree_.refuse(place_of(mark), "a list or map stands where a key is due",
                   "write `key: value`; is a bracket left open?");
    }
    check_tag(mark, tag);
    tree_.open(kind, place_of(mark), anchor);
  }

  ConfigTreeBuilder tree_;
  int documents_ = 0;
};

}  // namespace

ConfigNode parse_yaml(std::string_view text, const std::string& file) {
  std::istringstream stream{std::string(require_utf8_text(text, file))};
  TreeEvents events(file);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) throw InputError(Problem{file, 0, 0, "", error.msg, ""});
    events.tree().refuse(place_of(error.mark), "YAML syntax: " + error.msg);
  }
  ConfigNode root = events.tree().finish();
  if (root.file.empty()) {  // an empty document
    root.file = file;
    root.line = root.column = 1;
  }
  return root;
}

}  // namespace plateau
