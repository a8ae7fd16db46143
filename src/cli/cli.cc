#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/yaml.h"
#include "cli/commands.h"
#include "guard/guards.h"

namespace archlight::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// A wrong command or option names the nearest right one, as every other wrong name does.
base::Diagnostic usage_fault(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  std::string path = "archlight";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands()[0];
    path += " " + command->get_name();
  }
  const auto unknown = [&](const std::string& what, const std::string& name,
                           const std::vector<std::string>& known) {
    return base::fault_at({}, "unknown " + what + " '" + name + "'", "one of " + joined(known),
                          base::did_you_mean(name, known));
  };
  std::vector<std::string> commands, options;
  for (const CLI::App* each : command->get_subcommands({})) commands.push_back(each->get_name());
  for (const CLI::Option* each : command->get_options())
    for (const std::string& name : each->get_lnames()) options.push_back("--" + name);
  const std::vector<std::string> extra = app.remaining(true);
  if (!commands.empty())
    for (size_t i = command == &app ? 0 : 1; i < arguments.size(); ++i)
      if (!arguments[i].starts_with('-')) return unknown("command", arguments[i], commands);
  for (const std::string& argument : extra)
    if (argument.starts_with("-")) return unknown("option", argument.substr(0, argument.find('=')), options);
  return base::fault_at({}, error.what(), {}, "see '" + path + " --help'");
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{
      "What a model is made of and what it costs to serve, every number with its formula and the fact it "
      "rests on."};
  app.name("archlight");
  app.require_subcommand(1);
  app.footer(
      "Status: 0 verified or answered, 1 checked and wrong, 2 usage or input error, 3 not verifiable here.\n"
      "MODEL is a hub id (org/name), a local folder, a .safetensors or .gguf file, org/name/file.gguf, or a "
      "snapshot.");
  Options options;
  GraphOptions shape;
  std::string model, quantity, target, provenance;
  std::vector<std::string> sources;
  bool latex = false, dot = false, svg = false;
  int status = kUsage;

  const auto with_specs = [&](CLI::App* command) {
    command->add_option("--specs", options.specs,
                        "a folder of your own specs, before the project's; can be said for several");
  };
  const auto common = [&](CLI::App* command, bool opens) {
    command->add_flag("--json", options.json, "print JSON, described under schemas/");
    if (!opens) return;
    command->add_flag("--offline", options.offline, "ask no network: snapshots and cache only");
    command->add_flag("--hub", options.hub_first, "ask the hub even when a snapshot exists");
    command->add_flag("--quiet", options.quiet, "no progress on stderr");
    command->add_option("--revision", options.revision, "branch, tag or commit on the hub");
    command->add_option("--without", options.without, "leave a guard out; can be said for several")
        ->check(CLI::IsMember(guard::guard_names()));
    command->add_option("--batch", options.input.batch, "requests per step")
        ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
        ->capture_default_str();
    command->add_option("--prompt", options.input.prompt, "tokens of the prefill step")
        ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
        ->capture_default_str();
    command->add_option("--context", options.input.context, "tokens that a decode step attends to")
        ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
        ->capture_default_str();
    command->add_option("--engine", options.input.engine, "whose formats and room the cache is counted in");
    command->add_option("--engine-option", options.engine_options, "NAME=NUMBER; can be said for several");
    with_specs(command);
  };

  CLI::App* inspect_cmd = app.add_subcommand(
      "inspect", "the bill: parameters, storage, cache, work of a step, and what it was checked against");
  inspect_cmd->add_option("MODEL", model)->required();
  common(inspect_cmd, true);
  const auto precision = [&](CLI::App* command) {
    command->add_option("--precision", options.precision,
                        "numbers under a precision profile: a what-if, or an engine's layout");
  };
  precision(inspect_cmd);
  inspect_cmd->callback([&] { status = inspect(model, options, out, err); });

  CLI::App* explain_cmd = app.add_subcommand(
      "explain", "one quantity's formula, with every symbol's value and where that came from");
  explain_cmd->add_option("MODEL", model)->required();
  explain_cmd->add_option("QUANTITY", quantity, "its key; none lists them all");
  explain_cmd->add_flag("--latex", latex, "formulas as LaTeX");
  common(explain_cmd, true);
  precision(explain_cmd);
  explain_cmd->callback([&] { status = explain(model, quantity, latex, options, out, err); });

  EstimateOptions deployment;
  CLI::App* estimate_cmd =
      app.add_subcommand("estimate", "what serving costs on given GPUs: memory, batch, TTFT, TPOT");
  estimate_cmd->add_option("MODEL", model)->required();
  estimate_cmd->add_option("--gpu", deployment.gpu, "a file of specs/gpus")->required();
  estimate_cmd->add_option("--plan", deployment.plan, "degrees, as in dp=8,ep=8")->required();
  estimate_cmd->add_option("--isl", deployment.input_tokens, "input tokens of a request")
      ->check(CLI::PositiveNumber);
  estimate_cmd->add_option("--osl", deployment.output_tokens, "output tokens of a request")
      ->check(CLI::PositiveNumber);
  estimate_cmd->add_option("--batch", deployment.batch, "requests of one attention group")
      ->check(CLI::PositiveNumber);
  estimate_cmd->add_option("--assumptions", deployment.assumptions, "a file of specs/assumptions")
      ->capture_default_str();
  estimate_cmd->add_option("--usd-per-gpu-hour", deployment.usd_per_gpu_hour, "price of one GPU for an hour")
      ->check(CLI::PositiveNumber);
  estimate_cmd->add_option("--ops", deployment.ops, "ops that each step's table shows, longest first")
      ->check(CLI::Range(size_t{1}, size_t{100000}))
      ->capture_default_str();
  common(estimate_cmd, false);
  estimate_cmd->callback([&] { status = estimate(model, deployment, options, out, err); });

  CLI::App* validate_cmd =
      app.add_subcommand("validate", "hold a model, or a spec file against all its snapshots");
  CLI::Option* validated = validate_cmd->add_option("MODEL|SPEC", target);
  validate_cmd->add_option("--source", options.source_folders,
                           "a folder of forward source to hold anchors against; can be said for several");
  bool anchors = false;
  validate_cmd->add_flag("--anchors", anchors, "hold the anchors of every spec, in the place of one model")
      ->excludes(validated);
  common(validate_cmd, true);
  validate_cmd->callback([&] {
    if (!anchors && target.empty()) throw CLI::RequiredError("MODEL|SPEC");
    status = anchors ? validate_anchors(options, out, err) : validate(target, options, out, err);
  });

  CLI::App* graph_cmd =
      app.add_subcommand("graph", "the computation graph, block by block, with shapes on its edges");
  graph_cmd->add_option("MODEL", model)->required();
  CLI::Option* as_dot = graph_cmd->add_flag("--dot", dot, "Graphviz source");
  graph_cmd->add_flag("--svg", svg, "a drawing")->excludes(as_dot);
  graph_cmd->add_option("--phase", shape.phase, "prefill or decode")
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->capture_default_str();
  graph_cmd->add_option("--open", shape.open, "blocks to open, by path; all");
  graph_cmd->add_option("--depth", shape.depth, "levels that are open anyway")
      ->check(CLI::Range(0, 20))
      ->capture_default_str();
  common(graph_cmd, true);
  graph_cmd->get_option("--json")->excludes(as_dot)->excludes("--svg");
  graph_cmd->callback([&] {
    shape.format = svg ? "svg" : dot ? "dot" : options.json ? "json" : "text";
    status = graph(model, shape, options, out, err);
  });

  CLI::App* models_cmd = app.add_subcommand("models", "every model at hand, its evidence, size and cache");
  common(models_cmd, false);
  with_specs(models_cmd);
  models_cmd->callback([&] { status = models(options, out, err); });
  CLI::App* ops_cmd = app.add_subcommand("ops", "the table of primitive ops");
  common(ops_cmd, false);
  ops_cmd->callback([&] { status = ops(options, out, err); });
  CLI::App* components_cmd = app.add_subcommand("components", "the component library");
  common(components_cmd, false);
  with_specs(components_cmd);
  components_cmd->callback([&] { status = components(options, out, err); });
  CLI::App* quants_cmd = app.add_subcommand("quants", "quantisation schemes and how each is stored");
  common(quants_cmd, false);
  with_specs(quants_cmd);
  quants_cmd->callback([&] { status = quants(options, out, err); });

  CLI::App* engines_cmd = app.add_subcommand("engines", "how inference engines keep a cache");
  common(engines_cmd, false);
  with_specs(engines_cmd);
  engines_cmd->callback([&] { status = engines(options, out, err); });
  CLI::App* gpus_cmd = app.add_subcommand("gpus", "accelerators as published, each number with its source");
  common(gpus_cmd, false);
  gpus_cmd->callback([&] { status = gpus(options, out, err); });

  CLI::App* precisions_cmd = app.add_subcommand(
      "precisions", "precision profiles: formats to ask 'what if' about, and engines' layouts");
  common(precisions_cmd, false);
  with_specs(precisions_cmd);
  precisions_cmd->callback([&] { status = precisions(options, out, err); });

  CLI::App* guards_cmd = app.add_subcommand("guards", "what holds a spec against what was published");
  common(guards_cmd, false);
  CLI::App* measure_cmd = guards_cmd->add_subcommand(
      "measure", "every spec with one thing wrong: which guard says so, and what none can see");
  measure_cmd->add_option("SPEC", sources, "names of model specs; all of them when none is given");
  std::string made;
  measure_cmd->add_option("--with", made,
                          "a folder of made-up checkpoints, one a folder, to hold specs against too");
  measure_cmd->add_flag("--quiet", options.quiet, "no progress on stderr");
  common(measure_cmd, false);
  guards_cmd->callback([&] {
    status =
        measure_cmd->parsed() ? guards_measure(sources, made, options, out, err) : guards(options, out, err);
  });

  CLI::App* snapshots_cmd = app.add_subcommand("snapshots", "published facts that travel with the project");
  snapshots_cmd->require_subcommand(1);
  CLI::App* add_cmd = snapshots_cmd->add_subcommand("add", "add a folder or catalogue to snapshots/");
  add_cmd->add_option("PATH", sources)->required();
  common(add_cmd, false);
  add_cmd->add_option("--provenance", provenance,
                      "where it comes from, in words that are shown with its facts");
  add_cmd->callback([&] { status = snapshots_add(sources, provenance, options, out, err); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);
    print_faults(err, {usage_fault(app, error, {argv + std::min(argc, 1), argv + argc})});
    return kUsage;
  }
  return status;
}

}  // namespace archlight::cli
