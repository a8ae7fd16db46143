#include "guard/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "guard/count.h"
#include "guard/formats.h"
#include "guard/head.h"
#include "guard/internal/claims.h"
#include "guard/weight.h"

namespace archlight::guard {
namespace {

using analysis::Bill;
using analysis::StorageChoice;
using analysis::StoredTensor;
using base::Dtype;
using base::Int128;
using truth::Level;

// Header bytes that one tensor's entry takes: short names and shapes to long ones.
constexpr Int128 kLeastHeader = 40, kMostHeader = 400;
constexpr double kUsualHeader = 120;
// Bytes of a tensor of variable length: a short JSON text.
constexpr Int128 kLeastVariable = 20, kMostVariable = 1000;
constexpr size_t kMostParts = 4;  // whose presence one total is asked to decide

class Verifier {
 public:
  Verifier(std::shared_ptr<const spec::Library> library, std::shared_ptr<const spec::Binding> binding,
           const truth::Truth& truth, const analysis::BillInput& input, const std::set<std::string>& without)
      : library_(std::move(library)),
        binding_(std::move(binding)),
        truth_(truth),
        names_(truth),
        input_(input),
        without_(without) {
    report_.level = truth.level;
    report_.partial = truth.partial;
  }

  Report run() {
    for (const Guard& guard : guards()) {
      const bool off = without_.contains(std::string(guard.name));
      report_.guards.push_back({.name = std::string(guard.name),
                                .strength = guard.strength,
                                .not_run = off ? "switched off" : "the spec cannot be evaluated"});
      if (off && guard.strength == Strength::kBlocks) not_verifiable_ = true;
    }
    // Where tensors are known they say how they are stored, whatever is declared.
    report_.choice.tensors_decide = truth_.level == Level::kHeader || truth_.level == Level::kIndex;
    bool evaluated = evaluate(report_.choice);
    if (evaluated) {
      choose_names_and_parts();
      evaluated = evaluate(report_.choice);
    }
    if (evaluated && report_.choice.tensors_decide) {
      SeenFormats formats = formats_seen(*report_.bill, truth_, names_);
      // A GGUF file declares nothing: its types are its own word.
      if (binding_->adapter.empty())
        for (const std::string& difference : formats.differences) advise(difference);
      else
        say_types();
      report_.choice.seen = std::move(formats.seen);
      evaluated = evaluate(report_.choice);
    }
    if (evaluated)
      for (const std::string& text : report_.bill->storage.disagreements) advise(text);
    if (evaluated) symbols_agree();
    const Subject subject{*library_, *binding_, truth_, report_.bill.get(), formulas_.get()};
    for (const Guard& guard : guards()) {
      if (!guard.run || (guard.needs_bill && !evaluated) || off(guard.name)) continue;
      Findings found;
      found.ran = true;
      guard.run(subject, found);
      record(guard.name, found);
    }
    if (evaluated) hold_against_files();
    return finish();
  }

 private:
  bool off(std::string_view name) const { return without_.contains(std::string(name)); }
  GuardRun& row(std::string_view name) { return *std::ranges::find(report_.guards, name, &GuardRun::name); }

  void skip(std::string_view name, std::string why) {
    if (!row(name).ran && !off(name)) row(name).not_run = std::move(why);
  }

  void record(std::string_view name, int64_t checks, const base::Faults& faults) {
    record(name, {.ran = true, .checks = checks, .faults = faults});
  }

  void record(std::string_view name, const Findings& found) {
    if (off(name)) return;
    GuardRun& run = row(name);
    run.ran = run.ran || found.ran;
    run.checks += found.checks;
    run.not_run = run.ran ? std::string() : found.not_run;
    run.faults += take(&report_.faults, found.faults, name);
    run.open += take(&report_.faults, found.open, "not_verifiable");
    run.advice += take(&report_.advice, found.advice, name);
  }

  void say_types() {
    std::map<std::string, int64_t> types;
    for (size_t i = 0; i < truth_.tensors.size(); ++i)
      types[std::string(base::dtype_name(truth_.tensors.dtype(i)))] += 1;
    std::string text;
    for (const auto& [name, count] : types)
      text += (text.empty() ? "" : ", ") + fmt::format("{} {}", base::with_commas(count), name);
    report_.remarks.push_back("tensors by type: " + text);
  }

  // How a checkpoint is stored, otherwise than it says of itself.
  void advise(const std::string& text) {
    Findings found;
    found.advice.push_back({{std::make_shared<base::SourceText>(
                                 base::SourceText{truth_.repo.empty() ? truth_.origin : truth_.repo, {}}),
                             0, 0, 0},
                            text,
                            {},
                            {},
                            "packing"});
    record("packing", found);
  }

  // One fault met again in another evaluation is one fault.
  static int64_t take(base::Faults* to, const base::Faults& from, std::string_view guard) {
    int64_t taken = 0;
    for (base::Diagnostic fault : from) {
      if (fault.guard.empty()) fault.guard = guard;
      const std::string text = fault.message();
      if (std::ranges::any_of(*to, [&](const base::Diagnostic& known) { return known.message() == text; }))
        continue;
      to->push_back(std::move(fault));
      ++taken;
    }
    return taken;
  }

  // The level's own comparison, and with it the choices that only files can make.
  void hold_against_files() {
    say_open_scope();
    switch (truth_.level) {
      case Level::kHeader:
        header();
        break;
      case Level::kIndex:
        index();
        break;
      case Level::kCount:
        count();
        sizes();
        break;
      case Level::kConfig:
        sizes();
        skip("weight", "nothing but the config is known of this checkpoint");
        skip("packing", "nothing but the config is known of this checkpoint");
        break;
    }
  }

  bool evaluate(const StorageChoice& choice) {
    if (report_.bill && choice == evaluated_) return true;
    base::Result<std::shared_ptr<const Bill>> bill =
        analysis::make_bill(library_, binding_, analysis::Dims::kNumbers, input_, choice);
    if (bill) {
      report_.bill = *bill;
      evaluated_ = choice;
      return true;
    }
    // A fault of evaluating is the guard's that it names; the analysis guard's where it names none.
    record("shape", 0, {});
    for (const base::Diagnostic& fault : bill.faults()) {
      if (fault.guard == "not_verifiable")
        take(&report_.faults, {fault}, "not_verifiable");
      else
        record(find_guard(fault.guard) ? fault.guard : "analysis", 0, {fault});
    }
    return false;
  }

  // Sizes that fit by chance of their numbers must fit as symbols too.
  void symbols_agree() {
    record("shape",
           static_cast<int64_t>(report_.bill->prefill->tree->nodes.size() +
                                report_.bill->decode->tree->nodes.size()),
           {});
    base::Result<std::shared_ptr<const Bill>> symbolic =
        analysis::make_bill(library_, binding_, analysis::Dims::kFormulas, input_, report_.choice);
    if (symbolic)
      formulas_ = *symbolic;
    else
      record("shape", 0, symbolic.faults());
  }

  void compare(std::string what, std::string unit, Int128 ours, Int128 published, std::string source,
               bool blocks) {
    report_.comparisons.push_back({what, unit, ours, published, source, {}, std::nullopt});
    if (ours == published) {
      record("weight", 1, {});
    } else if (blocks) {
      const Int128 off = ours - published;
      record("weight", 1,
             {{{std::make_shared<base::SourceText>(base::SourceText{source, {}}), 0, 0, 0},
               what + " are " + base::with_commas(published) + " as published",
               base::with_commas(ours) + " by the spec, " + base::with_commas(off < 0 ? -off : off) +
                   (off < 0 ? " fewer" : " more"),
               {},
               "weight"}});
    } else {
      report_.remarks.push_back(
          fmt::format("{} ({}) are {} by the spec and {} there; the stronger evidence above decides", what,
                      source, base::with_commas(ours), base::with_commas(published)));
    }
  }

  Int128 total(auto value_of) const {
    Int128 sum = 0;
    for (const StoredTensor& tensor : report_.bill->storage.tensors)
      if (tensor.present) sum += value_of(tensor);
    return sum;
  }
  Int128 stored_bytes() const {
    return total([](const StoredTensor& t) { return (t.bytes() * t.count).integer().value_or(0); });
  }

  // Whose names the checkpoint has, and which optional parts of the model it stores: its tensors' names say so, or
  // a total that exactly one choice of parts meets.
  void choose_names_and_parts() {
    const spec::Model& model = *binding_->model;
    const bool named = names_.size() > 0;
    if (named && !truth_.partial && model.adapters.size() < 2) miss_heads();
    if (model.adapters.size() < 2 && model.optional.empty()) return;
    if (named)
      choose_by_names();
    else if (truth_.recorded_elements && truth_.level == Level::kCount)
      choose_parts_by_total();
    if (named && !truth_.partial && model.adapters.size() >= 2) miss_heads();
    for (const std::string& part : report_.choice.absent)
      report_.remarks.push_back("stores nothing of " + part +
                                ", which not every checkpoint of this architecture has");
  }

  // A checkpoint without a head whose config says outright that it is not tied embeds, and generates nothing.
  void miss_heads() {
    // The names may be another adapter's than those that the bill was made with.
    std::optional<analysis::Storage> named;
    if (!(report_.choice == evaluated_)) {
      base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, report_.choice);
      if (!storage) return;
      named = std::move(*storage);
    }
    const analysis::Storage& storage = named ? *named : report_.bill->storage;
    for (const std::string& path : heads_missing(*report_.bill, storage, names_)) {
      report_.choice.absent_modules.insert(path);
      Findings found;
      found.advice.push_back(
          {{std::make_shared<base::SourceText>(
                base::SourceText{truth_.repo.empty() ? truth_.origin : truth_.repo, {}}),
            0, 0, 0},
           "no tensor of '" + path + "' is stored, and the config says that it is not tied",
           "a head, or a config that ties it",
           "it is taken as a model without a head, which embeds and generates nothing",
           "weight"});
      record("weight", found);
    }
  }

  void choose_by_names() {
    const spec::Model& model = *binding_->model;
    size_t most = 0;
    std::set<std::string> held;
    for (const std::string& adapter :
         model.adapters.empty() ? std::vector<std::string>{""} : model.adapters) {
      StorageChoice choice = report_.choice;
      choice.adapter = adapter;
      base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, choice);
      if (!storage) continue;
      internal::Claims claims(*storage, names_);
      size_t claimed = 0;
      std::set<std::string> parts;
      for (size_t i = 0; i < names_.size(); ++i)
        if (const internal::Claim* claim = claims.take(i)) {
          ++claimed;
          parts.insert(storage->tensors[claim->row].apart);
        }
      if (claimed <= most) continue;
      most = claimed;
      held = std::move(parts);
      report_.choice.adapter = adapter;
    }
    if (most > 0 && !truth_.partial)
      for (const std::string& part : model.optional)
        if (stores(part) && !held.contains(part)) report_.choice.absent.insert(part);
    if (!model.adapters.empty() && !report_.choice.adapter.empty() &&
        report_.choice.adapter != model.adapters[0])
      report_.remarks.push_back("named as adapter '" + report_.choice.adapter + "' says");
  }

  void choose_parts_by_total() {
    std::vector<std::string> parts;
    for (const std::string& part : binding_->model->optional)
      if (stores(part)) parts.push_back(part);
    if (parts.size() > kMostParts) return;
    const spec::Counting& counting = library_->counting();
    std::vector<std::set<std::string>> fits, after_rules;
    for (size_t mask = 0; mask < size_t{1} << parts.size(); ++mask) {
      StorageChoice choice = report_.choice;
      for (size_t i = 0; i < parts.size(); ++i)
        if (mask >> i & 1) choice.absent.insert(parts[i]);
      base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, choice);
      const auto meets = [&](const spec::CountList* alternative) {
        return !combinations_for(*storage, counting, alternative, *truth_.recorded_elements).empty();
      };
      if (!storage) continue;
      if (meets(nullptr)) fits.push_back(choice.absent);
      if (std::ranges::any_of(counting.alternatives,
                              [&](const spec::CountList& list) { return meets(&list); }))
        after_rules.push_back(choice.absent);
    }
    if (fits.empty()) fits = std::move(after_rules);
    if (fits.size() == 1) report_.choice.absent = fits[0];
  }

  bool stores(const std::string& part) const {
    return std::ranges::any_of(report_.bill->prefill->params,
                               [&](const analysis::Param& param) { return param.apart == part; });
  }

  // Which optional tensors the checkpoint's names hold.
  std::set<std::string> optional_present() const {
    std::set<std::string> out;
    internal::Claims claims(report_.bill->storage, names_);
    for (size_t i = 0; i < names_.size(); ++i)
      if (const internal::Claim* claim = claims.take(i)) {
        const StoredTensor& tensor = report_.bill->storage.tensors[claim->row];
        if (tensor.optional) out.insert(tensor.name);
      }
    return out;
  }

  // Optional tensors that turned out to be stored, said once per suffix.
  void say_present() {
    std::map<std::string, std::pair<std::string, size_t>> suffixes;
    for (const std::string& name : report_.choice.present) {
      const auto tensor = std::ranges::find(report_.bill->storage.tensors, name, &StoredTensor::name);
      if (tensor == report_.bill->storage.tensors.end()) continue;
      if (tensor->tied) {
        report_.remarks.push_back("stores " + name + ", a copy of the tied embedding table");
        continue;
      }
      auto& row = suffixes[name.substr(name.rfind('.') + 1)];
      if (row.second++ == 0) row.first = name;
    }
    for (const auto& [suffix, row] : suffixes)
      report_.remarks.push_back(
          "stores " + row.first +
          (row.second > 1 ? fmt::format(" and {} more of '{}'", row.second - 1, suffix) : "") +
          ", which not every exporter writes");
  }

  void header() {
    choose_from_header();
    if (!evaluate(report_.choice)) return;
    say_present();
    const TensorFaults found =
        check_tensors(*report_.bill, truth_.tensors, names_,
                      truth_.repo.empty() ? truth_.origin : truth_.repo, truth_.partial);
    record("weight", found.weight_checks, found.weight);
    record("packing", found.packing_checks, found.packing);
    if (!truth_.partial) {
      compare("stored bytes", "bytes", stored_bytes() + found.variable_bytes, truth_.tensors.total_bytes(),
              "the tensor headers", true);
      if (truth_.index_total_bytes)
        compare("stored bytes", "bytes", stored_bytes() + found.variable_bytes, *truth_.index_total_bytes,
                "metadata.total_size of the index", false);
      recorded(false);
    }
  }

  // Which optional tensors there are; and where the config's dtype or a scheme's first dtype is not what the
  // files hold, the files win, and it is said.
  void choose_from_header() {
    const std::vector<StoredTensor>& tensors = report_.bill->storage.tensors;
    std::vector<std::map<Dtype, int64_t>> by_row(tensors.size());
    std::map<Dtype, int64_t> plain;
    internal::Claims claims(report_.bill->storage, names_);
    for (size_t i = 0; i < truth_.tensors.size(); ++i) {
      const internal::Claim* claim = claims.take(i);
      if (!claim) continue;
      const StoredTensor& tensor = tensors[claim->row];
      if (tensor.optional && claim->seen_count == 1) report_.choice.present.insert(tensor.name);
      if (!tensor.or_shape.empty() &&
          std::ranges::equal(truth_.tensors.shape(i), tensor.or_shape, [](uint64_t seen, expr::Expr axis) {
            return axis.integer() == static_cast<Int128>(seen);
          }))
        report_.choice.or_shaped.insert(tensor.name);
      const bool is_plain = tensor.scheme == "none" && tensor.dtypes.size() == 1 &&
                            tensor.dtypes[0] == report_.bill->storage.plain_dtype;
      if (is_plain) plain[truth_.tensors.dtype(i)] += 1;
      if (tensor.dtypes.size() > 1) by_row[claim->row][truth_.tensors.dtype(i)] += 1;
    }
    std::map<std::string, std::map<Dtype, int64_t>> seen;  // by stored name, which rows may share
    for (size_t row = 0; row < tensors.size(); ++row)
      for (const auto& [dtype, count] : by_row[row]) seen[tensors[row].name][dtype] += count;
    const auto most = [](const std::map<Dtype, int64_t>& counts) {
      return std::ranges::max_element(counts, {}, &std::pair<const Dtype, int64_t>::second)->first;
    };
    if (!plain.empty() && most(plain) != report_.bill->storage.plain_dtype) {
      report_.choice.plain_dtype = most(plain);
      say_dtype(most(plain));
    }
    for (const auto& [name, counts] : seen) report_.choice.tensor_dtype[name] = most(counts);
  }

  void say_dtype(Dtype found) {
    report_.remarks.push_back(fmt::format(
        "unquantised tensors are {} wide, not {} as {} says; the files win", base::dtype_name(found),
        base::dtype_name(report_.bill->storage.plain_dtype), report_.bill->storage.plain_dtype_origin));
  }

  void index() {
    report_.choice.present = optional_present();
    if (!evaluate(report_.choice)) return;
    const TensorFaults found =
        check_names(*report_.bill, names_, truth_.repo.empty() ? truth_.origin : truth_.repo);
    record("weight", found.weight_checks, found.weight);
    skip("packing", "an index has no dtypes or shapes; the total alone speaks for them");
    if (!truth_.index_total_bytes) {
      say_present();
      report_.remarks.push_back("the index records no total_size: names are checked, sizes are not");
      not_verifiable_ = true;
    } else {
      choose_index_dtypes(*truth_.index_total_bytes);
      if (!evaluate(report_.choice)) return;
      say_present();
      const Int128 published = *truth_.index_total_bytes;
      const spec::WriterRule* writer = writer_of(published);
      const bool refuted = !writer && total_is_refuted(published);
      compare("stored bytes", "bytes",
              writer ? counted_by(*writer) : stored_bytes() + variable_bytes(published), published,
              "metadata.total_size of the index", !refuted);
      if (writer) report_.comparisons.back().rules.push_back(writer->name);
    }
    recorded(false);
  }

  // Bytes as a writer of the index would add them up.
  Int128 counted_by(const spec::WriterRule& writer) const {
    return total([&](const StoredTensor& t) {
      const Int128 bytes = (t.bytes() * t.count).integer().value_or(0);
      if (t.dtype != writer.dtype) return bytes;
      return (t.elements() * t.count).integer().value_or(0) * writer.bits / 8;
    });
  }

  // The one that meets a total which the bytes themselves do not.
  const spec::WriterRule* writer_of(Int128 published) const {
    if (stored_bytes() == published) return nullptr;
    for (const spec::WriterRule& writer : library_->counting().index_writers)
      if (counted_by(writer) == published) return &writer;
    return nullptr;
  }

  // A total that the files cannot hold, or hold with far more than headers beside it, is not theirs; where the spec's
  // bytes are, it says nothing against the spec, and names and sizes of files are what is left.
  bool total_is_refuted(Int128 published) {
    if (!file_bytes() || stored_bytes() == published || fits_files(published) || !fits_files(stored_bytes()))
      return false;
    report_.remarks.push_back(
        fmt::format("metadata.total_size of the index is not that of these files, which hold {} bytes: the "
                    "spec's {} and {} of "
                    "headers",
                    base::with_commas(*file_bytes()), base::with_commas(stored_bytes()),
                    base::with_commas(*file_bytes() - stored_bytes())));
    bounded_total_ = true;
    return true;
  }

  // Of tensors whose length only the file knows: what is left of a total, where it can be theirs.
  Int128 variable_bytes(Int128 published) {
    const Int128 tensors =
        total([](const StoredTensor& t) { return t.variable ? t.count.integer().value_or(0) : Int128{0}; });
    const Int128 left = published - stored_bytes();
    if (tensors == 0 || left < tensors * kLeastVariable || left > tensors * kMostVariable) return 0;
    report_.remarks.push_back(
        fmt::format("{} tensors of lengths that only the files know are taken to hold the {} bytes that are "
                    "left, {:.1f} each",
                    base::with_commas(tensors), base::with_commas(left),
                    base::to_double(left) / base::to_double(tensors)));
    bounded_total_ = true;
    return left;
  }

  // Which widths the total allows: the expected ones first, then others of the plain dtype and of tensors
  // that may have several. Only a combination that meets the total to the byte is taken.
  void choose_index_dtypes(Int128 published) {
    if (stored_bytes() == published) return;
    const Dtype expected = report_.bill->storage.plain_dtype;
    std::vector<Dtype> plains = {expected};
    for (Dtype other : {Dtype::kBF16, Dtype::kF32})
      if (base::dtype_bits(other) != base::dtype_bits(expected)) plains.push_back(other);
    std::vector<const StoredTensor*> open;
    for (const StoredTensor& tensor : report_.bill->storage.tensors)
      if (tensor.present && tensor.dtypes.size() > 1 &&
          std::ranges::none_of(open, [&](const StoredTensor* t) { return t->name == tensor.name; }))
        open.push_back(&tensor);
    // Tensors of one suffix come from one exporter: they change together.
    std::map<std::string, std::vector<const StoredTensor*>> suffixes;
    for (const StoredTensor* tensor : open)
      suffixes[tensor->name.substr(tensor->name.rfind('.') + 1)].push_back(tensor);
    std::vector<StorageChoice> candidates;
    for (Dtype plain : plains) {
      StorageChoice choice = report_.choice;
      if (plain != expected) choice.plain_dtype = plain;
      candidates.push_back(choice);
    }
    for (const auto& [suffix, tensors] : suffixes) {
      std::vector<StorageChoice> next;
      for (const StorageChoice& choice : candidates)
        for (Dtype dtype : tensors[0]->dtypes) {
          StorageChoice with = choice;
          for (const StoredTensor* tensor : tensors) with.tensor_dtype[tensor->name] = dtype;
          next.push_back(std::move(with));
        }
      candidates = std::move(next);
      if (candidates.size() > 64) return;
    }
    for (const StorageChoice& choice : candidates) {
      base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, choice);
      if (!storage) continue;
      Int128 sum = 0;
      for (const StoredTensor& tensor : storage->tensors)
        if (tensor.present) sum += (tensor.bytes() * tensor.count).integer().value_or(0);
      if (sum != published) continue;
      if (!fits_files(sum)) {
        report_.remarks.push_back(
            fmt::format("{} bytes would be {} tensors, and the files hold {}: the total is not theirs",
                        base::with_commas(sum), base::dtype_name(choice.plain_dtype.value_or(expected)),
                        base::with_commas(*file_bytes())));
        continue;
      }
      report_.choice = choice;
      if (choice.plain_dtype) say_dtype(*choice.plain_dtype);
      for (const auto& [suffix, tensors] : suffixes)
        if (const Dtype taken = choice.tensor_dtype.at(tensors[0]->name); taken != tensors[0]->dtype)
          report_.remarks.push_back(
              fmt::format("'{}' tensors are as wide as {}: the only choice that meets the total", suffix,
                          base::dtype_name(taken)));
      return;
    }
  }

  void count() {
    skip("packing", "a recorded element total has no names, dtypes or shapes");
    recorded(true);
  }

  // Of all files together, where the size of each is known.
  std::optional<Int128> file_bytes() const {
    Int128 files = 0;
    for (const truth::ShardFile& shard : truth_.shards) {
      if (!shard.file_bytes) return std::nullopt;
      files += static_cast<Int128>(*shard.file_bytes);
    }
    return truth_.shards.empty() ? std::nullopt : std::optional(files);
  }

  bool fits_files(Int128 data) const {
    const std::optional<Int128> files = file_bytes();
    const auto tensors = static_cast<Int128>(truth_.names.size());
    return !files || (*files >= data && *files - data < kMostHeader * tensors + 65536);
  }

  // The files' sizes: data and headers together. A header takes about a hundred bytes per tensor, so what the
  // data leave over tells whether it can be right, and which optional tensors, dtypes and undeclared scheme
  // the files hold.
  void sizes() {
    const std::optional<Int128> known = file_bytes();
    if (!known) return;
    const Int128 files = *known;
    struct Fit {
      StorageChoice choice;
      Int128 data = 0, tensors = 0;
    };
    std::vector<Fit> fits;
    std::vector<std::string> schemes = {report_.choice.scheme};
    if (report_.bill->storage.declared_scheme.empty() && report_.level == Level::kConfig)
      for (const auto& [name, unused] : library_->quants()) schemes.push_back(name);
    for (const std::string& scheme : schemes) {
      StorageChoice base_choice = report_.choice;
      base_choice.scheme = scheme;
      base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, base_choice);
      if (!storage) continue;
      for (const StorageChoice& choice : optional_choices(*storage, base_choice)) {
        base::Result<analysis::Storage> stored = analysis::storage_of(*report_.bill->prefill, choice);
        if (!stored) continue;
        Fit fit{choice, 0, 0};
        for (const StoredTensor& tensor : stored->tensors)
          if (tensor.present) {
            fit.data += (tensor.bytes() * tensor.count).integer().value_or(0);
            fit.tensors += tensor.count.integer().value_or(0);
          }
        const Int128 headers = files - fit.data;
        if (headers > kLeastHeader * fit.tensors && headers < kMostHeader * fit.tensors + 65536)
          fits.push_back(std::move(fit));
      }
      // The declared storage comes first; other schemes only where it cannot be.
      if (scheme.empty() && !fits.empty()) break;
    }
    if (fits.empty()) {
      if (const std::optional<Bounds> bounds = bounds_of(bytes_of);
          bounds && files >= bounds->least && files <= bounds->most)
        return leave_open("the bytes of the checkpoint's files", "bytes", *bounds, files, truth_.repo);
      Int128 data = stored_bytes();
      record("weight", 1,
             {{{std::make_shared<base::SourceText>(base::SourceText{truth_.repo, {}}), 0, 0, 0},
               "the checkpoint's files hold " + base::with_commas(files) + " bytes",
               base::with_commas(data) +
                   " bytes of data by the spec, and 40 to 400 bytes of header for each tensor",
               {},
               "weight"}});
      return;
    }
    // Of several, the one whose headers are nearest to what exporters write.
    const auto off = [&](const Fit& fit) {
      return std::abs(base::to_double(files - fit.data) / base::to_double(fit.tensors) - kUsualHeader);
    };
    const Fit& fit = *std::ranges::min_element(fits, {}, off);
    const bool alone =
        std::ranges::all_of(fits, [&](const Fit& other) { return other.choice.scheme == fit.choice.scheme; });
    report_.choice = fit.choice;
    if (!evaluate(report_.choice)) return;
    record("weight", 1, {});
    sizes_agree_ = true;
    if (!fit.choice.scheme.empty())
      report_.remarks.push_back("the config declares no quantisation; the files' size fits scheme " +
                                fit.choice.scheme + (alone ? " alone" : " best"));
    say_present();
    report_.remarks.push_back(fmt::format(
        "the files hold {} bytes: the spec's {} of data and {} of headers, {:.1f} for each of {} tensors",
        base::with_commas(files), base::with_commas(fit.data), base::with_commas(files - fit.data),
        base::to_double(files - fit.data) / base::to_double(fit.tensors), base::with_commas(fit.tensors)));
  }

  // Every combination of optional tensors (tensors of one suffix come together) and of dtypes that a suffix
  // may have.
  std::vector<StorageChoice> optional_choices(const analysis::Storage& storage,
                                              const StorageChoice& from) const {
    std::vector<StorageChoice> out = {from};
    std::map<std::string, std::vector<const StoredTensor*>> suffixes;
    for (const StoredTensor& tensor : storage.tensors)
      if ((tensor.optional && !from.present.contains(tensor.name)) || tensor.dtypes.size() > 1)
        suffixes[tensor.name.substr(tensor.name.rfind('.') + 1) + (tensor.tied ? " tied" : "")].push_back(
            &tensor);
    if (report_.level == Level::kCount) return out;  // the element total has decided
    for (const auto& [suffix, tensors] : suffixes) {
      std::vector<StorageChoice> next;
      for (const StorageChoice& choice : out) {
        if (tensors[0]->optional) next.push_back(choice);
        for (Dtype dtype : tensors[0]->dtypes) {
          StorageChoice with = choice;
          for (const StoredTensor* tensor : tensors) {
            if (tensor->optional) with.present.insert(tensor->name);
            if (tensor->dtypes.size() > 1) with.tensor_dtype[tensor->name] = dtype;
          }
          next.push_back(std::move(with));
        }
      }
      if (next.size() > 256) break;
      out = std::move(next);
    }
    return out;
  }

  // The hub's element total; it decides which optional tensors are stored only where nothing stronger did.
  void recorded(bool decides) {
    if (!truth_.recorded_elements) return;
    const spec::Counting& counting = library_->counting();
    const spec::CountList* alternative = nullptr;
    if (decides) {
      std::vector<Combination> fits =
          combinations_for(report_.bill->storage, counting, nullptr, *truth_.recorded_elements);
      if (fits.empty()) {
        // Alternatives that meet the total must say the same of what is stored, or none is taken; the first is named.
        // One that needs no optional tensor goes before those that need some.
        std::vector<std::pair<const spec::CountList*, Combination>> meeting;
        for (const spec::CountList& list : counting.alternatives)
          if (std::vector<Combination> own =
                  combinations_for(report_.bill->storage, counting, &list, *truth_.recorded_elements);
              own.size() == 1)
            meeting.emplace_back(&list, std::move(own[0]));
        const auto needs = [](const auto& row) { return !row.second.present.empty(); };
        if (std::ranges::any_of(meeting, [&](const auto& row) { return !needs(row); }))
          std::erase_if(meeting, needs);
        if (!meeting.empty() && std::ranges::all_of(meeting, [&](const auto& row) {
              return row.second.present == meeting[0].second.present &&
                     row.second.or_shaped == meeting[0].second.or_shaped &&
                     row.second.dtypes == meeting[0].second.dtypes;
            })) {
          alternative = meeting[0].first;
          fits = {std::move(meeting[0].second)};
        }
      }
      if (fits.size() == 1) {
        report_.choice.present = fits[0].present;
        report_.choice.or_shaped = fits[0].or_shaped;
        for (const auto& [name, dtype] : fits[0].dtypes) report_.choice.tensor_dtype[name] = dtype;
        if (!evaluate(report_.choice)) return;
        for (const std::string& name : fits[0].present)
          report_.remarks.push_back("the recorded total is met only with " + name + " stored" +
                                    (fits[0].or_shaped.contains(name) ? " in its other shape" : ""));
        std::set<std::string> suffixes;
        for (const auto& [name, dtype] : fits[0].dtypes)
          if (suffixes.insert(name.substr(name.rfind('.') + 1)).second)
            report_.remarks.push_back("the recorded total is met only with " + name + " as " +
                                      std::string(base::dtype_name(dtype)));
      } else if (fits.size() > 1) {
        report_.remarks.push_back("more than one choice of optional tensors meets the recorded total");
      }
    }
    std::vector<std::string> rules;
    const Int128 ours = counted_total(report_.bill->storage, counting, alternative, &rules);
    if (decides && ours != *truth_.recorded_elements && recorded_within_bounds()) return;
    if (alternative)
      report_.remarks.push_back("the recorded total agrees after counting rule '" + alternative->name + "'");
    compare("stored elements, as the hub counts them", "elements", ours, *truth_.recorded_elements,
            recorded_source(), decides);
    report_.comparisons.back().rules = std::move(rules);
  }

  // Where the declaration does not say which modules it is about: the least and the most that the spec can come to, by
  // what of the scheme's scope is converted (all of it, or nothing) and which optional parts are stored. `measures` are
  // those of one storage.
  struct Bounds {
    Int128 least = 0, most = 0;
  };
  std::optional<Bounds> bounds_of(
      const std::function<std::vector<Int128>(const analysis::Storage&)>& measures) const {
    if (report_.bill->storage.open_scope.empty()) return std::nullopt;
    std::vector<std::string> parts;
    for (const std::string& part : binding_->model->optional)
      if (stores(part) && parts.size() < kMostParts) parts.push_back(part);
    std::optional<Bounds> out;
    for (const bool plain : {false, true})
      for (size_t mask = 0; mask < size_t{1} << parts.size(); ++mask) {
        StorageChoice choice = report_.choice;
        choice.declared_plain = plain;
        for (size_t i = 0; i < parts.size(); ++i)
          if (mask >> i & 1) choice.absent.insert(parts[i]);
        base::Result<analysis::Storage> storage = analysis::storage_of(*report_.bill->prefill, choice);
        if (!storage) return std::nullopt;
        for (const Int128 measure : measures(*storage)) {
          if (!out) out = Bounds{measure, measure};
          out = Bounds{std::min(out->least, measure), std::max(out->most, measure)};
        }
      }
    return out;
  }

  static std::vector<Int128> bytes_of(const analysis::Storage& storage) {
    Int128 sum = 0;
    for (const StoredTensor& tensor : storage.tensors)
      if (tensor.present) sum += (tensor.bytes() * tensor.count).integer().value_or(0);
    return {sum};
  }

  // A figure between the bounds neither agrees nor differs, and it is said which they are.
  void leave_open(std::string what, std::string unit, const Bounds& bounds, Int128 published,
                  std::string source) {
    const analysis::Storage& storage = report_.bill->storage;
    Findings found;
    found.ran = true;
    found.open.push_back(
        {{std::make_shared<base::SourceText>(base::SourceText{source, {}}), 0, 0, 0},
         fmt::format("{} are {} as published; by the spec they are between {} and {}, since {} declares "
                     "scheme {} and "
                     "does not say for which modules",
                     what, base::with_commas(published), base::with_commas(bounds.least),
                     base::with_commas(bounds.most), storage.declared_origin, storage.declared_scheme),
         "a list of the modules that are converted or left out, or tensors that tell",
         "read the tensor headers: ask with --hub, or add a snapshot that has them",
         {}});
    record("weight", found);
    report_.comparisons.push_back(
        {std::move(what), std::move(unit), bounds.least, published, std::move(source), {}, bounds.most});
  }

  bool recorded_within_bounds() {
    const spec::Counting& counting = library_->counting();
    const std::optional<Bounds> bounds = bounds_of([&](const analysis::Storage& storage) {
      std::vector<Int128> out = {counted_total(storage, counting, nullptr)};
      for (const spec::CountList& list : counting.alternatives)
        out.push_back(counted_total(storage, counting, &list));
      return out;
    });
    if (!bounds || *truth_.recorded_elements < bounds->least || *truth_.recorded_elements > bounds->most)
      return false;
    leave_open("stored elements, as the hub counts them", "elements", *bounds, *truth_.recorded_elements,
               recorded_source());
    return true;
  }

  std::string recorded_source() const {
    return truth_.recorded_elements_source.empty() ? "the hub's recorded element total"
                                                   : truth_.recorded_elements_source;
  }

  // Bytes rest on which modules are converted even where an element total agrees.
  void say_open_scope() {
    if (const std::optional<Bounds> bounds = bounds_of(bytes_of))
      report_.remarks.push_back(
          fmt::format("{} does not say which modules scheme {} converts: stored bytes are between {} and {}",
                      report_.bill->storage.declared_origin, report_.bill->storage.declared_scheme,
                      base::with_commas(bounds->least), base::with_commas(bounds->most)));
  }

  Report finish() {
    const bool wrong = std::ranges::any_of(
        report_.faults, [](const base::Diagnostic& fault) { return fault.guard != "not_verifiable"; });
    const bool strong = truth_.level == Level::kHeader || truth_.level == Level::kIndex;
    if (wrong)
      report_.verdict = Verdict::kWrong;
    else if (!report_.faults.empty() || !report_.bill || not_verifiable_ || truth_.partial ||
             (truth_.level == Level::kConfig && !sizes_agree_))
      report_.verdict = Verdict::kNotVerifiable;
    else
      report_.verdict = strong && !bounded_total_ ? Verdict::kVerified : Verdict::kAgrees;
    return std::move(report_);
  }

  std::shared_ptr<const spec::Library> library_;
  std::shared_ptr<const spec::Binding> binding_;
  const truth::Truth& truth_;
  const TensorNames names_;
  analysis::BillInput input_;
  const std::set<std::string>& without_;
  std::shared_ptr<const Bill> formulas_;
  Report report_;
  StorageChoice evaluated_;  // what report_.bill was made under
  bool not_verifiable_ = false;
  bool sizes_agree_ = false;
  bool bounded_total_ = false;  // the total is met within bounds only
};

}  // namespace

std::string Comparison::outcome() const {
  std::string out = equal() ? "equal" : ours_most ? "between the bounds" : "differs";
  for (size_t i = 0; i < rules.size(); ++i)
    out += (i == 0 ? (rules.size() > 1 ? " after rules '" : " after rule '") : "', '") + rules[i];
  return rules.empty() ? out : out + "'";
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kVerified:
      return "verified";
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kNotVerifiable:
      return "not verifiable";
  }
  return {};
}

Report verify(std::shared_ptr<const spec::Library> library, std::shared_ptr<const spec::Binding> binding,
              const truth::Truth& truth, const analysis::BillInput& input,
              const std::set<std::string>& without) {
  return Verifier(std::move(library), std::move(binding), truth, input, without).run();
}

}  // namespace archlight::guard
