#include "calibration/model_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "calibration/config_node.h"
#include "calibration/hf_config.h"
#include "calibration/model_spec_file.h"

namespace plateau {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kQuantization = "hf_quant_config.json";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// hf_quant_config.json beside config.json, X_hf_quant_config.json beside X_config.json.
std::optional<std::string> quantization_file(const std::string& path) {
  if (!ends_with(path, kConfig)) return std::nullopt;
  const std::string other =
      path.substr(0, path.size() - kConfig.size()) + std::string(kQuantization);
  if (!is_there(other)) return std::nullopt;
  return other;
}

// The folder's name for a bare config.json, else the file's without its ending.
std::string name_of_config(const std::string& path) {
  const fs::path file(path);
  std::string stem = file.filename().string();
  if (stem == kConfig) {
    const std::string folder = file.parent_path().filename().string();
    return folder.empty() || folder == "." ? "config.json" : folder;
  }
  for (const std::string_view end : {std::string_view("_config.json"), std::string_view(".json")}) {
    if (ends_with(stem, end)) return stem.substr(0, stem.size() - end.size());
  }
  return stem;
}

bool is_path(const std::string& model) {
  return ends_with(model, ".json") || model.find('/') != std::string::npos;
}

}  // namespace

ModelSpec read_hf_config(const std::string& path) {
  const ConfigNode config = read_json_file(path);
  const auto quantization = quantization_file(path);
  if (!quantization) return model_of_hf_config(config, nullptr, name_of_config(path));
  const ConfigNode tree = read_json_file(*quantization);
  return model_of_hf_config(config, &tree, name_of_config(path));
}

ModelSpec load_model(const std::string& model, const std::string& data_dir) {
  if (is_path(model)) {
    std::error_code error;
    return read_hf_config(fs::is_directory(model, error) ? model + "/config.json" : model);
  }
  const std::vector<std::string> known = list_models(data_dir);
  if (std::find(known.begin(), known.end(), model) == known.end()) {
    const std::string near = closest(model, known);
    throw InputError(Problem{"", 0, 0, "model", "`" + model + "` is not a shipped model",
                             near.empty() ? "`plateau list` shows them; a path to a config.json "
                                            "reads any model of a supported family"
                                          : "did you mean `" + near + "`?"});
  }
  return read_model_spec_file(data_dir + "/models/specs", model);
}

std::vector<std::string> list_models(const std::string& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_dir + "/models/specs", error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plateau
