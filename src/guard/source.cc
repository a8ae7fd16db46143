#include "guard/source.h"

#include <algorithm>
#include <set>

namespace archlight::guard {
namespace {

// A `src` text where it stands.
struct Text {
  std::string src;
  base::Span at;
  bool of_stream = false;
};

void take(std::vector<Text>& out, const std::string& src, const base::Span& at, bool of_stream = false) {
  if (!src.empty()) out.push_back({src, at, of_stream});
}

void take(std::vector<Text>& out, const spec::Component& component) {
  take(out, component.src, component.src_at);
  for (const spec::NodeDecl& node : component.graph) take(out, node.src, node.src_at);
}

void take(std::vector<Text>& out, const spec::Model& model) {
  take(out, model.src, model.src_at);
  for (const spec::ModelEntry& entry : model.entries) {
    if (entry.node) take(out, entry.node->src, entry.node->src_at);
    if (!entry.stack) continue;
    for (const spec::StreamDecl& stream : entry.stack->streams) take(out, stream.src, stream.src_at, true);
  }
}

// Every text of the model and of what it uses, each once.
std::vector<Text> texts_of(const Subject& subject) {
  std::vector<Text> out;
  take(out, *subject.binding.model);
  std::set<const spec::Component*> seen;
  for (const auto& phase : {subject.bill->prefill, subject.bill->decode})
    for (const graph::Call& call : phase->tree->calls)
      for (const spec::Component* component : {call.stored, call.component})
        if (component && seen.insert(component).second) take(out, *component);
  return out;
}

void check_streams(const graph::SpecTree& tree, Findings& out) {
  for (const graph::Stream& stream : tree.streams) {
    if (stream.kind == spec::StreamDecl::Kind::kCarried) continue;
    ++out.checks;
    if (stream.values.empty() || stream.readers.empty())
      out.faults.push_back(base::fault_at(
          stream.at, "stream '" + stream.name + "' has no " + (stream.values.empty() ? "producer" : "reader"),
          "layers that produce it and layers that read it"));
  }
}

}  // namespace

void check_source(const Subject& subject, Findings& out) {
  const Sources& sources = subject.truth.sources;
  const std::vector<Anchor> home = parse_anchors(subject.binding.model->src);
  int64_t found = 0;
  for (const Text& text : texts_of(subject))
    for (const Anchor& anchor : parse_anchors(text.src, text.of_stream)) {
      Held held = hold(anchor, sources, text.at, home);
      out.checks += held.checks;
      found += held.checks > 0;
      if (held.state == Held::State::kUnreadable)
        base::append(out.open, held.faults);
      else
        base::append(out.faults, held.faults);
    }
  if (found > 0) check_streams(*subject.bill->prefill->tree, out);
  out.ran = found > 0 || !out.open.empty();
  if (!out.ran)
    out.not_run = sources.empty() ? "the forward source is not at hand; --source FOLDER gives one"
                                  : "no file that its anchors name is in the source at hand";
}

base::Result<std::vector<LibraryAnchor>> library_anchors(const spec::Library& library,
                                                         const Sources& sources) {
  std::vector<LibraryAnchor> out;
  const auto hold_all = [&](const std::string& of, const std::vector<Text>& texts,
                            const std::string& model_src) {
    const std::vector<Anchor> home = parse_anchors(model_src);
    for (const Text& text : texts)
      for (Anchor& anchor : parse_anchors(text.src, text.of_stream)) {
        Held held = hold(anchor, sources, text.at, home);
        out.push_back({of, text.at, std::move(anchor), std::move(held)});
      }
  };
  for (const std::string& name : library.component_names()) {
    base::Result<const spec::Component*> component = library.any_component(name);
    if (!component) return component.faults();
    std::vector<Text> texts;
    take(texts, **component);
    hold_all("components/" + name, texts, {});
  }
  for (const auto& [name, model] : library.models()) {
    std::vector<Text> texts;
    take(texts, *model);
    hold_all("models/" + name, texts, model->src);
  }
  return out;
}

}  // namespace archlight::guard
