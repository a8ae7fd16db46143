#include "graph/internal/streams.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/yaml.h"

namespace archlight::graph::internal {

using spec::StreamDecl;

namespace {

std::optional<ReadMode> mode_of(const std::string& text) {
  for (const ReadMode mode : {ReadMode::kEach, ReadMode::kAll, ReadMode::kConcat})
    if (text == read_name(mode)) return mode;
  return std::nullopt;
}

}  // namespace

std::string_view read_name(ReadMode mode) {
  switch (mode) {
    case ReadMode::kLast:
      return "last";
    case ReadMode::kEach:
      return "each";
    case ReadMode::kAll:
      return "all";
    case ReadMode::kConcat:
      return "concat";
  }
  return {};
}

void Streams::fail(const base::Span& at, std::string wrong, std::string expected, std::string fix) {
  faults_.push_back(base::fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
}

std::string Streams::described(int stream) const {
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  return "stream '" + s.name + "' of stack '" + s.stack + "'";
}

bool Streams::from_carried(int stream) const {
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  return std::ranges::any_of(tree_.streams, [&](const Stream& other) {
    return other.kind == StreamDecl::Kind::kCarried && other.stack == s.stack && other.name == s.decl->from;
  });
}

std::optional<std::vector<int64_t>> Streams::choose(const StreamDecl& decl) {
  const std::string what = "stream '" + decl.name + "' of stack '" + stack_->name + "'";
  const std::string expected = "layers from 0 to " + std::to_string(layers_ - 1) + ", each once and in order";
  std::vector<int64_t> out;
  const auto take = [&](const expr::Rational& layer) {
    if (layer.is_integer() && layer.num >= (out.empty() ? 0 : out.back() + 1) && layer.num < layers_) {
      out.push_back(static_cast<int64_t>(layer.num));
      return true;
    }
    fail(decl.at, what + " takes layer " + expr::to_string(layer), expected);
    return false;
  };
  if (decl.chosen == "every" || !decl.every.empty()) {
    expr::Rational step{1, 1};
    if (!decl.every.empty()) {
      const std::optional<expr::Rational> number = structural_.number(decl.every, -1, std::nullopt, faults_);
      if (!number) return std::nullopt;
      step = *number;
    }
    if (!step.is_integer() || step.num < 1) {
      fail(decl.every.at(), what + " takes every " + expr::to_string(step) + " layers",
           "a whole number, at least 1");
      return std::nullopt;
    }
    for (int64_t layer = 0; layer < layers_; ++layer)
      if (layer % step.num == 0) out.push_back(layer);
  } else if (decl.chosen.starts_with("config.")) {
    std::string full;
    const base::Json* list = spec::config_value(*structural_.binding().model, *structural_.binding().config,
                                                decl.chosen.substr(7), &full);
    if (!list || !list->is_array()) {
      fail(decl.at, "config.json has no list '" + decl.chosen.substr(7) + "', which " + what + " reads",
           "a list of layers", "say when: FORMULA where some configs have no such stream");
      return std::nullopt;
    }
    for (const base::Json& item : *list) {
      if (!item.is_number_integer()) {
        fail(decl.at, "config." + full + " lists " + item.dump().substr(0, 40), "indices of layers");
        return std::nullopt;
      }
      if (!take({item.get<int64_t>(), 1})) return std::nullopt;
    }
  } else {
    for (const expr::Formula& formula : decl.listed) {
      const std::optional<expr::Rational> layer = structural_.number(formula, -1, std::nullopt, faults_);
      if (!layer || !take(*layer)) return std::nullopt;
    }
  }
  return out;
}

void Streams::open(const spec::StackDecl& stack, int64_t layers, int64_t first_index) {
  stack_ = &stack;
  layers_ = layers;
  first_index_ = first_index;
  visible_.clear();
  carried_.clear();
  for (State& state : states_) state.each_readers = 0, state.each_read = false;
  for (const StreamDecl& decl : stack.streams) {
    const StreamDecl::Kind kind = decl.kind();
    if (!decl.when.empty()) {
      const std::optional<expr::Rational> there = structural_.number(decl.when, -1, std::nullopt, faults_);
      if (!there) continue;
      if (there->num == 0) {
        visible_[decl.name] = {};
        left_out_[decl.name] = true;
        continue;
      }
    }
    if (kind == StreamDecl::Kind::kElsewhere) {
      const auto it = known_.find(decl.name);
      if (it == known_.end() && left_out_.contains(decl.name)) {
        visible_[decl.name] = {};
      } else if (it == known_.end()) {
        std::vector<std::string> names;
        for (const auto& [name, unused] : known_) names.push_back(name);
        fail(decl.at,
             "stream '" + decl.name + "' of stack '" + stack.name +
                 "' has no origin, and no stack above declares it",
             "{carries: true}; {shape: [...], src: TEXT} where components publish it; {from: NAME, after: "
             "LAYERS, "
             "read: MODE, src: TEXT}; or the name of an earlier stack's stream",
             base::did_you_mean(decl.name, names));
      } else {
        const Stream& origin = tree_.streams[static_cast<size_t>(it->second)];
        std::optional<ReadMode> mode = mode_of(decl.read.empty() ? origin.decl->read : decl.read);
        if (origin.kind != StreamDecl::Kind::kAppended) {
          if (!decl.read.empty())
            fail(decl.at, described(it->second) + " has one value and no elements to read " + decl.read,
                 decl.name + ": {}, which goes on with its last value");
          mode = ReadMode::kLast;
        }
        visible_[decl.name] = {it->second, mode};
      }
      continue;
    }
    if (kind != StreamDecl::Kind::kCarried && known_.contains(decl.name)) {
      fail(decl.at,
           "stream '" + decl.name + "' is declared by stack '" +
               tree_.streams[static_cast<size_t>(known_[decl.name])].stack + "' and again by stack '" +
               stack.name + "'",
           "one declaration", decl.name + ": {} goes on with the earlier stack's");
      continue;
    }
    const int id = static_cast<int>(tree_.streams.size());
    State state;
    state.empty_stack = layers == 0;
    if (kind == StreamDecl::Kind::kAppended && layers > 0) {
      std::optional<std::vector<int64_t>> chosen = choose(decl);
      if (!chosen) continue;
      state.chosen = std::move(*chosen);
      state.literal = !decl.listed.empty();
    }
    Stream made;
    made.name = decl.name;
    made.stack = stack.name;
    made.src = decl.src;
    made.at = decl.at;
    made.kind = kind;
    made.decl = &decl;
    tree_.streams.push_back(std::move(made));
    states_.push_back(std::move(state));
    std::optional<ReadMode> mode = mode_of(decl.read);
    if (kind == StreamDecl::Kind::kCarried) {
      carried_.push_back(id);
      mode = ReadMode::kLast;
    } else {
      if (kind == StreamDecl::Kind::kInternal) mode = ReadMode::kLast;
      known_[decl.name] = id;
    }
    visible_[decl.name] = {id, mode};
  }
}

void Streams::enter(int64_t layer, std::vector<NodeId> entering) {
  layer_ = layer;
  entering_ = std::move(entering);
}

Seen Streams::at_layer(int stream, ReadMode mode, bool by_iteration) {
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  const State& state = states_[static_cast<size_t>(stream)];
  Seen out;
  out.stream = stream;
  out.mode = mode;
  out.by_iteration = by_iteration;
  if (s.kind == StreamDecl::Kind::kCarried) {
    for (size_t c = 0; c < carried_.size(); ++c)
      if (carried_[c] == stream && entering_[c] != kNone) out.nodes.push_back(entering_[c]);
    const bool elsewhere = !stack_ || s.stack != stack_->name;
    if (elsewhere && !s.values.empty()) out.nodes.push_back(s.values.back().node);
    return out;
  }
  switch (mode) {
    case ReadMode::kLast:
      if (!s.values.empty()) out.nodes.push_back(s.values.back().node);
      break;
    case ReadMode::kEach: {
      const size_t j = static_cast<size_t>(by_iteration ? layer_ : state.each_readers);
      if (j < s.values.size())
        out.nodes.push_back(s.values[j].node);
      else
        out.absent = "element " + std::to_string(j) + " of " + described(stream) + ", which has " +
                     std::to_string(s.values.size());
      break;
    }
    case ReadMode::kAll:
    case ReadMode::kConcat:
      for (const Stream::Value& value : s.values) out.nodes.push_back(value.node);
      if (out.nodes.empty()) out.absent = described(stream) + ", which holds nothing yet";
      break;
  }
  return out;
}

std::optional<Seen> Streams::see(const std::string& name, const base::Span& at, const std::string& reader) {
  const auto it = visible_.find(name);
  if (it == visible_.end()) {
    std::vector<std::string> names;
    std::string known;
    for (const auto& [other, unused] : visible_) {
      names.push_back(other);
      known += (known.empty() ? "" : ", ") + other;
    }
    fail(at, reader + " reads stream '" + name + "', which stack '" + stack_->name + "' does not declare",
         known.empty() ? "a stream of the stack" : "one of " + known,
         names.empty() || base::did_you_mean(name, names).empty()
             ? "declare it there: " + name + ": {shape: [...], src: TEXT}"
             : base::did_you_mean(name, names));
    return std::nullopt;
  }
  if (it->second.stream < 0) {
    Seen out;
    out.absent = "stream '" + name + "', which its condition leaves out";
    return out;
  }
  const int stream = it->second.stream;
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  State& state = states_[static_cast<size_t>(stream)];
  if (!it->second.mode) {
    fail(at, reader + " reads " + described(stream) + ", which does not say how",
         "read: each, read: all or read: concat at the stream");
    return std::nullopt;
  }
  const ReadMode mode = *it->second.mode;
  Seen out = at_layer(stream, mode, false);
  const std::string layer = "layer " + std::to_string(layer_) + " of stack '" + stack_->name + "'";
  if (mode == ReadMode::kLast && out.nodes.empty()) {
    fail(at,
         reader + " reads " + described(stream) + " in layer " + std::to_string(layer_) +
             ", before any layer publishes it",
         "an earlier layer whose component has stream_out: {" + name + ": NODE}");
    return std::nullopt;
  }
  if (s.stack == stack_->name && (mode == ReadMode::kEach || mode == ReadMode::kConcat)) {
    const size_t wanted =
        mode == ReadMode::kEach ? static_cast<size_t>(state.each_readers) + 1 : state.chosen.size();
    if (s.values.size() < std::min(wanted, state.chosen.size())) {
      fail(
          at,
          reader + " reads " +
              (mode == ReadMode::kEach ? "element " + std::to_string(wanted - 1) + " of " : "the whole of ") +
              described(stream) + " in " + layer + ", before it is there",
          "a reader behind layer " + std::to_string(state.chosen[std::min(wanted, state.chosen.size()) - 1]),
          "read: all sees what is there so far");
      return std::nullopt;
    }
  }
  return out;
}

Seen Streams::see_input(int stream) {
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  const std::optional<ReadMode> mode = mode_of(s.decl->read);
  if (s.kind == StreamDecl::Kind::kInternal) return at_layer(stream, ReadMode::kLast, false);
  return at_layer(stream, mode.value_or(ReadMode::kEach), true);
}

bool Streams::alike(NodeId a, NodeId b) const {
  if (a == b) return true;
  const Node &x = tree_.nodes[a], &y = tree_.nodes[b];
  if (x.decl != y.decl || x.op != y.op || x.group < 0 || y.group < 0) return false;
  const Group &g = tree_.groups[static_cast<size_t>(x.group)],
              &h = tree_.groups[static_cast<size_t>(y.group)];
  const auto sees = [&](int group) {
    return static_cast<size_t>(group) < sees_.size() && sees_[static_cast<size_t>(group)];
  };
  if (g.stack != h.stack || sees(x.group) || sees(y.group)) return false;
  const auto same_dims = [](const spec::BoundDim& p, const spec::BoundDim& q) {
    return p.name == q.name && p.value == q.value;
  };
  if (!std::ranges::equal(g.dims, h.dims, same_dims)) return false;
  const spec::LayerRule *r = rules_[static_cast<size_t>(x.group)], *q = rules_[static_cast<size_t>(y.group)];
  if (r != q && (!r || !q || !r->dims.empty() || !q->dims.empty())) return false;
  int p = x.call, o = y.call;
  for (; p >= 0 && o >= 0;
       p = tree_.calls[static_cast<size_t>(p)].parent, o = tree_.calls[static_cast<size_t>(o)].parent)
    if (tree_.calls[static_cast<size_t>(p)].component != tree_.calls[static_cast<size_t>(o)].component ||
        tree_.calls[static_cast<size_t>(p)].decl != tree_.calls[static_cast<size_t>(o)].decl)
      return false;
  return p < 0 && o < 0;
}

bool Streams::sees_alike(const Seen& seen) {
  if (seen.stream < 0) return true;
  if (tree_.streams[static_cast<size_t>(seen.stream)].kind == StreamDecl::Kind::kCarried) return true;
  const Seen here = at_layer(seen.stream, seen.mode, seen.by_iteration);
  if (here.nodes.size() != seen.nodes.size()) return false;
  // What is taken from a carried stream has its shape in every layer.
  if (from_carried(seen.stream)) return true;
  for (size_t i = 0; i < seen.nodes.size(); ++i)
    if (!alike(here.nodes[i], seen.nodes[i])) return false;
  return true;
}

void Streams::publish(GroupRun& group, const std::string& name, NodeId node, const base::Span& at,
                      const std::string& component) {
  const auto it = visible_.find(name);
  if (it == visible_.end()) {
    std::vector<std::string> names;
    for (const auto& [other, unused] : visible_) names.push_back(other);
    const std::string near = base::did_you_mean(name, names);
    fail(at,
         "component '" + component + "' publishes stream '" + name + "', which stack '" + stack_->name +
             "' does not declare",
         "a stream of the stack: " + name + ": {shape: [...], src: TEXT}", near);
    return;
  }
  const int stream = it->second.stream;
  if (stream < 0 || node == kNone) return;
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  if (s.kind != StreamDecl::Kind::kInternal) {
    fail(at,
         "component '" + component + "' publishes " + described(stream) + ", which " +
             (s.kind == StreamDecl::Kind::kCarried ? "carries" : "is appended from '" + s.decl->from + "'"),
         s.kind == StreamDecl::Kind::kCarried
             ? "a block whose input has that name, to carry it further"
             : "{shape: [...], src: TEXT} for a stream that components publish");
    return;
  }
  if (!group.published.emplace(stream, node).second)
    fail(at,
         "component '" + component + "' publishes " + described(stream) +
             ", as another of the same layer does",
         "one publisher in a layer");
}

void Streams::leave(const GroupRun& group) {
  for (const Seen& seen : group.seen)
    if (seen.stream >= 0 && seen.mode == ReadMode::kEach && !seen.by_iteration) {
      State& state = states_[static_cast<size_t>(seen.stream)];
      state.each_read = true;
      ++state.each_readers;
    }
  for (const auto& [stream, node] : group.published)
    tree_.streams[static_cast<size_t>(stream)].values.push_back({node, group.id, first_index_ + layer_});
  for (size_t i = 0; i < tree_.streams.size(); ++i) {
    Stream& s = tree_.streams[i];
    if (s.kind != StreamDecl::Kind::kAppended || s.decl->name != s.name || s.stack != stack_->name) continue;
    if (!std::ranges::binary_search(states_[i].chosen, layer_)) continue;
    const StreamDecl& decl = *s.decl;
    NodeId node = kNone;
    bool known = false;
    for (size_t c = 0; c < carried_.size(); ++c)
      if (tree_.streams[static_cast<size_t>(carried_[c])].name == decl.from) {
        node = decl.selection == "before" ? entering_[c] : group.out[c];
        known = true;
      }
    if (!known && decl.selection == "before") {
      fail(decl.at,
           described(static_cast<int>(i)) + " takes '" + decl.from +
               "' before layers, where only what is "
               "carried is there",
           "from: one of the stack's carried streams, or after:");
      return;
    }
    if (!known) {
      const auto it = group.nodes.find(decl.from == "out" ? "" : decl.from);
      if (it == group.nodes.end() || it->second == kNone) {
        std::vector<std::string> names = {"out"};
        for (const auto& [name, unused] : group.nodes)
          if (!name.empty()) names.push_back(name);
        for (int c : carried_) names.push_back(tree_.streams[static_cast<size_t>(c)].name);
        fail(decl.at,
             described(static_cast<int>(i)) + " takes '" + decl.from + "', which layer " +
                 std::to_string(layer_) + " does not compute",
             "a carried stream, out, or a node of the block", base::did_you_mean(decl.from, names));
        return;
      }
      node = it->second;
    }
    if (node != kNone && tree_.nodes[node].cache) {
      fail(decl.at, described(static_cast<int>(i)) + " appends '" + decl.from + "', which the cache keeps",
           "a stream that the component publishes: " + s.name + ": {shape: [...], src: TEXT} and stream_out");
      return;
    }
    s.values.push_back({node, group.id, first_index_ + layer_});
  }
}

void Streams::close() {
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].each_read &&
        states_[i].each_readers < static_cast<int64_t>(tree_.streams[i].values.size()))
      fail(tree_.streams[i].at,
           described(static_cast<int>(i)) + " has " + std::to_string(tree_.streams[i].values.size()) +
               " elements, and " + std::to_string(states_[i].each_readers) + " layers of stack '" +
               stack_->name + "' read one each",
           "a reading layer for every element");
  // What a stack carries beside its trunk is read behind it by its name.
  for (size_t c = 1; c < carried_.size(); ++c)
    known_[tree_.streams[static_cast<size_t>(carried_[c])].name] = carried_[c];
  stack_ = nullptr;
  visible_.clear();
  carried_.clear();
}

std::optional<int> Streams::find(const std::string& name) const {
  const auto it = known_.find(name);
  return it == known_.end() ? std::nullopt : std::optional(it->second);
}

bool Streams::left_out(const std::string& name) const {
  return left_out_.contains(name);
}

std::optional<Seen> Streams::see_whole(int stream, const base::Span& at, const std::string& reader) {
  const Stream& s = tree_.streams[static_cast<size_t>(stream)];
  const std::optional<ReadMode> mode =
      s.kind == StreamDecl::Kind::kAppended ? mode_of(s.decl->read) : ReadMode::kLast;
  if (!mode || *mode == ReadMode::kEach) {
    fail(at,
         reader + " reads " + described(stream) + ", which " +
             (mode ? "is read one by one" : "does not say how"),
         "read: concat or read: all at the stream");
    return std::nullopt;
  }
  return at_layer(stream, *mode, false);
}

std::string Streams::count_text(const Seen& seen) {
  if (seen.stream < 0) return "0";
  if (seen.mode == ReadMode::kLast || seen.mode == ReadMode::kEach) return seen.nodes.empty() ? "0" : "1";
  const Stream& s = tree_.streams[static_cast<size_t>(seen.stream)];
  State& state = states_[static_cast<size_t>(seen.stream)];
  std::string& name = state.counts[seen.nodes.size()];
  if (!name.empty()) return name;
  std::string base = "n_" + s.name;
  for (char& c : base)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const bool whole = seen.nodes.size() == state.chosen.size() && seen.mode == ReadMode::kConcat;
  name = whole ? base : base + "_" + std::to_string(seen.nodes.size());
  const auto taken = [&] {
    return structural_.binding().find(name) ||
           std::ranges::find(tree_.derived, name, &Derived::name) != tree_.derived.end();
  };
  while (taken()) name += "_";
  std::vector<int64_t> from(
      state.chosen.begin(),
      state.chosen.begin() + static_cast<std::ptrdiff_t>(std::min(seen.nodes.size(), state.chosen.size())));
  tree_.derived.push_back({name,
                           {static_cast<int64_t>(seen.nodes.size()), 1},
                           "elements of " + described(seen.stream) + ", kept " + s.decl->selection +
                               " layers " + (from.empty() ? "(none)" : layers_text(from)) + ": " +
                               s.decl->chosen,
                           state.literal});
  return name;
}

void Streams::note_reader(const Seen& seen, int group, int call) {
  if (seen.stream < 0) return;
  Stream& s = tree_.streams[static_cast<size_t>(seen.stream)];
  if (s.kind == StreamDecl::Kind::kCarried) return;
  s.readers.push_back({group, call, std::string(read_name(seen.mode)), seen.nodes.size()});
}

void Streams::finish() {
  for (size_t i = 0; i < tree_.streams.size(); ++i) {
    const Stream& s = tree_.streams[i];
    if (s.kind == StreamDecl::Kind::kCarried || states_[i].empty_stack) continue;
    if (s.kind == StreamDecl::Kind::kInternal && s.values.empty())
      fail(s.at, described(static_cast<int>(i)) + " is never published",
           "a component of one of its layers with stream_out: {" + s.name + ": NODE}",
           "say when: FORMULA where some configs have no such stream");
    else if (s.readers.empty() && !s.values.empty())
      fail(s.at, described(static_cast<int>(i)) + " is never read",
           s.kind == StreamDecl::Kind::kInternal
               ? "a component of a later layer with reads: [" + s.name + "]"
               : "a component with reads: [" + s.name + "], or the name among the inputs of an entry below",
           "say when: FORMULA where some configs have no such stream");
  }
}

}  // namespace archlight::graph::internal

namespace archlight::graph {

std::vector<History> histories(const SpecTree& tree) {
  std::vector<History> out;
  for (const Group& group : tree.groups)
    for (const Group::Sees& sees : group.sees) {
      if (tree.streams[static_cast<size_t>(sees.stream)].kind != spec::StreamDecl::Kind::kAppended) continue;
      auto row = std::ranges::find_if(out, [&](const History& known) {
        return known.stream == sees.stream && known.stack == group.stack;
      });
      if (row == out.end()) {
        out.push_back({sees.stream, group.stack, {}});
        row = out.end() - 1;
      }
      auto length =
          std::ranges::find(row->layers, sees.count, &std::pair<size_t, std::vector<int64_t>>::first);
      if (length == row->layers.end()) {
        row->layers.emplace_back(sees.count, std::vector<int64_t>());
        length = row->layers.end() - 1;
      }
      length->second.insert(length->second.end(), group.layers.begin(), group.layers.end());
    }
  for (History& row : out) {
    std::ranges::sort(row.layers, {}, &std::pair<size_t, std::vector<int64_t>>::first);
    for (auto& [count, layers] : row.layers) std::ranges::sort(layers);
  }
  return out;
}

}  // namespace archlight::graph
