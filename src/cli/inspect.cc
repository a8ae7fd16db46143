#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "guard/head.h"

namespace archlight::cli {
namespace {

using analysis::Quantity;
using base::Json;

spec::PublishedContext published_context_of(const Session& session) {
  return spec::published_context(*session.binding->model, *session.binding->config,
                                 session.library->rope_scaling());
}

std::string join(const std::vector<std::string>& words, const char* with) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : with) + word;
  return out;
}

// A section of the bill: quantities whose keys start with a prefix.
std::string section(const analysis::Bill& bill, const std::string& title,
                    const std::vector<std::string>& prefixes, const std::string& last_line = {}) {
  std::vector<std::vector<std::string>> rows;
  for (const Quantity& quantity : bill.quantities) {
    if (std::ranges::none_of(prefixes,
                             [&](const std::string& prefix) { return quantity.key.starts_with(prefix); }))
      continue;
    const expr::Rational value = *quantity.value.constant();
    if (value.num == 0 && quantity.key != "kv.fixed_state_bytes") continue;
    rows.push_back({quantity.title, text_value(value),
                    quantity.unit == "flops_per_byte" ? "FLOP/B" : quantity.unit,
                    scale_of(value, quantity.unit), quantity.key});
  }
  if (rows.empty()) return {};
  return title + "\n" + table({"", ">", "", "", ""}, rows, "  ") +
         (last_line.empty() ? "" : "  " + last_line + "\n") + "\n";
}

// The entry kinds that a profile lays out in this model, and whether it converts weights.
std::vector<std::string> rewritten_kinds(const analysis::Bill& bill) {
  std::vector<std::string> out;
  for (const analysis::Cache& cache : bill.decode->caches)
    if (bill.input.precision->layout_of(cache.kind) && std::ranges::find(out, cache.kind) == out.end())
      out.push_back(cache.kind);
  return out;
}

std::vector<std::string> rewritten_schemes(const analysis::Bill& bill) {
  std::vector<std::string> out;
  for (const analysis::StoredTensor& tensor : bill.storage.tensors)
    if (tensor.rewritten && std::ranges::find(out, tensor.scheme) == out.end()) out.push_back(tensor.scheme);
  return out;
}

std::string rewrites_text(const analysis::Bill& bill) {
  std::string out;
  for (const std::string& kind : rewritten_kinds(bill))
    out += (out.empty() ? "cache entries " : ", ") + kind + " as " +
           spec::layout_text(*bill.input.precision->layout_of(kind));
  const std::vector<std::string> schemes = rewritten_schemes(bill);
  if (!schemes.empty()) out += (out.empty() ? "weights as " : "; weights as ") + join(schemes, ", ");
  return out;
}

void print_heads(const Session& session, std::ostream& out) {
  for (const guard::Head& head : guard::heads_of(session.report, session.truth)) {
    out << "  head      ";
    switch (head.kind) {
      case guard::Head::Kind::kTied:
        out << "tied to " << head.table;
        break;
      case guard::Head::Kind::kOwn:
        out << "a matrix of its own";
        break;
      case guard::Head::Kind::kNone:
        out << "none";
        break;
    }
    out << (head.evidence.empty() ? "" : " (" + head.evidence + ")") << "\n";
  }
}

std::string tokens_text(const expr::Rational& value) {
  return value.is_integer() ? base::with_commas(value.num) : text_value(value);
}

// A config's own words, without what a terminal would obey.
std::string plain(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return text.size() > 1000 ? text.substr(0, 1000) + "..." : text;
}

// Whether numbers are asked for at a length that the model is not published for.
bool extrapolates(const Session& session, const spec::PublishedContext& context) {
  if (!context.tokens || !session.bill) return false;
  const expr::Rational longest{std::max(session.bill->input.prompt, session.bill->input.context), 1};
  return compare(longest, *context.tokens) > 0;
}

// The stated length, and how its rope scaling was read.
void print_context(const Session& session, std::ostream& out) {
  const spec::PublishedContext context = published_context_of(session);
  if (context.tokens)
    out << "  context   " << tokens_text(*context.tokens) << " tokens (config." << context.key << ")";
  for (size_t i = 0; context.tokens && i < context.scaling.size(); ++i) {
    const spec::RopeScaling& row = context.scaling[i];
    out << "; config." << plain(row.key) << ": " << plain(row.type);
    if (row.alias) out << ", that is " << row.known_as;
    if (const std::optional<expr::Rational> product = row.product())
      out << ", " << tokens_text(*row.original) << " * " << text_value(*row.factor) << " = "
          << tokens_text(*product)
          << (*product == *context.tokens ? ", which it counts" : ", which it does not count");
    else if (row.factor)
      out << ", factor " << text_value(*row.factor);
  }
  if (context.tokens) out << "\n";
  if (extrapolates(session, context))
    out << "            the prompt or context asked for is past it: an extrapolation, no range that the "
           "model serves\n";
  for (const std::string& remark : context.remarks) out << "            " << plain(remark) << "\n";
}

void print_text(const Session& session, std::ostream& out) {
  const guard::Report& report = session.report;
  out << shown_name(session) << "  (spec " << session.binding->model->name << ")\n";
  out << "  evidence  " << evidence_line(session) << "\n";
  out << "  source    " << session.truth.origin
      << (session.truth.revision.empty() ? "" : ", revision " + session.truth.revision) << "\n";
  if (session.bill) {
    const analysis::Bill& bill = *session.bill;
    std::vector<std::string> stacks;
    const graph::SpecTree& tree = *bill.prefill->tree;
    for (const graph::Group& group : tree.groups) {
      size_t layers = 0;
      const graph::Group* first = nullptr;  // the kind's groups are one line
      for (const graph::Group& other : tree.groups)
        if (other.kind == group.kind) {
          layers += other.layers.size();
          if (!first) first = &other;
        }
      if (first != &group) continue;
      stacks.push_back(fmt::format("{} x {}", layers,
                                   group.kind_label.empty() || group.kind_label == group.stack
                                       ? group.stack
                                       : group.stack + " (" + group.kind_label + ")") +
                       (group.apart.empty() ? "" : ", apart"));
    }
    out << "  layers    " << join(stacks, "; ") << "\n";
    for (const graph::History& history : graph::histories(tree)) {
      std::vector<std::string> lengths;
      for (const auto& [count, layers] : history.layers)
        lengths.push_back(fmt::format("{} in {}", count, graph::layers_text(layers)));
      out << "  stream    " << tree.streams[static_cast<size_t>(history.stream)].name
          << ", values that layers of " << history.stack << " see: " << join(lengths, "; ") << "\n";
    }
    print_heads(session, out);
    print_context(session, out);
    out << "  storage   " << base::dtype_name(bill.storage.plain_dtype) << " ("
        << bill.storage.plain_dtype_origin << ")";
    std::vector<std::string> schemes;
    for (const analysis::StoredTensor& tensor : bill.storage.tensors)
      if (tensor.scheme != "none" && !tensor.rewritten &&
          std::ranges::find(schemes, tensor.scheme) == schemes.end())
        schemes.push_back(tensor.scheme);
    if (!schemes.empty())
      out << ", quantised as " << join(schemes, ", ")
          << (bill.storage.declared_origin.empty() ? "" : " (" + bill.storage.declared_origin + ")")
          << (bill.storage.open_scope.empty() ? ""
                                              : ", in all modules that it takes: which ones is not declared");
    if (const auto& engine = bill.decode_traffic.engine; engine && bill.decodes()) {
      out << "\n  cache     as " << engine->engine->name << " keeps it (" << engine->engine->label;
      for (const spec::EngineOption& option : engine->options)
        out << ", " << option.name << " " << option.value;
      out << ")";
    } else if (bill.decodes()) {
      out << "\n  cache     " << base::dtype_name(bill.decode_traffic.kv_dtype) << " ("
          << bill.decode_traffic.kv_dtype_origin << ")";
      if (bill.input.precision)
        out << "\n  precision " << bill.input.precision->name << ": " << bill.input.precision->label
            << "\n            " << rewrites_text(bill) << "; what it does not name keeps the format above";
    }
    out << "\n\n";
    out << section(bill, "Parameters", {"params.total", "params.active", "params.role.", "params.apart."});
    out << section(bill, "Parameters in one layer", {"params.layer."});
    out << section(bill, "Storage", {"storage."});
    out << section(
        bill, "Cache of one request",
        {"kv.bytes_per_token", "kv.entry.", "kv.fixed_state_bytes", "kv.bytes_at_context", "kv.apart."},
        bill.decodes() && !bill.find("kv.held_bytes")
            ? "what an allocator reserves is not known: no engine is named ('archlight engines' lists them)"
            : "");
    out << section(bill,
                   fmt::format("Cache that the engine reserves: batch {}, context {}", bill.input.batch,
                               base::with_commas(bill.input.context)),
                   {"kv.held"});
    out << section(
        bill,
        fmt::format("Cache of one request in one layer, context {}", base::with_commas(bill.input.context)),
        {"kv.layer."});
    out << section(bill,
                   fmt::format("Prefill step: batch {}, {} tokens", bill.input.batch,
                               base::with_commas(bill.input.prompt)),
                   {"prefill."});
    out << section(bill,
                   fmt::format("Decode step: batch {}, context {}", bill.input.batch,
                               base::with_commas(bill.input.context)),
                   {"decode."});
  }
  if (!report.comparisons.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const guard::Comparison& row : report.comparisons)
      rows.push_back(
          {row.what,
           base::with_commas(row.ours) + (row.ours_most ? " to " + base::with_commas(*row.ours_most) : ""),
           base::with_commas(row.published),
           row.equal() || row.ours_most ? row.outcome()
                                        : "DIFFERS by " + base::with_commas(row.ours - row.published),
           row.published_source});
    out << "Reconciled with what was published\n"
        << table({"", ">spec", ">published", "", "source"}, rows, "  ") << "\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const guard::GuardRun& row : report.guards)
    rows.push_back({row.name, row.ran ? base::with_commas(row.checks) : "-", outcome_of(row)});
  out << "Guards\n" << table({"", ">checks", ""}, rows, "  ");
  for (const std::string& remark : report.remarks) out << "  note: " << remark << "\n";
  for (const std::string& note : session.truth.notes) out << "  record: " << note << "\n";
  out << "\nEach number's formula: archlight explain " << session.asked << " KEY\n";
}

}  // namespace

Json inspect_json(const Session& session) {
  Json out = {{"schema", "archlight.inspect/1"},
              {"model", shown_name(session)},
              {"spec", session.binding->model->name},
              {"evidence", evidence_json(session)}};
  if (!session.bill) return out;
  const analysis::Bill& bill = *session.bill;
  out["input"] = {{"batch_requests", bill.input.batch},
                  {"prompt_tokens", bill.input.prompt},
                  {"context_tokens", bill.input.context}};
  if (const auto& engine = bill.decode_traffic.engine) {
    out["input"]["engine"] = engine->engine->name;
    for (const spec::EngineOption& option : engine->options)
      out["input"]["engine_options"].push_back({{"name", option.name}, {"value", option.value}});
  }
  out["heads"] = Json::array();
  for (const guard::Head& head : guard::heads_of(session.report, session.truth))
    out["heads"].push_back({{"node", head.path},
                            {"is", guard::head_kind_name(head.kind)},
                            {"table", head.table},
                            {"evidence", head.evidence}});
  if (const spec::PublishedContext context = published_context_of(session); context.tokens) {
    out["context"] = {{"published_tokens", json_value(*context.tokens)}, {"key", "config." + context.key}};
    for (const spec::RopeScaling& row : context.scaling) {
      Json scaling = {{"key", "config." + row.key}, {"type", row.type}};
      if (row.alias) scaling["known_as"] = row.known_as;
      if (row.factor) scaling["factor"] = expr::to_string(*row.factor);
      if (row.original) scaling["original_tokens"] = json_value(*row.original);
      if (const std::optional<expr::Rational> product = row.product())
        scaling["product_tokens"] = json_value(*product);
      out["context"]["scaling"].push_back(std::move(scaling));
    }
    if (!context.remarks.empty()) out["context"]["remarks"] = context.remarks;
    out["context"]["extrapolated"] = extrapolates(session, context);
  }
  out["plain_dtype"] = base::dtype_name(bill.storage.plain_dtype);
  out["kv_dtype"] = base::dtype_name(bill.decode_traffic.kv_dtype);
  if (bill.input.precision) {
    const spec::Precision& precision = *bill.input.precision;
    Json entries = Json::object();
    for (const std::string& kind : rewritten_kinds(bill))
      entries[kind] = spec::layout_text(*precision.layout_of(kind));
    out["precision"] = {{"name", precision.name},
                        {"label", precision.label},
                        {"source", precision.source},
                        {"entries", std::move(entries)},
                        {"weights", rewritten_schemes(bill)}};
  }
  if (!bill.storage.declared_scheme.empty()) out["declared_scheme"] = bill.storage.declared_scheme;
  Json quantities = Json::object();
  for (const Quantity& quantity : bill.quantities)
    quantities[quantity.key] = {{quantity.unit, json_value(*quantity.value.constant())},
                                {"title", quantity.title}};
  out["quantities"] = std::move(quantities);
  const graph::SpecTree& tree = *bill.prefill->tree;
  Json streams = Json::array();
  for (const graph::Stream& stream : tree.streams) {
    if (stream.kind == spec::StreamDecl::Kind::kCarried) continue;
    Json row = {
        {"name", stream.name}, {"stack", stream.stack}, {"src", stream.src}, {"values", Json::array()}};
    for (const graph::Stream::Value& value : stream.values)
      row["values"].push_back({{"layer", value.layer}, {"node", tree.nodes[value.node].path}});
    streams.push_back(std::move(row));
  }
  if (!streams.empty()) out["streams"] = std::move(streams);
  Json histories = Json::array();
  for (const graph::History& history : graph::histories(tree)) {
    Json row = {{"stream", tree.streams[static_cast<size_t>(history.stream)].name},
                {"stack", history.stack},
                {"lengths", Json::array()}};
    for (const auto& [count, layers] : history.layers)
      row["lengths"].push_back({{"values", count}, {"layers", layers}});
    histories.push_back(std::move(row));
  }
  if (!histories.empty()) out["histories"] = std::move(histories);
  out["groups"] = Json::array();
  for (const graph::Group& group : bill.prefill->tree->groups) {
    Json row = {{"stack", group.stack},
                {"kind", group.label},
                {"apart", group.apart},
                {"layers", group.layers.size()},
                {"first_layer", group.layers.front()}};
    if (group.kind_label != group.label) row["one_of"] = group.kind_label;
    for (const spec::BoundDim& dim : group.dims) row["dims"][dim.name] = json_value(dim.value);
    out["groups"].push_back(std::move(row));
  }
  return out;
}

int inspect(const std::string& model, const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const Session>> session = open_session(model, options);
  if (!session) return no_answer(session.faults(), options, out, err);
  if (options.json)
    print_json(out, inspect_json(**session));
  else
    print_text(**session, out);
  const guard::Report& report = (*session)->report;
  if (!options.json) {
    print_faults(err, report.faults);
    print_advice(err, report.advice, 5);
  }
  if (report.verdict == guard::Verdict::kWrong) return kWrong;
  return report.bill ? kVerified : kNotVerifiable;
}

}  // namespace archlight::cli
