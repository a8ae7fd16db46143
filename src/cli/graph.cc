#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "cli/graph_view.h"

namespace archlight::cli {
namespace {

// Graphviz lays the drawing out; it is asked for through its command, so that the program itself starts
// without it.
base::Result<std::string> svg_of(const std::string& dot) {
  std::string folder = "/tmp/archlight-XXXXXX";
  if (const char* tmp = std::getenv("TMPDIR"); tmp && *tmp) folder = std::string(tmp) + "/archlight-XXXXXX";
  if (!mkdtemp(folder.data()))
    return base::fault_at({}, "no temporary folder can be made", "a writable TMPDIR");
  const std::string file = folder + "/graph.dot";
  std::string out;
  int status = -1;
  if (base::write_file(file, dot).empty()) {
    if (FILE* pipe = popen(("dot -Tsvg '" + file + "' 2>/dev/null").c_str(), "r")) {
      std::array<char, 65536> buffer;
      while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
      status = pclose(pipe);
    }
  }
  unlink(file.c_str());
  rmdir(folder.c_str());
  if (status != 0 || out.empty())
    return base::fault_at({}, "graphviz's 'dot' gave no drawing", "the Debian package graphviz",
                          "install it, or use --dot");
  return out;
}

}  // namespace

int graph(const std::string& model, const GraphOptions& shape, const Options& options, std::ostream& out,
          std::ostream& err) {
  base::Result<std::shared_ptr<const Session>> session = open_session(model, options);
  if (!session) return no_answer(session.faults(), options, out, err);
  if (!(*session)->report.bill) return no_bill(**session, options, out, err);
  const analysis::Bill& bill = *(*session)->report.bill;
  if (shape.phase == "decode" && !bill.decodes())
    return no_answer(
        {base::fault_at(bill.binding->model->at,
                        "model '" + bill.binding->model->name + "' has no decode phase", "--phase prefill")},
        options, out, err);
  base::Result<GraphView> view =
      make_view(shape.phase == "decode" ? *bill.decode : *bill.prefill, shape.open, shape.depth);
  if (!view) return no_answer(view.faults(), options, out, err);
  const std::string title = shown_name(**session) + ", " + shape.phase;
  if (shape.format == "json" || options.json) {
    base::Json body = view_json(*view);
    body["schema"] = "archlight.graph/1";
    body["model"] = shown_name(**session);
    body["phase"] = shape.phase;
    body["evidence"] = {{"level", truth::level_name((*session)->report.level)},
                        {"verdict", guard::verdict_name((*session)->report.verdict)}};
    print_json(out, body);
  } else if (shape.format == "dot") {
    out << view_dot(*view, title);
  } else if (shape.format == "svg") {
    base::Result<std::string> svg = svg_of(view_dot(*view, title));
    if (!svg) return no_answer(svg.faults(), options, out, err);
    out << *svg;
  } else {
    out << title << "\n" << view_text(*view);
  }
  return (*session)->report.verdict == guard::Verdict::kWrong ? kWrong : kVerified;
}

}  // namespace archlight::cli
