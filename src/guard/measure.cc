#include "guard/measure.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/file.h"

namespace archlight::guard {
namespace {

using base::Result;

constexpr size_t kMaxSpec = size_t{1} << 20;

using Bills = std::map<std::string, std::string>;

Bills quantities_of(const Report& report) {
  Bills out;
  if (report.bill)
    for (const analysis::Quantity& quantity : report.bill->quantities)
      out.emplace(quantity.key, expr::to_text(quantity.value));
  return out;
}

// A file's mutant against one subject's evidence.
struct Job {
  size_t mutant = 0;
  std::vector<size_t> subjects;
};

struct Outcome {
  bool refused = false;
  bool changed = false;
  std::set<std::string> fired, advised;
  Survivor first;
};

// What each piece of evidence says while nothing is wrong.
struct Baseline {
  std::set<std::string> known;  // faults that are there anyway: a record that is itself wrong
  Bills bill;
};

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
  return verify(library, std::make_shared<const spec::Binding>(std::move(*binding)), truth);
}

class Measurer {
 public:
  Measurer(std::string specs, const std::vector<MeasuredModel>& subjects, const MeasureOptions& options)
      : specs_(std::move(specs)), subjects_(subjects), options_(options) {}

  Result<Measured> run() {
    Result<std::shared_ptr<spec::Library>> library = spec::Library::open(specs_);
    if (!library) return library.faults();
    if (base::Faults faults = baselines(*library); !faults.empty()) return faults;
    if (base::Faults faults = jobs(**library); !faults.empty()) return faults;
    outcomes_.resize(jobs_.size());
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.threads); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (!faults_.empty()) return faults_;
    return collected();
  }

 private:
  // Also finds which files each subject rests on.
  base::Faults baselines(const std::shared_ptr<const spec::Library>& library) {
    for (size_t s = 0; s < subjects_.size(); ++s) {
      const MeasuredModel& subject = subjects_[s];
      baselines_.emplace_back();
      used_["models/" + subject.model + ".yaml"].insert(s);
      for (const Evidence& evidence : subject.evidence) {
        const Report report = report_of(library, evidence.truth);
        Baseline base;
        for (const base::Faults& faults : {report.faults, report.advice})
          for (const base::Diagnostic& fault : faults) base.known.insert(key_of(fault));
        base.bill = quantities_of(report);
        baselines_.back().push_back(std::move(base));
        if (!report.bill) continue;
        for (const auto* analysis : {report.bill->prefill.get(), report.bill->decode.get()})
          for (const graph::Call& call : analysis->tree->calls)
            for (const spec::Component* component : {call.component, call.stored})
              used_[std::string(component->draft ? "components/drafts/" : "components/library/") +
                    component->name + ".yaml"]
                  .insert(s);
        for (const analysis::StoredTensor& tensor : report.bill->storage.tensors)
          if (tensor.present && tensor.scheme != "none") used_["quant/" + tensor.scheme + ".yaml"].insert(s);
      }
    }
    return {};
  }

  base::Faults jobs(const spec::Library& library) {
    for (const auto& [file, subjects] : used_) {
      Result<std::string> text = base::read_file(specs_ + "/" + file, kMaxSpec);
      if (!text) return text.faults();
      Names names;
      std::set<std::string> dims;
      for (size_t s : subjects)
        for (const spec::DimDecl& dim : library.models().at(subjects_[s].model).dims)
          if (dims.insert(dim.name).second) names.dims.push_back(dim.name);
      for (const auto& [other, users] : used_)
        if (other.starts_with("components/") && std::ranges::includes(users, subjects)) {
          const size_t slash = other.rfind('/');
          names.components.push_back(other.substr(slash + 1, other.size() - slash - 6));
        }
      for (const auto& [role, unused] : library.roles()) names.roles.push_back(role);
      std::set<std::string> adapters;
      for (const auto& [name, model] : library.models())
        adapters.insert(model.adapters.begin(), model.adapters.end());
      names.adapters.assign(adapters.begin(), adapters.end());
      for (Mutant& mutant : mutants_of(file, *text, names)) {
        jobs_.push_back({mutants_.size(), {subjects.begin(), subjects.end()}});
        mutants_.push_back(std::move(mutant));
      }
    }
    return {};
  }

  void work() {
    // Components load when first asked for, so each thread has a library of its own.
    Result<std::shared_ptr<spec::Library>> library = spec::Library::open(specs_);
    if (!library) {
      const std::lock_guard lock(mutex_);
      faults_ = library.faults();
      return;
    }
    for (size_t job = next_++; job < jobs_.size(); job = next_++) {
      outcomes_[job] = outcome(**library, jobs_[job]);
      if (options_.progress) {
        const std::lock_guard lock(mutex_);
        options_.progress(++done_, static_cast<int64_t>(jobs_.size()));
      }
    }
  }

  Outcome outcome(const spec::Library& library, const Job& job) const {
    const Mutant& mutant = mutants_[job.mutant];
    Outcome out;
    const Result<std::shared_ptr<spec::Library>> changed = library.with({{mutant.file, mutant.text}});
    if (!changed) {
      out.refused = out.changed = true;
      return out;
    }
    for (size_t s : job.subjects)
      for (size_t e = 0; e < subjects_[s].evidence.size(); ++e) {
        const Evidence& evidence = subjects_[s].evidence[e];
        const Baseline& base = baselines_[s][e];
        const Report report = report_of(*changed, evidence.truth);
        for (const base::Diagnostic& fault : report.faults)
          if (!base.known.contains(key_of(fault))) out.fired.insert(fault.guard);
        for (const base::Diagnostic& advice : report.advice)
          if (!base.known.contains(key_of(advice))) out.advised.insert(advice.guard);
        const Bills bill = quantities_of(report);
        if (bill == base.bill) continue;
        if (!out.changed) {
          out.changed = true;
          out.first = {mutant.file, mutant.what, {}, {}, {}, evidence.name, {}};
          for (const auto& [key, value] : base.bill) {
            const auto now = bill.find(key);
            if (now != bill.end() && now->second == value) continue;
            out.first.changes = key;
            out.first.before = value;
            out.first.after = now == bill.end() ? "none" : now->second;
            break;
          }
          if (out.first.changes.empty())
            for (const auto& [key, value] : bill)
              if (!base.bill.contains(key)) out.first.changes = key, out.first.after = value;
        }
        // Two guards that fire answer every question that the table asks.
        if (out.fired.size() > 1) return out;
      }
    return out;
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
      auto& [made, caught] = out.kinds[mutant.kind()];
      ++made;
      if (outcome.refused) {
        ++out.refused;
        ++caught;
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
      ++caught;
      for (const std::string& guard : outcome.fired) {
        Measured::Row& row = out.guards[guard];
        ++row.fires;
        if (outcome.fired.size() == 1) {
          ++row.alone;
          ++row.alone_by_kind[mutant.kind()];
        }
      }
    }
    for (const MeasuredModel& subject : subjects_)
      if (subject.evidence.empty()) out.without_evidence.push_back(subject.model);
    return out;
  }

  const std::string specs_;
  const std::vector<MeasuredModel>& subjects_;
  const MeasureOptions& options_;
  std::map<std::string, std::set<size_t>> used_;  // file under specs/ -> subjects that rest on it
  std::vector<std::vector<Baseline>> baselines_;  // by subject and evidence
  std::vector<Mutant> mutants_;
  std::vector<Job> jobs_;
  std::vector<Outcome> outcomes_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  int64_t done_ = 0;
  base::Faults faults_;
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
