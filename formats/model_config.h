// The configuration of a network as JSON, in model files.
#ifndef PIPEFORMER_FORMATS_MODEL_CONFIG_H_
#define PIPEFORMER_FORMATS_MODEL_CONFIG_H_

#include <string>

#include "lib/nn/config.h"

namespace pipeformer {

// One object; README.md of this folder lists its keys.
std::string ConfigToJson(const TransformerConfig& config);

// The reverse. Throws Error (65) beginning with `source_name` when a key is
// missing, unknown or has a value that no network can have.
TransformerConfig ConfigFromJson(const std::string& json,
                                 const std::string& source_name);

// Throws Error (65) beginning with `source_name` unless a network of this
// configuration can be built: sizes positive, heads dividing d_model.
void CheckConfig(const TransformerConfig& config,
                 const std::string& source_name);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MODEL_CONFIG_H_
