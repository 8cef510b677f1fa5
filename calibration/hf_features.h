// Features of Hugging Face configs that change time or memory and are not modelled: each is refused
// by name at the line that asks for it, never ignored.
#pragma once

#include "calibration/config_reader.h"

namespace plateau {

// Complains of every such feature; `text` is the language model's part of the config.
void refuse_unmodelled_features(ConfigReader& text);

// Leading layers with a dense MLP, from whichever keys say so (first_k_dense_replace,
// mlp_layer_types, moe_layer_freq, mlp_only_layers). Complains of dense layers elsewhere.
int read_dense_layers(ConfigReader& text, int layers);

// Layers that see a sliding window only, and its width; {0, 0} without one.
struct WindowLayers {
  int layers = 0;
  int tokens = 0;
};
WindowLayers read_window_layers(ConfigReader& text, int layers);

}  // namespace plateau
