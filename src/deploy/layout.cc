// Mesh axes are independent: each node is asked once per axis by which letter it splits. Letters are the names of its
// row's axes; names that a row's condition ties together ("h % g == 0") are one letter.
#include "deploy/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>

#include "base/yaml.h"

namespace archlight::deploy {
namespace {

using analysis::Analysis;
using base::fault_at;
using base::Faults;
using base::Result;
using expr::Expr;
using expr::Rational;
using graph::NodeId;

constexpr double kNever = std::numeric_limits<double>::infinity();

double number(const Expr& e) {
  const std::optional<Rational> value = e.constant();
  return value ? to_double(*value) : 0;
}

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }) && !std::isdigit(static_cast<unsigned char>(text[0]));
}

// The factors of "heads*width"; none of anything but a product of names.
std::vector<std::string> product_of_names(const std::string& text) {
  std::vector<std::string> out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('*', from), text.size());
    std::string part = text.substr(from, end - from);
    std::erase(part, ' ');
    if (!is_name(part)) return {};
    out.push_back(std::move(part));
    from = end + 1;
  }
  return out;
}

// Pairs that a condition ties: X % Y == 0.
std::vector<std::pair<std::string, std::string>> tied_names(const std::string& condition) {
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t at = condition.find('%'); at != std::string::npos; at = condition.find('%', at + 1)) {
    const auto word = [&](size_t from, int step) {
      std::string text;
      for (size_t i = from; i < condition.size(); i += static_cast<size_t>(step)) {
        const char c = condition[i];
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
          text.insert(step > 0 ? text.end() : text.begin(), c);
        else if (!text.empty() || c != ' ')
          break;
      }
      return text;
    };
    const std::string left = at > 0 ? word(at - 1, -1) : "", right = word(at + 1, 1);
    if (is_name(left) && is_name(right)) out.emplace_back(left, right);
  }
  return out;
}

struct Letter {
  std::vector<std::string> names;
  std::vector<std::vector<int>> at;  // by operand, the tensor's axes that it is outermost in
  std::vector<int> out;
  std::vector<std::pair<size_t, size_t>> params;  // parameter of the op, its axis
  bool coupled = false;
  bool splits = true;
};

// An op's letters, from its row and the ranks of what it meets.
std::vector<Letter> letters_of(const spec::Op& op, const std::vector<size_t>& ranks, size_t out_rank) {
  std::vector<Letter> letters;
  const auto find = [&](const std::string& name) -> Letter& {
    for (Letter& letter : letters)
      if (std::ranges::find(letter.names, name) != letter.names.end()) return letter;
    letters.emplace_back();
    letters.back().names.push_back(name);
    letters.back().at.resize(ranks.size());
    return letters.back();
  };
  const auto visit = [&](const std::vector<spec::AxisPattern>& pattern, size_t rank, auto put) {
    const bool rest = !pattern.empty() && !pattern[0].rest.empty();
    const size_t plain = pattern.size() - (rest ? 1 : 0);
    const size_t lead = rank >= plain ? rank - plain : 0;
    for (size_t i = 0; rest && i < lead; ++i) put(find("*" + pattern[0].rest + std::to_string(i)), i);
    for (size_t i = 0; i < plain; ++i) {
      const spec::AxisPattern& axis = pattern[i + (rest ? 1 : 0)];
      if (!axis.name.empty()) {
        put(find(axis.name), lead + i);
        continue;
      }
      const std::vector<std::string> factors = product_of_names(axis.formula.text());
      for (size_t f = 0; f < factors.size(); ++f) {
        if (f == 0)
          put(find(factors[f]), lead + i);
        else
          find(factors[f]).splits = false;
      }
      if (factors.empty())
        for (const std::string& name : axis.formula.names()) find(name).splits = false;
    }
  };
  for (size_t o = 0; o < ranks.size(); ++o)
    visit(op.operands[std::min(o, op.operands.size() - 1)], ranks[o],
          [&](Letter& letter, size_t axis) { letter.at[o].push_back(static_cast<int>(axis)); });
  visit(op.output, out_rank,
        [&](Letter& letter, size_t axis) { letter.out.push_back(static_cast<int>(axis)); });
  for (size_t p = 0; p < op.params.size(); ++p)
    for (size_t a = 0; a < op.params[p].axes.size(); ++a)
      if (const std::string& text = op.params[p].axes[a].text(); is_name(text))
        find(text).params.emplace_back(p, a);
  if (!op.coupled.empty()) find(op.coupled).coupled = true;

  const auto join = [&](const std::string& one, const std::string& other) {
    Letter& into = find(one);
    Letter from = find(other);
    if (std::ranges::find(into.names, other) != into.names.end()) return;
    for (size_t o = 0; o < ranks.size(); ++o)
      into.at[o].insert(into.at[o].end(), from.at[o].begin(), from.at[o].end());
    into.out.insert(into.out.end(), from.out.begin(), from.out.end());
    into.params.insert(into.params.end(), from.params.begin(), from.params.end());
    into.names.insert(into.names.end(), from.names.begin(), from.names.end());
    into.coupled = into.coupled || from.coupled;
    into.splits = into.splits && from.splits;
    std::erase_if(letters, [&](const Letter& letter) { return letter.names == from.names; });
  };
  for (const auto& [one, other] : tied_names(op.holds.empty() ? std::string() : op.holds.text()))
    join(one, other);
  // A part of a sharded axis, and tensors side by side on one, are taken part by part.
  if (op.kind == spec::ShapeKind::kAxisSelect && op.traffic == spec::Traffic::kView) join("in", "out");
  if (op.kind == spec::ShapeKind::kAxisConcat && op.operands.size() == 2 && !op.repeats_last) {
    const std::string a = op.operands[0].back().name, b = op.operands[1].back().name;
    if (!a.empty() && !b.empty()) {
      join(a, b);
      find(a).out.push_back(static_cast<int>(out_rank) - 1);
      find(a).splits = true;
    }
  }
  // Chosen keys stand where their keys stand.
  if (op.positions > 0 && spec::meets_context(op)) join("t", "k");
  return letters;
}

class Propagator {
 public:
  Propagator(const Analysis& analysis, const Plan& plan) : analysis_(analysis), tree_(*analysis.tree) {
    out_.plan = plan;
  }

  Result<LayoutTable> run() {
    place_dims();
    if (!faults_.empty()) return faults_;
    const size_t n = tree_.nodes.size(), m = out_.mesh.axes.size();
    out_.made.assign(n, Layout(m));
    out_.kept.assign(n, Layout(m));
    out_.work.assign(n, Layout(m));
    out_.read.resize(n);
    at_hand_.resize(n);
    entered_.assign(tree_.calls.size(), Layout(m));
    for (size_t p = 0; p < analysis_.params.size(); ++p) params_of_[analysis_.params[p].node].push_back(p);
    for (const analysis::Cache& cache : analysis_.caches) caches_.emplace(cache.node, &cache);
    feeds_experts_.assign(n, false);
    for (NodeId id = 0; id < n; ++id)
      for (const NodeId in : tree_.nodes[id].in)
        if (expert_call(tree_.nodes[id].call) >= 0 && expert_call(tree_.nodes[in].call) < 0)
          feeds_experts_[in] = true;
    place_params();
    if (!faults_.empty()) return faults_;
    for (NodeId id = 0; id < n; ++id) visit(id);
    carries();
    results();
    return std::move(out_);
  }

 private:
  const MeshAxis& axis(size_t m) const { return out_.mesh.axes[m]; }

  // ---- weights ----

  // Dims that a weight axis is split by, over all weights; and the mesh that their numbers of heads cut.
  void place_dims() {
    std::vector<int64_t> heads;
    for (const analysis::Param& param : analysis_.params) {
      const graph::Node& node = tree_.nodes[param.node];
      for (const spec::NamedFormula& named : node.decl->dims)
        for (const ShardableDim& dim : shardable_dims(tree_, named.formula, node.scope)) {
          const int64_t value = dim_value(dim.name);
          if (std::ranges::find(dim.worlds, "attention") != dim.worlds.end()) heads.push_back(value);
          used_.emplace(dim.name, dim.worlds);
        }
    }
    Result<Mesh> mesh = make_mesh(out_.plan, heads);
    if (!mesh) {
      faults_ = mesh.faults();
      return;
    }
    out_.mesh = *std::move(mesh);
    for (const auto& [name, worlds] : used_) place_dim(name, worlds);
  }

  int64_t dim_value(const std::string& name) const {
    const std::optional<Expr> value = analysis_.dim(name);
    const std::optional<base::Int128> whole = value ? value->integer() : std::nullopt;
    return whole ? static_cast<int64_t>(*whole) : 0;
  }

  bool in_world(size_t m, const std::string& world) const {
    if (world == "attention") return axis(m).tp;
    if (world == "dense_ffn") return axis(m).dense;
    if (world == "expert") return axis(m).expert_tp;
    if (world == "embedding") return axis(m).vocab;
    return false;
  }

  // The mesh axes on which a dim is split: outermost first, as long as whole units are left. Heads fewer than GPUs are kept
  // more than once; anything else that is left over is a fault.
  void place_dim(const std::string& name, const std::vector<std::string>& worlds) {
    std::vector<bool>& mask = masks_[name];
    mask.assign(out_.mesh.axes.size(), false);
    int64_t left = dim_value(name), degree = 1;
    const bool padded = std::ranges::find(worlds, "embedding") != worlds.end();
    const bool heads = std::ranges::find(worlds, "attention") != worlds.end();
    for (size_t m = 0; m < mask.size(); ++m) {
      if (std::ranges::none_of(worlds, [&](const std::string& world) { return in_world(m, world); }))
        continue;
      degree *= axis(m).size;
      if (padded) {
        mask[m] = true;
        continue;
      }
      if (left % axis(m).size == 0) {
        mask[m] = true;
        left /= axis(m).size;
      } else if (!(heads && left == 1)) {
        const int64_t value = dim_value(name);
        int64_t near = degree;
        while (near > 1 && value % near != 0) --near;
        faults_.push_back(
            fault_at({},
                     fmt::format("a degree of {} over the {} leaves {} of {} = {} over", degree,
                                 world_key(worlds), value % degree, name, value),
                     fmt::format("a divisor of {}{}", value, heads ? ", or a multiple of it" : ""),
                     fmt::format("try {}={}", world_key(worlds), near)));
        return;
      }
    }
  }

  static std::string world_key(const std::vector<std::string>& worlds) {
    const std::string& world = worlds[0];
    return world == "attention"   ? "tp"
           : world == "dense_ffn" ? "dense_tp"
           : world == "expert"    ? "expert_tp"
           : world == "embedding" ? "vocab_tp"
                                  : world;
  }

  // The formula that a node binds a letter to.
  static const expr::Formula* formula_of(const graph::Node& node, const std::string& letter) {
    for (const spec::NamedFormula& named : node.decl->dims)
      if (named.name == letter) return &named.formula;
    return nullptr;
  }

  int expert_call(int call) const {
    for (; call >= 0; call = tree_.calls[call].parent)
      if (tree_.calls[call].splits_tokens) return call;
    return -1;
  }

  // On which mesh axes a letter of a node's weight is split.
  std::vector<bool> mask_of(NodeId id, const std::string& letter) {
    std::vector<bool> mask(out_.mesh.axes.size(), false);
    const graph::Node& node = tree_.nodes[id];
    const expr::Formula* formula = formula_of(node, letter);
    if (!formula) return mask;
    bool first = true;
    for (const ShardableDim& dim : shardable_dims(tree_, *formula, node.scope)) {
      const std::vector<bool>& own = masks_[dim.name];
      if (first) {
        mask = own;
      } else if (mask != own) {
        faults_.push_back(
            fault_at(node.decl->at,
                     fmt::format("weight '{}' joins parts that split differently under {}: '{}'", node.path,
                                 out_.plan.text(), formula->text()),
                     "heads that all are split alike", "a tp that is at most the smallest number of heads"));
        return mask;
      }
      first = false;
    }
    return mask;
  }

  void place_params() {
    const size_t axes = out_.mesh.axes.size();
    out_.params.assign(analysis_.params.size(), Layout(axes));
    out_.param_extra.assign(analysis_.params.size(), Rational{1, 1});
    for (size_t p = 0; p < analysis_.params.size(); ++p) {
      const analysis::Param& param = analysis_.params[p];
      const graph::Node& node = tree_.nodes[param.node];
      const spec::Op& op = *node.op;
      for (const spec::ParamPattern& pattern : op.params) {
        if (op.params.size() > 1 && pattern.name != param.name) continue;
        for (size_t a = 0; a < pattern.axes.size(); ++a) {
          const std::vector<bool> mask = mask_of(param.node, pattern.axes[a].text());
          for (size_t m = 0; m < axes; ++m)
            if (mask[m] && !out_.params[p][m].is_sharded())
              out_.params[p][m] = State::sharded(static_cast<int>(a));
        }
      }
      if (const int call = expert_call(node.call); call >= 0) {
        const int64_t copies = tree_.calls[call].copies_value, all = copies + out_.plan.redundant_experts;
        if (all % out_.plan.ep != 0) {
          int64_t near = out_.plan.ep;
          while (near > 1 && all % near != 0) --near;
          faults_.push_back(fault_at(
              {}, fmt::format("ep={} leaves {} of {} experts over", out_.plan.ep, all % out_.plan.ep, all),
              fmt::format("a divisor of {}", all), fmt::format("try ep={}", near)));
          return;
        }
        for (size_t m = 0; m < axes; ++m)
          if (axis(m).ep) out_.params[p][m] = State::sharded(kCopies);
        out_.param_extra[p] = Rational{all, copies};
        if (const auto lowest = expr::make_rational(all, copies)) out_.param_extra[p] = *lowest;
      }
    }
  }

  // ---- activations ----

  // A tensor's state, and states that an earlier reader has already paid for.
  std::vector<State>& at_hand(NodeId id, size_t m) {
    if (at_hand_[id].empty()) at_hand_[id].resize(out_.mesh.axes.size());
    return at_hand_[id][m];
  }

  static double cost(State from, State to, double size, int64_t ranks) {
    using enum State::Kind;
    const double n = static_cast<double>(ranks), part = (n - 1) / n;
    if (from == to || from.kind == kReplicated) return to.is_partial() && !(from == to) ? kNever : 0;
    if (to.is_partial()) return kNever;
    if (from.is_partial()) return size * (to.is_sharded() ? part : 2 * part);
    return to.is_sharded() ? size * part / n : size * part;
  }

  double size_of(NodeId id) const {
    double size = number(analysis_.in_layer[id]);
    for (const Expr& length : analysis_.shape[id]) size *= number(length);
    return size;
  }

  double best_cost(NodeId producer, size_t m, State to) {
    double best = kNever;
    for (const State from : at_hand(producer, m))
      best = std::min(best, cost(from, to, size_of(producer), axis(m).size));
    return best;
  }

  // How often a tensor's axis can still be cut on m, after the cuts further out.
  bool divides(NodeId producer, const std::vector<State>& outer, int at, size_t m) const {
    if (at < 0 || static_cast<size_t>(at) >= analysis_.shape[producer].size()) return false;
    const double length = number(analysis_.shape[producer][static_cast<size_t>(at)]);
    double left = length;
    for (size_t o = 0; o < m && o < outer.size(); ++o)
      if (outer[o] == State::sharded(at)) left /= static_cast<double>(axis(o).size);
    const double n = static_cast<double>(axis(m).size);
    return left >= n && std::fmod(left, n) == 0;
  }

  struct Choice {
    std::vector<State> read;
    State made;
    bool split = false;
    double moved = kNever;
  };

  // The choice that splits by a letter.
  std::optional<Choice> by_letter(NodeId id, const Letter& letter, size_t m, bool forced) {
    const graph::Node& node = tree_.nodes[id];
    const spec::Op& op = *node.op;
    if (!letter.splits) return std::nullopt;
    const bool joins_lse = (axis(m).cp || axis(m).dcp) && spec::works_on_pairs(op);
    if (letter.coupled && !joins_lse) return std::nullopt;
    Choice choice;
    choice.split = true;
    choice.moved = 0;
    for (size_t o = 0; o < node.in.size(); ++o) {
      State want;
      for (const int at : letter.at[o])
        if (!want.is_sharded() && divides(node.in[o], operand_states(id, o), at, m))
          want = State::sharded(at);
      // Fewer key heads than ranks: each GPU reads those of its query heads.
      const bool secondary = letter.names.size() > 1 && o > 0;
      if (!letter.at[o].empty() && !want.is_sharded() && !secondary && !forced) return std::nullopt;
      choice.read.push_back(want);
      choice.moved += best_cost(node.in[o], m, want);
    }
    if (!letter.out.empty()) {
      choice.made = State::sharded(letter.out[0]);
    } else {
      if (op.partial == spec::Partial::kNone && !letter.coupled) return std::nullopt;
      choice.made = State::partial(letter.coupled);
    }
    return choice;
  }

  std::vector<State> operand_states(NodeId id, size_t o) const {
    std::vector<State> out;
    for (const State& state : out_.read[id][o]) out.push_back(state);
    return out;
  }

  // Every operand as it stands in one piece on each GPU.
  Choice whole(NodeId id, size_t m) {
    Choice choice;
    choice.moved = 0;
    for (const NodeId in : tree_.nodes[id].in) {
      choice.read.emplace_back();
      choice.moved += best_cost(in, m, State::replicated());
    }
    return choice;
  }

  // Partial operands handed on.
  std::optional<Choice> passing(NodeId id, size_t m) {
    const graph::Node& node = tree_.nodes[id];
    size_t owing = 0;
    Choice choice;
    choice.moved = 0;
    choice.made = State::partial();
    for (const NodeId in : node.in) {
      const bool partial = std::ranges::any_of(
          at_hand(in, m), [](const State& state) { return state.kind == State::Kind::kPartial; });
      owing += partial ? 1 : 0;
      choice.read.push_back(partial ? State::partial() : State::replicated());
      if (!partial) choice.moved += best_cost(in, m, State::replicated());
    }
    if (owing == 0) return std::nullopt;
    // The sum is taken further down, of what comes out here.
    double size = number(analysis_.in_layer[id]);
    for (const Expr& length : analysis_.computed[id]) size *= number(length);
    choice.moved += cost(State::partial(), State::replicated(), size, axis(m).size);
    if (node.op->partial == spec::Partial::kEach && owing == 1) return choice;
    if (node.op->partial == spec::Partial::kTogether && owing == node.in.size()) return choice;
    return std::nullopt;
  }

  void visit(NodeId id) {
    const graph::Node& node = tree_.nodes[id];
    const spec::Op& op = *node.op;
    const size_t axes = out_.mesh.axes.size();
    out_.read[id].assign(node.in.size(), Layout());
    std::vector<size_t> ranks;
    for (const NodeId in : node.in) ranks.push_back(analysis_.shape[in].size());
    const std::vector<Letter> letters = letters_of(op, ranks, analysis_.computed[id].size());
    const int experts = expert_call(node.call);
    for (size_t m = 0; m < axes; ++m) {
      Choice choice;
      if (experts >= 0 && axis(m).ep) {
        choice = inside_experts(id, experts, m);
      } else if (node.in.empty()) {
        choice = source(id, letters, m);
      } else if (const std::optional<Choice> leaving = leaving_experts(id, m)) {
        choice = *leaving;
      } else {
        choice = choose(id, letters, m);
      }
      for (size_t o = 0; o < node.in.size(); ++o) {
        convert(id, o, m, choice.read[o]);
        out_.read[id][o].push_back(choice.read[o]);
      }
      out_.made[id][m] = choice.made;
      out_.work[id][m] = choice.split ? State::sharded(0) : State::replicated();
      keep(id, m);
    }
    flush();
  }

  Choice choose(NodeId id, const std::vector<Letter>& letters, size_t m) {
    const graph::Node& node = tree_.nodes[id];
    // A weight's placement decides.
    for (const Letter& letter : letters)
      for (const auto& [param, at] : letter.params)
        if (weight_split(id, param, at, m)) {
          if (const std::optional<Choice> choice = by_letter(id, letter, m, true)) return *choice;
          for (const size_t p : params_of_[id])
            out_.params[p][m] = State::replicated();  // an op that needs all of it
        }
    // Where GPUs share experts, or gather all tokens to them, tokens are gathered before they are copied to their experts.
    if (feeds_experts_[id] && (axis(m).expert_tp || out_.plan.exchange == ExpertExchange::kAllGather))
      return whole(id, m);
    // Context parallelism of a prefill says by which of its axes attention is split.
    if (axis(m).cp && tree_.phase == graph::Phase::kPrefill && spec::is_score(*node.op))
      for (const Letter& letter : letters) {
        const bool heads = out_.plan.context == ContextScheme::kUlysses;
        if (std::ranges::find(letter.names, heads ? "h" : "s") == letter.names.end()) continue;
        if (const std::optional<Choice> choice = by_letter(id, letter, m, false)) return *choice;
      }
    std::optional<Choice> best;
    const auto offer = [&](std::optional<Choice> choice) {
      if (choice && (!best || choice->moved < best->moved)) best = std::move(choice);
    };
    for (const Letter& letter : letters) {
      const bool stands = std::ranges::any_of(std::views::iota(size_t{0}, node.in.size()), [&](size_t o) {
        return std::ranges::any_of(at_hand(node.in[o], m), [&](const State& state) {
          return state.is_sharded() && std::ranges::find(letter.at[o], state.axis) != letter.at[o].end();
        });
      });
      if (stands) offer(by_letter(id, letter, m, false));
    }
    offer(passing(id, m));
    offer(whole(id, m));
    return *best;
  }

  bool weight_split(NodeId id, size_t param, size_t at, size_t m) const {
    const auto found = params_of_.find(id);
    if (found == params_of_.end()) return false;
    const std::string& name = tree_.nodes[id].op->params[param].name;
    const size_t patterns = tree_.nodes[id].op->params.size();
    return std::ranges::any_of(found->second, [&](size_t p) {
      return (patterns == 1 || analysis_.params[p].name == name) &&
             out_.params[p][m] == State::sharded(static_cast<int>(at));
    });
  }

  // What starts a stream of tokens stands where its requests and tokens stand.
  Choice source(NodeId id, const std::vector<Letter>& letters, size_t m) {
    const analysis::Shape& shape = analysis_.computed[id];
    Choice choice;
    choice.moved = 0;
    State wish;
    const bool tokens = shape.size() > 2 && shape[1] == analysis_.s_query;
    const bool prefill = tree_.phase == graph::Phase::kPrefill;
    if (axis(m).dp && !shape.empty() && shape[0] == analysis_.batch) wish = State::sharded(0);
    if (axis(m).cp && tokens && prefill) wish = State::sharded(1);
    if (axis(m).tp && tokens && prefill && out_.plan.sequence_parallel) wish = State::sharded(1);
    choice.made = wish;
    choice.split = wish.is_sharded();
    for (const Letter& letter : letters)
      for (const auto& [param, at] : letter.params)
        if (letter.out.empty() && weight_split(id, param, at, m)) {
          choice.split = true;
          record(id, id, m, State::partial(), wish);
        }
    return choice;
  }

  // Experts of a layer are whole on their GPUs, and tokens come to them.
  Choice inside_experts(NodeId id, int call, size_t m) {
    const graph::Node& node = tree_.nodes[id];
    Choice choice;
    choice.moved = 0;
    choice.split = true;
    choice.made = State::sharded(kCopies);
    for (const NodeId in : node.in) {
      choice.read.push_back(State::sharded(kCopies));
      if (expert_call(tree_.nodes[in].call) == call) continue;
      entered_[static_cast<size_t>(call)][m] = out_.kept[in][m];
    }
    return choice;
  }

  // What experts made returns to where their tokens came from; where every GPU had all tokens, each sums what its own
  // experts made of them, and the sum is owed.
  std::optional<Choice> leaving_experts(NodeId id, size_t m) {
    const graph::Node& node = tree_.nodes[id];
    const auto leaves = [&](NodeId in) { return at_hand(in, m)[0] == State::sharded(kCopies); };
    if (std::ranges::none_of(node.in, leaves)) return std::nullopt;
    Choice choice;
    choice.moved = 0;
    choice.split = true;
    int call = -1;
    for (const NodeId in : node.in)
      if (leaves(in)) call = expert_call(tree_.nodes[in].call);
    const State from = entered_[static_cast<size_t>(call)][m];
    for (const NodeId in : node.in)
      choice.read.push_back(leaves(in)          ? (from.is_sharded() ? from : State::sharded(kCopies))
                            : from.is_sharded() ? from
                                                : State::replicated());
    choice.made = from.is_sharded() ? from : State::partial();
    return choice;
  }

  void convert(NodeId id, size_t o, size_t m, State to) {
    const NodeId in = tree_.nodes[id].in[o];
    std::vector<State>& known = at_hand(in, m);
    if (std::ranges::find(known, to) != known.end()) return;
    State from = known[0];
    double least = kNever;
    for (const State state : known)
      if (const double moved = cost(state, to, 1, axis(m).size); moved < least) {
        least = moved;
        from = state;
      }
    if (from.kind != State::Kind::kReplicated) record(in, id, m, from, to);
    known.push_back(to);
  }

  // What a step computes of a cache entry, and what the next one finds.
  void keep(NodeId id, size_t m) {
    State kept = out_.made[id][m];
    std::vector<State>& known = at_hand(id, m);
    known = {kept};
    const auto cache = caches_.find(id);
    if (cache != caches_.end()) {
      const bool grows = cache->second->growth != spec::CacheEntry::Growth::kFixed;
      const bool spread = (axis(m).cp || axis(m).dcp) && grows && kept.kind == State::Kind::kReplicated;
      if (kept.is_partial()) {
        record(id, id, m, kept, State::replicated());
        kept = State::replicated();
        known = {kept};
      }
      if (spread) {
        const bool heads = axis(m).cp && out_.plan.context == ContextScheme::kUlysses;
        const bool by_head = heads && analysis_.shape[id].size() > 3 && divides(id, out_.kept[id], 2, m);
        kept = State::sharded(by_head ? 2 : 1);
        // The step's own tokens are at hand in prefill; in decode all but one come from the cache.
        if (tree_.phase == graph::Phase::kDecode) known = {kept};
      }
    }
    out_.kept[id][m] = kept;
    // Context parallelism that gathers keys and values gathers what the cache keeps of them.
    if (cache != caches_.end() && axis(m).cp && tree_.phase == graph::Phase::kPrefill &&
        out_.plan.context == ContextScheme::kGather && kept == State::sharded(1)) {
      record(id, id, m, kept, State::replicated());
      known = {State::replicated(), kept};
    }
  }

  // ---- collectives ----

  struct Conversion {
    NodeId producer, consumer;
    size_t m;
    State from, to;
  };

  void record(NodeId producer, NodeId consumer, size_t m, State from, State to) {
    if (from.kind == State::Kind::kReplicated || from == to) return;
    pending_.push_back({producer, consumer, m, from, to});
  }

  static CollectiveKind kind_of(State from, State to) {
    if (from.is_partial())
      return to.is_sharded() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
    return to.is_sharded() ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather;
  }

  // Conversions of one tensor over several mesh axes are one collective over their product.
  void flush() {
    std::vector<bool> done(pending_.size(), false);
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (done[i]) continue;
      const Conversion& first = pending_[i];
      Collective out;
      out.kind = kind_of(first.from, first.to);
      out.producer = first.producer;
      out.consumer = first.consumer;
      out.to_experts = first.to == State::sharded(kCopies);
      out.from_experts = first.from == State::sharded(kCopies);
      out.lse = first.from.kind == State::Kind::kPartialLse;
      expr::ExprPool& pool = *analysis_.pool;
      Expr elements = analysis_.in_layer[first.producer];
      for (const Expr& length : first.producer == first.consumer ? analysis_.computed[first.producer]
                                                                 : analysis_.shape[first.producer])
        elements = elements * length;
      std::set<size_t> own;
      for (size_t j = i; j < pending_.size(); ++j) {
        const Conversion& other = pending_[j];
        if (done[j] || other.producer != first.producer || other.consumer != first.consumer ||
            kind_of(other.from, other.to) != out.kind)
          continue;
        done[j] = true;
        own.insert(other.m);
        out.axes.push_back(static_cast<int>(other.m));
        out.ranks *= axis(other.m).size;
      }
      out.stride = axis(static_cast<size_t>(out.axes.back())).stride;
      // On the other axes each GPU has, or takes, a part.
      const Layout& rest = out_.made[first.producer];
      const std::vector<NodeId>& in = tree_.nodes[first.consumer].in;
      const auto operand = std::ranges::find(in, first.producer);
      const Layout* taken = operand == in.end()
                                ? nullptr
                                : &out_.read[first.consumer][static_cast<size_t>(operand - in.begin())];
      for (size_t m = 0; m < out_.mesh.axes.size(); ++m)
        if (!own.contains(m) &&
            (rest[m].is_sharded() || (taken && m < taken->size() && (*taken)[m].is_sharded())))
          elements = elements / pool.constant(axis(m).size);
      out.elements = elements;
      const int group = tree_.nodes[first.consumer].group;
      out.times = group < 0 ? pool.constant(1) : analysis_.layers[static_cast<size_t>(group)];
      out_.collectives.push_back(std::move(out));
    }
    pending_.clear();
  }

  // A layer hands on what the next one takes.
  void carries() {
    for (const graph::Group& group : tree_.groups) {
      if (group.layers.size() < 2) continue;
      for (const graph::Group::Carry& carry : group.carries) {
        if (carry.in == graph::kNone || carry.out == graph::kNone) continue;
        for (size_t m = 0; m < out_.mesh.axes.size(); ++m)
          record(carry.out, carry.out, m, out_.made[carry.out][m], out_.kept[carry.in][m]);
        flush();
      }
    }
  }

  // Logits are wanted whole, beside their requests.
  void results() {
    for (const NodeId id : tree_.results) {
      if (!tree_.nodes[id].apart.empty()) continue;
      for (size_t m = 0; m < out_.mesh.axes.size(); ++m) {
        const State made = out_.made[id][m];
        const int last = static_cast<int>(analysis_.computed[id].size()) - 1;
        if (made.is_partial() || made == State::sharded(last)) record(id, id, m, made, State::replicated());
      }
      flush();
    }
  }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  LayoutTable out_;
  Faults faults_;
  std::map<std::string, std::vector<std::string>> used_;
  std::map<std::string, std::vector<bool>> masks_;
  std::map<NodeId, std::vector<size_t>> params_of_;
  std::map<NodeId, const analysis::Cache*> caches_;
  std::vector<std::vector<std::vector<State>>> at_hand_;  // by node and mesh axis; the first is its own
  std::vector<Layout> entered_;                           // by call of experts: what came in
  std::vector<bool> feeds_experts_;                       // by node
  std::vector<Conversion> pending_;
};

void collect_dims(const graph::SpecTree& tree, const expr::Formula& formula, int scope, int depth,
                  std::vector<ShardableDim>& out) {
  if (depth > 32) return;
  for (const std::string& name : formula.names()) {
    bool bound = false;
    for (int at = scope; at >= 0 && !bound; at = tree.scopes[static_cast<size_t>(at)].parent)
      for (const spec::NamedFormula& named : tree.scopes[static_cast<size_t>(at)].names)
        if (named.name == name) {
          collect_dims(tree, named.formula, tree.scopes[static_cast<size_t>(at)].parent, depth + 1, out);
          bound = true;
          break;
        }
    if (bound) continue;
    const auto info = tree.library->dims().find(name);
    if (info == tree.library->dims().end() || info->second.shardable_by.empty()) continue;
    if (std::ranges::none_of(out, [&](const ShardableDim& dim) { return dim.name == name; }))
      out.push_back({name, info->second.shardable_by});
  }
}

}  // namespace

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
  }
  return {};
}

Rational LayoutTable::share(const Layout& layout) const {
  base::Int128 parts = 1;
  for (size_t m = 0; m < layout.size(); ++m)
    if (layout[m].is_sharded()) parts *= mesh.axes[m].size;
  return {1, parts};
}

std::vector<ShardableDim> shardable_dims(const graph::SpecTree& tree, const expr::Formula& formula,
                                         int scope) {
  std::vector<ShardableDim> out;
  collect_dims(tree, formula, scope, 0, out);
  return out;
}

Faults check_blocks(const Analysis& stored, const analysis::Storage& storage, const LayoutTable& layout) {
  Faults out;
  for (const analysis::StoredTensor& tensor : storage.tensors) {
    if (tensor.main || tensor.param >= layout.params.size() || tensor.scalar || !tensor.present) continue;
    const analysis::Param& param = stored.params[tensor.param];
    if (tensor.shape.size() < param.axes.size()) continue;
    const size_t lead = tensor.shape.size() - param.axes.size();
    for (size_t a = 0; a < param.axes.size(); ++a) {
      int64_t degree = 1;
      for (size_t m = 0; m < layout.mesh.axes.size(); ++m)
        if (layout.params[tensor.param][m] == State::sharded(static_cast<int>(a)))
          degree *= layout.mesh.axes[m].size;
      const auto blocks = static_cast<int64_t>(number(tensor.shape[lead + a])),
                 length = static_cast<int64_t>(number(param.axes[a]));
      if (blocks <= 1 || blocks % degree == 0) continue;
      const int64_t near =
          std::gcd(degree, blocks);  // a part of this degree, so that other worlds still nest
      out.push_back(fault_at(
          {},
          fmt::format("a degree of {} cuts axis {} of weight '{}', {} long, into parts of {}, within "
                      "its {} blocks of {}",
                      degree, a, tensor.module, length, length / degree, blocks,
                      (length + blocks - 1) / blocks),
          "whole blocks on each GPU, which its scales stand for", fmt::format("try {}", near)));
      break;
    }
    if (out.size() >= 20) break;
  }
  return out;
}

Result<LayoutTable> propagate(const Analysis& analysis, const Plan& plan) {
  return Propagator(analysis, plan).run();
}

}  // namespace archlight::deploy
