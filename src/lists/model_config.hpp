// Problem lists from the config.json of a model.
#pragma once

#include "lists/entry.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gemwright::lists {

/// Reads a Hugging Face config.json ("architectures") or a diffusers one ("_class_name"). `model`
/// names it in the entries. Throws InvalidArgument: for an architecture it does not know, with the
/// list of those it does; for a missing or absurd number, with the field's name.
std::vector<Entry> from_model_config(std::string_view text, const std::string& model,
                                     const Options& options);

/// Names that from_model_config knows, sorted.
std::vector<std::string> known_architectures();

}  // namespace gemwright::lists
