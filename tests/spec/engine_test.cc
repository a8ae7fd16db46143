// Engines: files that are wrong, and options as commands give them. What their formats come to stands in tests/golden.
#include "spec/engine.h"

#include <gtest/gtest.h>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

std::string faults_of(const std::string& text) {
  const auto library =
      spec::Library::from_texts({{"dims.yaml", "d_head: { kind: width }\n"}, {"engines/e.yaml", text}});
  return library ? std::string("ok") : messages(library.faults());
}

TEST(Engines, FilesThatAreWrong) {
  const std::string head = "label: l\nsource: s\n";
  struct Row {
    std::string text, faults;
  };
  const Row rows[] = {
      {head + "options: { ubatch: { default: 512, meaning: m } }\n"
              "entries: [{ grows: window, bytes: F16 * elements, held: B * (window + ubatch) + d_head * 0, "
              "source: s }]\n",
       "ok"},
      {"label: l\n", "specs/engines/e.yaml:1:1: engine 'e' has no 'source'; expected 'source': a text"},
      {head + "entries: [{ grows: windw, bytes: elements, source: s }]\n",
       "specs/engines/e.yaml:3:11: unknown growth 'windw' of an engine's entry; expected one of token, "
       "window, chunk, "
       "ratio, fixed; did you mean 'window'?"},
      {head + "entries: [{ source: s }]\n",
       "specs/engines/e.yaml:3:11: an entry of an engine says neither 'bytes' nor 'held'; expected one of "
       "them"},
      {head + "entries: [{ bytes: F61 * elements, source: s }]\n",
       "specs/engines/e.yaml:3:20: unknown name 'F61' in engine 'e'; expected elements, rows, width, tokens, "
       "s_ctx, B, "
       "window in a "
       "row of windows and chunks alone, a dtype, an option or a dim"},
      {head + "entries: [{ held: window, source: s }]\n",
       "specs/engines/e.yaml:3:19: unknown name 'window' in engine 'e'; expected elements, rows, width, "
       "tokens, s_ctx, B, "
       "window in a "
       "row of windows and chunks alone, a dtype, an option or a dim"},
      {head + "buffers: { t: { bytes: max_context * rope_width * model + d_head, source: s } }\n", "ok"},
      {head + "buffers: { t: { bytes: max_contxt, source: s } }\n",
       "specs/engines/e.yaml:3:24: unknown name 'max_contxt' in engine 'e'; expected max_context, "
       "rope_width, model, a "
       "dtype, an option or a dim; did you mean 'max_context'?"},
      {head + "buffers: { t: { source: s } }\n",
       "specs/engines/e.yaml:3:15: buffer 't' has no 'bytes'; expected a formula"},
      {head + "options: { n: { default: 0, meaning: m } }\n",
       "specs/engines/e.yaml:3:15: option 'n' is 0 unless told otherwise; expected at least 1, its min"},
      {head + "options: { n: { default: many, meaning: m } }\n",
       "specs/engines/e.yaml:3:15: default of option 'n' is 'many'; expected a whole number from 0 to "
       "1,000,000,000\n"
       "specs/engines/e.yaml:3:15: option 'n' is 0 unless told otherwise; expected at least 1, its min"},
  };
  for (const Row& row : rows) EXPECT_EQ(faults_of(row.text), row.faults) << row.text;
}

TEST(Engines, Options) {
  spec::Engine engine;
  engine.name = "e";
  engine.options = {{.name = "ubatch", .meaning = "m", .value = 512, .least = 1}};
  EXPECT_EQ((*spec::engine_options(engine, {}))[0].value, 512);
  EXPECT_EQ((*spec::engine_options(engine, {{"ubatch", 2048}}))[0].value, 2048);
  EXPECT_EQ(messages(spec::engine_options(engine, {{"ubach", 1}}).faults()),
            "engine 'e' has no option 'ubach'; expected one that it has; did you mean 'ubatch'?");
  EXPECT_EQ(messages(spec::engine_options(engine, {{"ubatch", 0}}).faults()),
            "option 'ubatch' of engine 'e' is 0; expected a whole number from 1 to 1,000,000,000");
}

}  // namespace
}  // namespace archlight::testing
