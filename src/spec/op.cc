#include "spec/op.h"

#include <algorithm>
#include <cassert>
#include <cctype>

#include "base/yaml.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Result;

constexpr int kMaxAxes = 32;
constexpr size_t kMaxOperands = 16;  // and as many parameters

struct KindRow {
  ShapeKind kind;
  std::string_view name;
};
constexpr KindRow kKinds[] = {
    {ShapeKind::kPreserve, "preserve"},        {ShapeKind::kBroadcast, "broadcast"},
    {ShapeKind::kAxisReplace, "axis_replace"}, {ShapeKind::kAxisSelect, "axis_select"},
    {ShapeKind::kAxisConcat, "axis_concat"},   {ShapeKind::kContract, "contract"},
    {ShapeKind::kPermute, "permute"},          {ShapeKind::kSource, "source"},
    {ShapeKind::kExplicit, "explicit"},
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) {
  if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_')) return false;
  return std::ranges::all_of(text,
                             [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// At `at` outside of parentheses.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != at || depth > 0) continue;
    out.push_back(trim(text.substr(from, i - from)));
    from = i + 1;
  }
  out.push_back(trim(text.substr(from)));
  return out;
}

// "[*r,in]" as axes.
Result<std::vector<AxisPattern>> parse_axes(std::string_view text, const base::Span& at) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return fault_at(at, "the shape pattern '" + std::string(text) + "' has no brackets",
                    "axes in brackets, as in [*r,in]");
  std::vector<AxisPattern> axes;
  const std::string_view inside = trim(text.substr(1, text.size() - 2));
  if (inside.empty()) return axes;
  if (std::ranges::count(inside, ',') >= kMaxAxes)
    return fault_at(at, "a shape pattern of more than 32 axes", "at most 32, as tensor files have");
  for (std::string_view part : split(inside, ',')) {
    AxisPattern axis;
    if (part.starts_with("*")) {
      axis.rest = std::string(part.substr(1));
      if (!is_name(axis.rest) || !axes.empty())
        return fault_at(at, "'" + std::string(part) + "' is no leading rest", "*name as the first axis only");
    } else if (is_name(part)) {
      axis.name = std::string(part);
    } else {
      Result<expr::Formula> formula = expr::Formula::parse(part, at);
      if (!formula) return formula.faults();
      axis.formula = std::move(*formula);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<std::string> names_of(const AxisPattern& axis) {
  if (!axis.rest.empty()) return {axis.rest};
  if (!axis.name.empty()) return {axis.name};
  return axis.formula.names();
}

// Which operand axes an output axis comes from, read off the names that the two sides share.
std::vector<std::vector<DimSource>> dim_map_of(const Op& op) {
  std::vector<std::vector<DimSource>> map;
  const auto position = [](const std::vector<AxisPattern>& axes, size_t i) {
    const bool has_rest = !axes.empty() && !axes[0].rest.empty();
    return has_rest ? static_cast<int>(i) - static_cast<int>(axes.size()) : static_cast<int>(i);
  };
  for (const AxisPattern& out : op.output) {
    if (!out.rest.empty()) continue;
    std::vector<DimSource> sources;
    const std::vector<std::string> wanted = names_of(out);
    for (size_t o = 0; o < op.operands.size(); ++o)
      for (size_t i = 0; i < op.operands[o].size(); ++i) {
        const AxisPattern& in = op.operands[o][i];
        if (!in.rest.empty()) continue;
        const std::vector<std::string> has = names_of(in);
        const bool shares = std::ranges::any_of(
            has, [&](const std::string& n) { return std::ranges::find(wanted, n) != wanted.end(); });
        if (!shares) continue;
        DimSource source{static_cast<int>(o), position(op.operands[o], i), DimSource::How::kCarried};
        if (has.size() > wanted.size()) source.how = DimSource::How::kSplit;
        if (has.size() < wanted.size()) source.how = DimSource::How::kMerged;
        sources.push_back(source);
      }
    map.push_back(std::move(sources));
  }
  return map;
}

}  // namespace

std::string_view shape_kind_name(ShapeKind kind) {
  for (const KindRow& row : kKinds)
    if (row.kind == kind) return row.name;
  return {};
}

std::string_view partial_name(Partial partial) {
  switch (partial) {
    case Partial::kEach:
      return "each";
    case Partial::kTogether:
      return "together";
    case Partial::kNone:
      return "none";
  }
  return {};
}

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kMatmul:
      return "matmul";
    case Unit::kVector:
      return "vector";
    case Unit::kMove:
      return "move";
  }
  return {};
}

std::string_view traffic_name(Traffic traffic) {
  switch (traffic) {
    case Traffic::kReadWrite:
      return "read_write";
    case Traffic::kView:
      return "view";
    case Traffic::kOnChip:
      return "on_chip";
    case Traffic::kGather:
      return "gather";
  }
  return {};
}

Result<Op> compile_op(const OpRow& row, const base::Span& at) {
  Op op;
  op.name = std::string(row.name);
  op.partial = row.partial;
  op.coupled = std::string(row.coupled);
  op.unit = row.unit;
  op.traffic = row.traffic;
  op.source = std::string(row.source);
  op.flops_text = std::string(row.flops);
  op.shape_text = std::string(row.shape);
  op.params_text = std::string(row.params);

  // shape
  const size_t colon = row.shape.find(':');
  const size_t arrow = row.shape.find("->");
  if (colon == std::string_view::npos || arrow == std::string_view::npos || arrow < colon)
    return fault_at(at, "the shape '" + std::string(row.shape) + "' of op '" + op.name + "' cannot be read",
                    "'kind: operands -> output', as in 'axis_replace: [*r,in] -> [*r,out]'");
  const std::string kind_name(trim(row.shape.substr(0, colon)));
  const KindRow* kind = std::ranges::find(kKinds, kind_name, &KindRow::name);
  if (kind == std::end(kKinds)) {
    std::vector<std::string> names;
    for (const KindRow& candidate : kKinds) names.emplace_back(candidate.name);
    return fault_at(at, "unknown shape kind '" + kind_name + "'",
                    "one of preserve, broadcast, axis_replace, axis_select, axis_concat, contract, permute, "
                    "source, explicit",
                    base::did_you_mean(kind_name, names));
  }
  op.kind = kind->kind;
  std::string_view operands = trim(row.shape.substr(colon + 1, arrow - colon - 1));
  while (!operands.empty()) {
    const size_t end = operands.find(']');
    Result<std::vector<AxisPattern>> axes =
        parse_axes(operands.substr(0, end == std::string_view::npos ? operands.size() : end + 1), at);
    if (!axes) return axes.faults();
    op.operands.push_back(std::move(*axes));
    if (op.operands.size() > kMaxOperands)
      return fault_at(at, "op '" + op.name + "' takes more than 16 operands", "at most 16");
    operands = end == std::string_view::npos ? std::string_view{} : trim(operands.substr(end + 1));
    if (operands == "...") {
      op.repeats_last = true;
      operands = {};
    }
  }
  Result<std::vector<AxisPattern>> output = parse_axes(row.shape.substr(arrow + 2), at);
  if (!output) return output.faults();
  op.output = std::move(*output);
  if ((op.kind == ShapeKind::kSource) != op.operands.empty())
    return fault_at(at,
                    "op '" + op.name + "' of kind " + kind_name + " has " +
                        std::to_string(op.operands.size()) + " operands",
                    "no operand for source, at least one for every other kind");
  op.dim_map = dim_map_of(op);
  // A node of a preserving op may be left out, which hands its operand on; so the pattern must keep the shape.
  const auto same_axis = [](const AxisPattern& a, const AxisPattern& b) {
    return a.rest == b.rest && a.name == b.name && a.formula.empty() && b.formula.empty();
  };
  if (op.kind == ShapeKind::kPreserve &&
      (op.operands.size() != 1 || !std::ranges::equal(op.operands[0], op.output, same_axis)))
    return fault_at(
        at,
        "op '" + op.name + "' is of kind preserve, yet '" + std::string(row.shape) + "' changes the shape",
        "one operand, whose axes are the output's");

  // params
  std::string_view params = trim(row.params);
  while (!params.empty()) {
    const size_t bracket = params.find('[');
    const size_t end = params.find(']');
    if (bracket == std::string_view::npos || end == std::string_view::npos || end < bracket)
      return fault_at(at,
                      "the params '" + std::string(row.params) + "' of op '" + op.name + "' cannot be read",
                      "name[axis,...] or name?[axis,...]");
    ParamPattern param;
    std::string_view name = trim(params.substr(0, bracket));
    if (name.ends_with("?")) {
      param.optional = true;
      name.remove_suffix(1);
    }
    if (name != "=") param.name = std::string(name);
    const std::string_view axes = trim(params.substr(bracket + 1, end - bracket - 1));
    for (std::string_view axis : axes.empty() ? std::vector<std::string_view>() : split(axes, ',')) {
      Result<expr::Formula> formula = expr::Formula::parse(axis, at);
      if (!formula) return formula.faults();
      param.axes.push_back(std::move(*formula));
    }
    op.params.push_back(std::move(param));
    if (op.params.size() > kMaxOperands)
      return fault_at(at, "op '" + op.name + "' has more than 16 parameters", "at most 16");
    params = trim(params.substr(end + 1));
  }

  // flops, in names that the row has
  Result<expr::Formula> flops = expr::Formula::parse(row.flops, at);
  if (!flops) return flops.faults();
  op.flops = std::move(*flops);
  std::vector<std::string> known = {"pairs"};
  for (std::string_view name : split(row.numbers, ','))
    if (!name.empty()) known.emplace_back(name);
  for (const auto& operand : op.operands)
    for (const AxisPattern& axis : operand) std::ranges::copy(names_of(axis), std::back_inserter(known));
  for (const AxisPattern& axis : op.output) std::ranges::copy(names_of(axis), std::back_inserter(known));
  for (const ParamPattern& param : op.params)
    for (const expr::Formula& axis : param.axes) std::ranges::copy(axis.names(), std::back_inserter(known));
  for (const std::string& name : op.flops.names())
    if (std::ranges::find(known, name) == known.end())
      return fault_at(
          at, "the flops of op '" + op.name + "' name '" + name + "', which its shape and params lack",
          "a name of the row", base::did_you_mean(name, known));
  if (!op.coupled.empty() && std::ranges::find(known, op.coupled) == known.end())
    return fault_at(at, "op '" + op.name + "' couples '" + op.coupled + "', which its shape lacks",
                    "an axis of its shape", base::did_you_mean(op.coupled, known));
  if (!row.holds.empty()) {
    Result<expr::Formula> holds = expr::Formula::parse(row.holds, at);
    if (!holds) return holds.faults();
    op.holds = std::move(*holds);
    for (const std::string& name : op.holds.names())
      if (std::ranges::find(known, name) == known.end())
        return fault_at(
            at, "the condition of op '" + op.name + "' names '" + name + "', which its shape and params lack",
            "a name of the row", base::did_you_mean(name, known));
  }

  op.positions = row.positions;
  if (op.positions < 0 || op.positions > static_cast<int>(op.operands.size()))
    return fault_at(at, "op '" + op.name + "' has no operand " + std::to_string(op.positions),
                    "one of its " + std::to_string(op.operands.size()) + " operands, or 0");
  for (const auto& [text, formula] : {std::pair(row.reads, &op.reads), std::pair(row.writes, &op.writes)}) {
    if (text.empty()) continue;
    Result<expr::Formula> parsed = expr::Formula::parse(text, at);
    if (!parsed) return parsed.faults();
    *formula = std::move(*parsed);
    for (const std::string& name : formula->names())
      if (std::ranges::find(known, name) == known.end())
        return fault_at(at, "what op '" + op.name + "' moves names '" + name + "', which the row lacks",
                        "a name of the row", base::did_you_mean(name, known));
  }

  // What a node may bind: every name but the leading rest.
  std::vector<std::string> rests;
  for (const auto& operand : op.operands)
    if (!operand.empty() && !operand[0].rest.empty()) rests.push_back(operand[0].rest);
  for (const std::string& name : known)
    if (name != "pairs" && std::ranges::find(rests, name) == rests.end() &&
        std::ranges::find(op.names, name) == op.names.end())
      op.names.push_back(name);
  return op;
}

bool works_on_pairs(const Op& op) {
  return std::ranges::find(op.flops.names(), "pairs") != op.flops.names().end();
}

bool is_context(const Op& op, size_t operand) {
  return operand < op.operands.size() && static_cast<int>(operand) + 1 != op.positions &&
         std::ranges::any_of(op.operands[operand], [](const AxisPattern& axis) { return axis.name == "g"; });
}

bool meets_context(const Op& op) {
  if (!works_on_pairs(op)) return false;
  for (size_t operand = 0; operand < op.operands.size(); ++operand)
    if (is_context(op, operand)) return true;
  return false;
}

bool is_score(const Op& op) {
  return meets_context(op) && op.output.size() > 1 && op.output[1].name == "h";
}

const std::vector<Op>& builtin_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> out;
    for (const OpRow& row : op_rows()) {
      Result<Op> op = compile_op(row);
      assert(op.ok() && "every built-in row compiles");
      out.push_back(std::move(*op));
    }
    return out;
  }();
  return ops;
}

const Op* find_builtin_op(std::string_view name) {
  for (const Op& op : builtin_ops())
    if (op.name == name) return &op;
  return nullptr;
}

}  // namespace archlight::spec
