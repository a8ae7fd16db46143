#include "guard/measure.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"

namespace archlight::guard {
namespace {

using base::Result;
using truth::Level;

constexpr size_t kMaxSpec = size_t{1} << 20;
constexpr size_t kMostFirst = 6;  // cases that every mutant of a file meets

using Bills = std::map<std::string, std::string>;
using Features = std::map<std::string, std::set<std::string>>;  // file -> what is exercised of it

Bills quantities_of(const Report& report) {
  Bills out;
  if (report.bill)
    for (const analysis::Quantity& quantity : report.bill->quantities)
      out.emplace(quantity.key, expr::to_text(quantity.value));
  return out;
}

// One piece of evidence, and what it says while nothing is wrong.
struct Case {
  size_t subject = 0;
  const Evidence* evidence = nullptr;
  std::set<std::string> known;  // faults that are there anyway: a record that is itself wrong
  Bills bill;
  Features features;
  size_t cost = 0;

  std::pair<int, size_t> order() const { return {-static_cast<int>(evidence->truth.level), cost}; }
};

struct Job {
  size_t mutant = 0;
  const std::vector<size_t>*first = nullptr, *rest = nullptr;  // cases
};

struct Outcome {
  bool refused = false;
  bool changed = false;
  std::set<std::string> fired, advised;
  Survivor first;
};

// Of a level plus one; 0 is none.
std::string level_text(int published) {
  return published == 0 ? "none" : std::string(truth::level_name(static_cast<Level>(published - 1)));
}

std::string key_of(const base::Diagnostic& fault) {
  return fault.guard + '\n' + fault.wrong + '\n' + fault.expected;
}

Report report_of(const std::shared_ptr<const spec::Library>& library, const truth::Truth& truth) {
  Report report;
  const auto refuse = [&](base::Faults faults) {
    for (base::Diagnostic& fault : faults) {
      if (fault.guard.empty()) fault.guard = "load";
      report.faults.push_back(std::move(fault));
    }
    report.verdict = Verdict::kWrong;
  };
  Result<const spec::Model*> model = library->model_for(*truth.config);
  if (!model) {
    refuse(model.faults());
    return report;
  }
  Result<spec::Binding> binding = spec::bind(**model, truth.config, truth.quant_config);
  if (!binding) {
    refuse(binding.faults());
    return report;
  }
  if (base::Faults faults = library->check_values(*binding); !faults.empty()) {
    refuse(std::move(faults));
    return report;
  }
  return verify(library, std::make_shared<const spec::Binding>(std::move(*binding)), truth, kMeasuredInput);
}

std::string file_of(const spec::Component& component) {
  return std::string(component.draft ? "components/drafts/" : "components/library/") + component.name +
         ".yaml";
}

// ---- what a case exercises of each file

void add_names(const expr::Formula& formula, std::set<std::string>& out) {
  if (!formula.empty())
    for (const std::string& name : formula.names()) out.insert(name);
}

void add_names(const spec::NodeDecl& node, std::set<std::string>& out) {
  for (const spec::NamedFormula& named : node.dims) add_names(named.formula, out);
  for (const expr::Formula* formula :
       {&node.when, &node.bias, &node.copies, &node.active, &node.window, &node.ratio, &node.chunk})
    add_names(*formula, out);
}

// Which of a file's dims are off, which differ: a slip from one to the other shows only where they do.
void add_dims(const std::set<std::string>& names, const spec::Binding& binding, std::set<std::string>& out) {
  std::vector<const spec::BoundDim*> dims;
  for (const std::string& name : names)
    if (const spec::BoundDim* dim = binding.find(name)) dims.push_back(dim);
  for (size_t a = 0; a < dims.size(); ++a) {
    out.insert(dims[a]->name + (dims[a]->value.num == 0 ? " off" : " on"));
    for (size_t b = a + 1; b < dims.size(); ++b)
      if (!(dims[a]->value == dims[b]->value)) out.insert(dims[a]->name + " is not " + dims[b]->name);
  }
}

Features features_of(const Report& report) {
  Features out;
  if (!report.bill) return out;
  const spec::Binding& binding = *report.bill->binding;
  std::set<std::string>& own = out["models/" + binding.model->name + ".yaml"];
  for (const spec::BoundDim& dim : binding.dims)
    own.insert(dim.name + (dim.origin.starts_with("config.") ? " from a key" : " from elsewhere"));
  std::set<std::string> names;
  for (const spec::BoundDim& dim : binding.dims) names.insert(dim.name);
  add_dims(names, binding, own);
  std::map<std::string, std::set<std::string>> dims;
  for (const auto* analysis : {report.bill->prefill.get(), report.bill->decode.get()}) {
    const graph::SpecTree& tree = *analysis->tree;
    for (const graph::Group& group : tree.groups) own.insert("layers " + group.label);
    for (const graph::Call& call : tree.calls)
      for (const spec::Component* component : {call.component, call.stored}) {
        const std::string file = file_of(*component);
        out[file].insert("role " + call.role);
        if (!dims.contains(file))
          for (const spec::NodeDecl& node : component->graph) add_names(node, dims[file]);
      }
    for (const graph::Node& node : tree.nodes) {
      std::set<std::string>& at = node.call < 0 ? own : out[file_of(*tree.calls[node.call].component)];
      at.insert("node " + node.name + (node.biased ? " biased" : "") + (node.tied ? " tied" : "") +
                (node.cache ? " kept" : ""));
    }
  }
  for (const auto& [file, named] : dims) add_dims(named, binding, out[file]);
  for (const analysis::StoredTensor& tensor : report.bill->storage.tensors) {
    if (!tensor.present) continue;
    own.insert("stored as " + tensor.scheme);
    if (tensor.scheme == "none") continue;
    std::set<std::string>& at = out["quant/" + tensor.scheme + ".yaml"];
    at.insert(tensor.name.substr(tensor.name.rfind('.') + 1));
    at.insert("role " + tensor.role);
    at.insert(tensor.indices.size() > 1 ? "of copies" : "alone");
  }
  own.insert(binding.dtype ? "states its dtype" : "states no dtype");
  for (const std::string& part : report.choice.absent) own.insert("without " + part);
  return out;
}

// ---- why a survivor survives

std::string reason_of(const Bills& before, const Bills& after, Level strongest) {
  bool stored = false, kept = false;
  for (const auto& [key, value] : before)
    if (const auto now = after.find(key); now == after.end() || now->second != value) {
      stored = stored || key.starts_with("storage.") || key.starts_with("params.");
      kept = kept || key.starts_with("kv.");
    }
  if (stored && strongest == Level::kConfig) return "nothing but the config is known of its models";
  if (stored && strongest == Level::kCount) return "only a total is known of its models, and it stays";
  if (stored) return "how it is stored is told by none of its records";
  if (kept) return "what is kept is in no file";
  return "an op without weights: only the forward pass tells";
}

class Measurer {
 public:
  Measurer(std::string specs, const std::vector<MeasuredModel>& subjects, const MeasureOptions& options)
      : specs_(std::move(specs)), subjects_(subjects), options_(options) {}

  Result<Measured> run() {
    Result<std::shared_ptr<spec::Library>> library = spec::Library::open(specs_);
    if (!library) return library.faults();
    library_ = *library;
    // After this, threads only read the library.
    if (base::Faults faults = library_->load_all(); !faults.empty()) return faults;
    for (size_t s = 0; s < subjects_.size(); ++s)
      for (const Evidence& evidence : subjects_[s].evidence) cases_.push_back({s, &evidence, {}, {}, {}, 0});
    on_threads(cases_.size(), [this](size_t i) { begin(cases_[i]); });
    choose_evidence();
    if (base::Faults faults = jobs(); !faults.empty()) return faults;
    outcomes_.resize(jobs_.size());
    on_threads(jobs_.size(), [this](size_t job) {
      outcomes_[job] = outcome(jobs_[job]);
      if (!options_.progress) return;
      const std::lock_guard lock(mutex_);
      options_.progress(++done_, static_cast<int64_t>(jobs_.size()));
    });
    return collected();
  }

 private:
  void on_threads(size_t count, const std::function<void(size_t)>& work) const {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.threads); ++i)
      threads.emplace_back([&] {
        for (size_t at = next++; at < count; at = next++) work(at);
      });
    for (std::thread& thread : threads) thread.join();
  }

  void begin(Case& at) const {
    const Report report = report_of(library_, at.evidence->truth);
    for (const base::Faults& faults : {report.faults, report.advice})
      for (const base::Diagnostic& fault : faults) at.known.insert(key_of(fault));
    at.bill = quantities_of(report);
    at.features = features_of(report);
    at.features["models/" + subjects_[at.subject].model + ".yaml"];
    // What an evaluation costs: nodes, tensors, and words of the declaration that each module is held against.
    if (report.bill) at.cost = report.bill->prefill->tree->nodes.size() * 20;
    at.cost += at.evidence->truth.tensors.size() + at.evidence->truth.names.size();
    if (const auto declared = at.evidence->truth.config->find("quantization_config");
        declared != at.evidence->truth.config->end())
      at.cost += declared->dump().size();
  }

  void choose_evidence() {
    std::vector<size_t> order(cases_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return cases_[i].order(); });
    for (size_t i : order)
      for (const auto& [file, features] : cases_[i].features) {
        std::set<std::string>& seen = shown_[file];
        const size_t before = seen.size();
        if (first_[file].size() < kMostFirst) seen.insert(features.begin(), features.end());
        if (seen.size() > before) {
          first_[file].push_back(i);
        } else if (std::ranges::none_of(rest_[file], [&](size_t other) {
                     return cases_[other].subject == cases_[i].subject;
                   })) {
          rest_[file].push_back(i);
        }
        users_[file].insert(cases_[i].subject);
        if (!cases_[i].evidence->made)
          published_[file] =
              std::max(published_[file], static_cast<int>(cases_[i].evidence->truth.level) + 1);
      }
    for (const MeasuredModel& subject : subjects_)
      if (subject.evidence.empty()) first_["models/" + subject.model + ".yaml"];
  }

  Names names_for(const std::string& file) {
    Names names;
    std::set<size_t> users = users_[file];
    if (users.empty())
      for (size_t s = 0; s < subjects_.size(); ++s)
        if ("models/" + subjects_[s].model + ".yaml" == file) users.insert(s);
    std::set<std::string> dims;
    for (size_t s : users)
      for (const spec::DimDecl& dim : (**library_->model(subjects_[s].model)).dims)
        if (dims.insert(dim.name).second) names.dims.push_back(dim.name);
    for (const auto& [other, using_it] : users_)
      if (other.starts_with("components/") && std::ranges::includes(using_it, users)) {
        const size_t slash = other.rfind('/');
        names.components.push_back(other.substr(slash + 1, other.size() - slash - 6));
      }
    for (const auto& [role, unused] : library_->roles()) names.roles.push_back(role);
    std::set<std::string> adapters;
    for (const std::string& name : library_->model_names()) {
      const spec::Model* model = *library_->model(name);
      adapters.insert(model->adapters.begin(), model->adapters.end());
    }
    names.adapters.assign(adapters.begin(), adapters.end());
    return names;
  }

  base::Faults jobs() {
    for (const auto& [file, cases] : first_) {
      Result<std::string> text = base::read_file(specs_ + "/" + file, kMaxSpec);
      if (!text && file.starts_with("quant/")) continue;  // one of several schemes of a file
      if (!text) return text.faults();
      for (Mutant& mutant : mutants_of(file, *text, names_for(file))) {
        jobs_.push_back({mutants_.size(), &cases, &rest_[file]});
        mutants_.push_back(std::move(mutant));
      }
    }
    return {};
  }

  Outcome outcome(const Job& job) const {
    const Mutant& mutant = mutants_[job.mutant];
    Outcome out;
    const Result<std::shared_ptr<spec::Library>> changed = library_->with({{mutant.file, mutant.text}});
    if (!changed) {
      out.refused = out.changed = true;
      return out;
    }
    // Two guards that fire answer every question that the table asks.
    for (size_t i : *job.first)
      if (!out.changed || out.fired.size() < 2) hold(mutant, *changed, cases_[i], *job.first, out);
    if (out.changed)
      for (size_t i : *job.rest)
        if (out.fired.empty()) hold(mutant, *changed, cases_[i], *job.first, out);
    return out;
  }

  void hold(const Mutant& mutant, const std::shared_ptr<const spec::Library>& library, const Case& at,
            const std::vector<size_t>& first, Outcome& out) const {
    const Report report = report_of(library, at.evidence->truth);
    for (const base::Diagnostic& fault : report.faults)
      if (!at.known.contains(key_of(fault))) out.fired.insert(fault.guard);
    for (const base::Diagnostic& advice : report.advice)
      if (!at.known.contains(key_of(advice))) out.advised.insert(advice.guard);
    const Bills bill = quantities_of(report);
    if (out.changed || bill == at.bill) return;
    out.changed = true;
    const Level strongest = first.empty() ? Level::kConfig : cases_[first[0]].evidence->truth.level;
    out.first.file = mutant.file;
    out.first.what = mutant.what;
    out.first.evidence = at.evidence->name;
    out.first.reason = reason_of(at.bill, bill, strongest);
    for (const auto& [key, value] : at.bill) {
      const auto now = bill.find(key);
      if (now != bill.end() && now->second == value) continue;
      out.first.changes = key;
      out.first.before = value;
      out.first.after = now == bill.end() ? "none" : now->second;
      return;
    }
    for (const auto& [key, value] : bill)
      if (!at.bill.contains(key)) out.first.changes = key, out.first.before = "none", out.first.after = value;
  }

  Measured collected() const {
    Measured out;
    out.mutants = static_cast<int64_t>(mutants_.size());
    for (size_t job = 0; job < jobs_.size(); ++job) {
      const Mutant& mutant = mutants_[jobs_[job].mutant];
      const Outcome& outcome = outcomes_[job];
      if (!outcome.changed) {
        ++out.unchanged;
        continue;
      }
      Share& kind = out.kinds[mutant.kind()];
      const auto published = published_.find(mutant.file);
      Share& level = out.levels[level_text(published == published_.end() ? 0 : published->second)];
      ++kind.made, ++level.made;
      if (outcome.refused) {
        ++out.refused;
        ++kind.caught, ++level.caught;
        continue;
      }
      for (const std::string& guard : outcome.advised)
        if (!outcome.fired.contains(guard)) {
          out.guards[guard].advises = true;
          ++out.guards[guard].fires;
        }
      if (outcome.fired.empty()) {
        out.survivors.push_back(outcome.first);
        std::string& advised = out.survivors.back().advised;
        for (const std::string& guard : outcome.advised) advised += (advised.empty() ? "" : ", ") + guard;
        continue;
      }
      ++out.caught;
      ++kind.caught, ++level.caught;
      for (const std::string& guard : outcome.fired) {
        Measured::Row& row = out.guards[guard];
        ++row.fires;
        if (outcome.fired.size() == 1) {
          ++row.alone;
          ++row.alone_by_kind[mutant.kind()];
        }
      }
    }
    for (const MeasuredModel& subject : subjects_) {
      if (subject.evidence.empty()) {
        out.without_evidence.push_back(subject.model);
        continue;
      }
      const auto published = published_.find("models/" + subject.model + ".yaml");
      out.best[level_text(published == published_.end() ? 0 : published->second)].push_back(subject.model);
    }
    return out;
  }

  const std::string specs_;
  const std::vector<MeasuredModel>& subjects_;
  const MeasureOptions& options_;
  std::shared_ptr<spec::Library> library_;
  std::vector<Case> cases_;
  std::map<std::string, std::set<std::string>> shown_;       // by file, features of the chosen cases
  std::map<std::string, std::vector<size_t>> first_, rest_;  // by file, cases: see the header
  std::map<std::string, int> published_;                     // by file, the strongest level plus one; 0: none
  std::map<std::string, std::set<size_t>> users_;            // by file, subjects
  std::vector<Mutant> mutants_;
  std::vector<Job> jobs_;
  std::vector<Outcome> outcomes_;
  std::mutex mutex_;
  int64_t done_ = 0;
};

}  // namespace

int64_t Measured::number_changing() const {
  return refused + caught + static_cast<int64_t>(survivors.size());
}

int64_t Measured::caught_without(const std::string& guard) const {
  const auto row = guards.find(guard);
  return refused + caught - (row == guards.end() ? 0 : row->second.alone);
}

Result<Measured> measure(const std::string& specs, const std::vector<MeasuredModel>& subjects,
                         const MeasureOptions& options) {
  return Measurer(specs, subjects, options).run();
}

}  // namespace archlight::guard
