// deepseek_v3.h: the model of the speed figures, opened from specs/ and snapshots/ of the source tree.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "base/diagnostic.h"
#include "spec/binding.h"
#include "spec/library.h"
#include "truth/truth.h"

namespace archlight::bench {

// A bench without its input has nothing to measure.
template <typename T>
T must(base::Result<T> result) {
  if (!result) {
    std::cerr << base::render_all(result.faults()) << "\n";
    std::abort();
  }
  return std::move(*result);
}

struct Opened {
  std::shared_ptr<const spec::Library> library;
  truth::Truth truth;
  std::shared_ptr<const spec::Binding> binding;
};

inline const Opened& deepseek_v3() {
  static const Opened opened = [] {
    Opened out;
    out.library = must(spec::Library::open(ARCHLIGHT_SOURCE_DIR "/specs"));
    truth::OpenOptions options;
    options.home = ARCHLIGHT_SOURCE_DIR;
    options.offline = true;
    out.truth = must(truth::open_truth("deepseek-ai/DeepSeek-V3", options));
    const spec::Model* model = must(out.library->model_for(*out.truth.config));
    out.binding = std::make_shared<const spec::Binding>(
        must(spec::bind(*model, out.truth.config, out.truth.quant_config)));
    return out;
  }();
  return opened;
}

}  // namespace archlight::bench
