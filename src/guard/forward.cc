#include "guard/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "guard/anchors.h"

namespace archlight::guard {
namespace {

using truth::PythonFile;

// A forward pass that an anchor names, as a method or by its class.
struct Forward {
  std::shared_ptr<const PythonFile> file;  // holds the method
  const PythonFile::Definition* method = nullptr;
  std::string where;
};

// Those of a component: in the files that its model names where there are any, or else all that are at hand.
std::vector<Forward> forwards_of(const spec::Component& component, const Subject& subject) {
  std::set<std::string> home;
  for (const Anchor& anchor : parse_anchors(subject.binding.model->src)) home.insert(anchor.file);
  std::vector<Forward> own, other;
  for (const Anchor& anchor : parse_anchors(component.src)) {
    const Held held = hold(anchor, subject.truth.sources, component.src_at);
    if (held.state != Held::State::kFound) continue;
    for (const PythonFile::Definition* named : held.named) {
      const PythonFile::Definition* method =
          named->is_class ? held.file->find(named->name + ".forward") : named;
      if (!method || method->is_class || !method->name.ends_with(".forward")) continue;
      (home.contains(anchor.file) ? own : other).push_back({held.file, method, held.where});
    }
  }
  return own.empty() ? other : own;
}

// The module of a node, as checkpoints call it; empty where it has none of its own.
const std::string& module_of(const spec::NodeDecl& node) {
  return node.has_path ? node.path : node.name;
}

class Forwards {
 public:
  Forwards(const Subject& subject, Findings& out)
      : subject_(subject), tree_(*subject.bill->prefill->tree), out_(out) {}

  void run() {
    std::set<const spec::Component*> seen;
    for (size_t i = 0; i < tree_.calls.size(); ++i) {
      const graph::Call& call = tree_.calls[i];
      if (!call.stored || call.stored->src.empty()) continue;
      const spec::Component& component = *call.stored;
      if (!forwards_.contains(&component)) forwards_[&component] = forwards_of(component, subject_);
      const std::vector<Forward>& forwards = forwards_[&component];
      if (forwards.empty()) continue;
      if (seen.insert(&component).second)
        for (const Forward& forward : forwards) order(component, forward);
      if (call.parent < 0 && component.role == "block") residuals(component, static_cast<int>(i), forwards);
    }
    out_.ran = out_.checks > 0;
    if (out_.ran) return;
    const bool any = std::ranges::any_of(forwards_, [](const auto& row) { return !row.second.empty(); });
    out_.not_run = any ? "nothing in the forward passes at hand can be compared"
                       : "no forward pass that its anchors name is at hand";
  }

 private:
  void order(const spec::Component& component, const Forward& forward) {
    std::map<std::string, size_t> calls;  // once each
    std::set<std::string> again;
    for (size_t i = 0; i < forward.method->calls.size(); ++i)
      if (!calls.emplace(forward.method->calls[i], i).second) again.insert(forward.method->calls[i]);
    // What each node rests on, by modules that forward() calls once.
    std::map<std::string, std::set<std::string>> behind;  // of a node: modules
    for (const spec::NodeDecl& node : component.graph) {
      std::set<std::string>& modules = behind[node.name];
      for (const spec::Operand& operand : node.in)
        for (const std::string& from : operand.alternatives)
          if (const auto it = behind.find(from); it != behind.end())
            modules.insert(it->second.begin(), it->second.end());
      const auto own = calls.find(module_of(node));
      if (own == calls.end() || again.contains(own->first)) continue;
      for (const std::string& module : modules) {
        if (module == own->first) continue;
        ++out_.checks;
        if (calls.at(module) < own->second) continue;
        advise(node.at, fmt::format("{} calls self.{} before self.{}", shown(forward), own->first, module),
               fmt::format("'{}' before '{}', as the graph hands its value on", module, own->first));
      }
      modules.insert(own->first);
    }
  }

  // The sums of a block itself, and of parts that it calls by name and that are no modules of their own.
  void residuals(const spec::Component& component, int block, const std::vector<Forward>& forwards) {
    const auto told = [](const Forward& forward) { return forward.method->residuals.most > 0; };
    const auto first = std::ranges::find_if(forwards, told);
    if (first == forwards.end()) return;
    int adds = 0;
    for (const graph::Node& node : tree_.nodes) {
      if (node.op->name != "add") continue;
      int call = node.call;
      while (call >= 0 && call != block && inlined(tree_.calls[call])) call = tree_.calls[call].parent;
      adds += call == block;
    }
    // One pass of several is enough: a component may describe two that add differently.
    ++out_.checks;
    if (std::ranges::any_of(forwards, [&](const Forward& forward) {
          const truth::Times& times = forward.method->residuals;
          return told(forward) && times.least <= adds && adds <= times.most;
        }))
      return;
    advise(component.src_at,
           fmt::format("a layer '{}' adds {}", tree_.calls[block].path, times_text({adds, adds})),
           fmt::format("{}, as often as {} adds to a residual", times_text(first->method->residuals),
                       shown(*first)));
  }

  bool inlined(const graph::Call& call) const {
    return call.decl && call.decl->target == spec::NodeDecl::Target::kComponent && call.parent >= 0 &&
           call.path == tree_.calls[call.parent].path;
  }

  static std::string times_text(truth::Times times) {
    if (times.least == times.most) return times.least == 1 ? "once" : fmt::format("{} times", times.least);
    return times.most == truth::Times::kMany ? fmt::format("at least {} times", times.least)
                                             : fmt::format("{} to {} times", times.least, times.most);
  }

  static std::string shown(const Forward& forward) {
    return fmt::format("{} ({}:{})", forward.method->name, forward.where, forward.method->line);
  }

  void advise(const base::Span& at, std::string wrong, std::string expected) {
    base::Diagnostic made = base::fault_at(at, std::move(wrong), std::move(expected));
    const std::string text = made.message();
    if (said_.insert(text).second) out_.advice.push_back(std::move(made));
  }

  const Subject& subject_;
  const graph::SpecTree& tree_;
  Findings& out_;
  std::map<const spec::Component*, std::vector<Forward>> forwards_;
  std::set<std::string> said_;
};

}  // namespace

void check_forward(const Subject& subject, Findings& out) {
  if (subject.truth.sources.empty()) {
    out.ran = false;
    out.not_run = "the forward source is not at hand; --source FOLDER gives one";
    return;
  }
  Forwards(subject, out).run();
}

}  // namespace archlight::guard
