#include "truth/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/folder.h"
#include "truth/index.h"
#include "truth/internal/faults.h"
#include "truth/internal/record_parts.h"

namespace archlight::truth {
namespace {

using base::Faults;
using base::Int128;
using base::Json;

// The next field up to `separator`; moves `rest` past it.
std::string_view take(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  const std::string_view out = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return out;
}

std::optional<uint64_t> parse_u64(std::string_view text) {
  const std::optional<Int128> value = base::parse_int128(text);
  if (!value || *value < 0 || *value > Int128{UINT64_MAX} || text[0] == '+') return std::nullopt;
  return static_cast<uint64_t>(*value);
}

base::Diagnostic line_fault(const std::string& file, int line, std::string wrong, std::string expected) {
  base::Diagnostic out = file_fault(file, std::move(wrong), std::move(expected));
  out.at.line = line;
  out.at.column = 1;
  return out;
}

// The head line of a table, by which its columns are known.
bool has_head(std::string_view& rest, std::string_view head) {
  const std::string_view line = take(rest, '\n');
  return line == head;
}

std::string text_of(const Json& source, const char* key) {
  const auto it = source.find(key);
  return it != source.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<Int128> count_of(const Json& source, const char* key) {
  const auto it = source.find(key);
  if (it == source.end() || !it->is_number_unsigned()) return std::nullopt;
  return Int128{it->get<uint64_t>()};
}

std::vector<std::string> checks_of(const Json& source) {
  std::vector<std::string> out;
  const auto take_all = [&](const Json& parent) {
    const auto checks = parent.find("checks");
    if (checks == parent.end() || !checks->is_array()) return;
    for (const Json& check : *checks)
      if (check.is_string()) out.push_back(check.get<std::string>());
  };
  take_all(source);
  if (const auto derived = source.find("derived_tensors"); derived != source.end() && derived->is_object())
    take_all(*derived);
  return out;
}

// A number after `phrase` in a check, as in "element total 123 equals ...".
std::optional<Int128> number_after(const std::string& check, std::string_view phrase, std::string_view then) {
  const size_t at = check.find(phrase);
  if (at == std::string::npos) return std::nullopt;
  const size_t start = at + phrase.size();
  const size_t end = check.find_first_not_of("0123456789", start);
  if (end == start || end == std::string::npos || check.compare(end, then.size(), then) != 0)
    return std::nullopt;
  return base::parse_int128(std::string_view(check).substr(start, end - start));
}

// A record states the hub's total in one of its checks; the phrases are those of docs/snapshots.md#records. A
// total by dtype ("says BF16 1 and U8 2;") adds up to the hub's figure.
std::optional<Int128> recorded_total(const std::string& check) {
  if (const auto total = number_after(check, "element total ", " equals the hub API")) return total;
  if (const auto total = number_after(check, "element total ", " equals SafeTensorsInfo.total")) return total;
  if (const auto total = number_after(check, "element count ", " equals the figure recorded")) return total;
  const size_t says = check.find(" says ");
  if (check.rfind("hub API", 0) != 0 || says == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(check).substr(says + 6);
  rest = rest.substr(0, rest.find(';'));
  Int128 sum = 0;
  while (!rest.empty()) {
    if (!base::dtype_from_name(take(rest, ' '))) return std::nullopt;
    const std::optional<uint64_t> count = parse_u64(take(rest, ' '));
    if (!count) return std::nullopt;
    sum += *count;
    if (!rest.empty() && take(rest, ' ') != "and") return std::nullopt;
  }
  return sum;
}

struct LevelRow {
  std::string_view word;
  Level level;
  std::string_view note;
};

constexpr LevelRow kLevels[] = {
    {"header", Level::kHeader, ""},
    {"header (partial)", Level::kHeader, "only a part of the tensors is recorded: totals cannot be checked"},
    {"index", Level::kIndex, ""},
    {"params", Level::kConfig, ""},
    {"size", Level::kConfig, ""},
    {"modules", Level::kConfig,
     "recorded from loaded modules, whose names and dtypes need not be those of the file"},
    {"header (GGUF)", Level::kHeader,
     "recorded from a listing of a GGUF file's tensors, without its metadata"},
    {"config", Level::kConfig, ""},
};

}  // namespace

Faults parse_tensor_rows(const std::string& tsv, const std::string& shown_as, TensorTable& into,
                         std::vector<ShardFile>& shards) {
  std::string_view rest = tsv;
  // A GGUF listing has ggml's types, the fastest axis first, and neither bytes nor shards.
  const bool listing = rest.starts_with("name\tggml_type\tshape_ggml_order\n");
  if (listing)
    take(rest, '\n');
  else if (!has_head(rest, "name\tdtype\tshape\tbytes\tshard"))
    return {line_fault(shown_as, 1, "not the head of a tensor table",
                       "name, dtype, shape, bytes, shard, with tabs")};
  std::map<std::string, uint32_t, std::less<>> shard_numbers;
  for (uint32_t i = 0; i < shards.size(); ++i) shard_numbers.emplace(shards[i].name, i);
  std::vector<uint64_t> ends(shards.size(), 0);
  Faults faults;
  const auto fault = [&](int line, std::string wrong, std::string expected) {
    faults.push_back(line_fault(shown_as, line, std::move(wrong), std::move(expected)));
  };
  if (into.size() == 0) into.reserve(rest.size() / 100, rest.size() / 2);
  for (int line = 2; !rest.empty() && faults.size() < 20; ++line) {
    std::string_view row = take(rest, '\n');
    const std::string_view name = take(row, '\t'), tag = take(row, '\t'), shape_text = take(row, '\t'),
                           bytes_text = take(row, '\t'), shard = row;
    std::optional<base::Dtype> dtype = listing ? std::nullopt : base::dtype_from_name(tag);
    // A packed listing has GGUF's blocks by their own names.
    if (!dtype) dtype = base::dtype_from_ggml_name(tag);
    if (dtype && !listing && base::dtype_name(*dtype) != tag) dtype.reset();
    if (!dtype) {
      fault(line, fmt::format("the dtype '{}' of '{}' is not known", short_name(tag), short_name(name)),
            "a safetensors dtype");
      continue;
    }
    std::array<uint64_t, 32> shape;
    size_t rank = 0;
    bool good = !shape_text.empty();
    base::UInt128 elements = 1;
    for (std::string_view axes = shape_text; good && shape_text != "scalar" && !axes.empty();) {
      const std::optional<uint64_t> axis = parse_u64(take(axes, 'x'));
      good = axis && rank < shape.size() && (elements == 0 || *axis <= UINT64_MAX / elements);
      if (!good) break;
      elements *= *axis;
      shape[rank++] = *axis;
    }
    if (!good) {
      fault(line, fmt::format("the shape '{}' of '{}'", short_name(shape_text), short_name(name)),
            "axis lengths joined by 'x', or 'scalar'");
      continue;
    }
    if (listing) std::reverse(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(rank));
    const base::DtypeBlock block = base::dtype_block(*dtype);
    const base::UInt128 whole =
        elements / static_cast<unsigned>(block.elements) * static_cast<unsigned>(block.bytes);
    std::optional<uint64_t> bytes = parse_u64(bytes_text);
    if (listing && whole <= UINT64_MAX) bytes = static_cast<uint64_t>(whole);
    if (!bytes || elements % static_cast<unsigned>(block.elements) != 0 || whole != *bytes) {
      fault(line, fmt::format("'{}' states {} bytes", short_name(name), short_name(bytes_text)),
            fmt::format("{}, its shape times the width of {}", base::to_string(static_cast<Int128>(whole)),
                        tag));
      continue;
    }
    auto [it, added] = shard_numbers.emplace(std::string(shard), static_cast<uint32_t>(ends.size()));
    if (added) {
      ends.push_back(0);
      shards.push_back({std::string(shard), std::nullopt});
    }
    uint64_t& end = ends[it->second];
    if (*bytes > UINT64_MAX - end) {
      fault(line, "the shard's bytes pass 2^64", "a real checkpoint's sizes");
      break;
    }
    into.add(name, *dtype, {shape.data(), rank}, end, end + *bytes, it->second);
    end += *bytes;
  }
  return faults;
}

Faults parse_shard_rows(const std::string& tsv, const std::string& shown_as, std::vector<ShardFile>& shards) {
  std::string_view rest = tsv;
  if (!has_head(rest, "shard\tfile_bytes\tsha256"))
    return {line_fault(shown_as, 1, "not the head of a shard table", "shard, file_bytes, sha256, with tabs")};
  Faults faults;
  for (int line = 2; !rest.empty() && faults.size() < 20; ++line) {
    std::string_view row = take(rest, '\n');
    const std::string_view name = take(row, '\t');
    const std::optional<uint64_t> bytes = parse_u64(take(row, '\t'));
    if (!bytes)
      faults.push_back(line_fault(shown_as, line, fmt::format("no file size for '{}'", short_name(name)),
                                  "a whole number of bytes"));
    else
      shards.push_back({std::string(name), bytes});
  }
  return faults;
}

std::string repo_of_name(const std::string& name) {
  const size_t at = name.find("--");
  if (at == std::string::npos || at == 0 || at + 2 == name.size()) return name;
  return name.substr(0, at) + "/" + name.substr(at + 2);
}

RecordedId recorded_id(const std::string& name, const std::string& repo_id_on_hf) {
  if (repo_id_on_hf.empty() || repo_id_on_hf.find_first_of(" *(") != std::string::npos) return {};
  if (repo_of_name(name).rfind(repo_id_on_hf + ".", 0) == 0) return {};
  return {repo_id_on_hf};
}

Faults apply_source(const Json& source, const std::string& name, const std::string& shown_as, Truth& into) {
  const std::string repo = text_of(source, "repo_id_on_hf"), word = text_of(source, "level");
  const auto row =
      std::find_if(std::begin(kLevels), std::end(kLevels), [&](const LevelRow& r) { return r.word == word; });
  if (row == std::end(kLevels))
    return {file_fault(shown_as, "the level '" + short_name(word) + "'",
                       "header, header (partial), header (GGUF), index, params, size or modules")};
  into.level = row->level;
  into.partial =
      word == "header (partial)" || (source.contains("partial") && source["partial"] == Json(true));
  into.revision = text_of(source, "hub_snapshot");
  if (into.revision == "manual") into.revision.clear();
  if (!row->note.empty()) into.notes.emplace_back(row->note);
  into.repo = recorded_id(name, repo).hub_id;
  if (into.repo.empty()) {
    into.repo = repo_of_name(name);
    if (!repo.empty()) into.notes.push_back("recorded from: " + repo);
  } else if (repo_of_name(name) != name && repo_of_name(name) != into.repo) {
    into.notes.push_back("filed as " + name + ", recorded from: " + repo);
  }
  for (const char* key : {"surprise", "notes"})
    if (std::string note = text_of(source, key); !note.empty()) into.notes.push_back(std::move(note));

  const std::vector<std::string> checks = checks_of(source);
  for (const std::string& check : checks) {
    if (into.recorded_elements) break;
    into.recorded_elements = recorded_total(check);
    if (into.recorded_elements) into.recorded_elements_source = check;
  }
  // Without tensors worked out there is no check to say it; the total is then the record itself.
  if (!into.recorded_elements && word == "params" && !source.contains("derived_tensors")) {
    into.recorded_elements = count_of(source, "total_parameters");
    into.recorded_elements_source = text_of(source, "provenance");
  }
  if (into.level == Level::kConfig && into.recorded_elements && (word == "params" || word == "size"))
    into.level = Level::kCount;
  if (const auto unconfirmed = source.find("derived_but_unconfirmed");
      unconfirmed != source.end() && unconfirmed->is_object())
    if (std::string remark = text_of(*unconfirmed, "remark"); !remark.empty())
      into.notes.push_back(std::move(remark));
  return {};
}

Faults apply_index(const std::string& text, const std::string& shown_as, Truth& into) {
  base::Result<Index> index = parse_index(text, shown_as);
  if (!index) return index.faults();
  into.names = std::move(index->names);
  into.index_total_bytes = index->total_bytes;
  into.notes.insert(into.notes.end(), index->notes.begin(), index->notes.end());
  if (into.shards.empty())
    for (std::string& shard : index->shards) into.shards.push_back({std::move(shard), std::nullopt});
  return {};
}

namespace {

base::Result<std::string> read_zst(const std::string& path) {
  base::Result<std::string> packed = base::read_file(path, uint64_t{256} << 20);
  if (!packed) return packed.faults();
  return base::zstd_decompress(*packed, path);
}

}  // namespace

bool is_record(const std::string& folder) {
  return base::file_exists(folder + "/source.json");
}

base::Result<Truth> read_record(const std::string& folder) {
  Truth truth;
  truth.origin = "record " + folder;
  const std::string source_path = folder + "/source.json";
  base::Result<std::string> text = base::read_file(source_path, 1 << 20);
  if (!text) return text.faults();
  base::Result<std::shared_ptr<const Json>> source = base::parse_json(*text, source_path);
  if (!source) return source.faults();
  if (!(*source)->is_object()) return file_fault(source_path, "not a JSON object", "a record's source.json");
  if (Faults faults = apply_source(**source, folder_name(folder), source_path, truth); !faults.empty())
    return faults;
  if (Faults faults = refuse_irregular(folder); !faults.empty()) return faults;
  if (Faults faults = read_configs(folder, truth); !faults.empty()) return faults;
  if (const std::string path = folder + "/shards.tsv"; base::file_exists(path)) {
    base::Result<std::string> shards = base::read_file(path, 16 << 20);
    if (!shards) return shards.faults();
    if (Faults faults = parse_shard_rows(*shards, path, truth.shards); !faults.empty()) return faults;
  }
  if (truth.level == Level::kIndex) {
    base::Result<std::string> index = read_zst(folder + "/index.json.zst");
    if (!index) return index.faults();
    if (Faults faults = apply_index(*index, folder + "/index.json.zst", truth); !faults.empty())
      return faults;
  }
  if (truth.level == Level::kHeader) {
    base::Result<std::string> rows = read_zst(folder + "/tensors.tsv.zst");
    if (!rows) return rows.faults();
    if (Faults faults = parse_tensor_rows(*rows, folder + "/tensors.tsv.zst", truth.tensors, truth.shards);
        !faults.empty()) {
      // A listing with types of a fork: what they hold is not known, and so the listing says nothing of bytes.
      if (!rows->starts_with("name\tggml_type")) return faults;
      truth.notes.push_back("the listing is not read: " + faults[0].message());
      truth.tensors = {};
      truth.shards.clear();
      truth.level = Level::kConfig;
    }
    const std::optional<Int128> stated = count_of(**source, "total_bytes");
    if (!truth.partial && stated && *stated != truth.tensors.total_bytes())
      return file_fault(source_path, "total_bytes is " + base::with_commas(*stated),
                        base::with_commas(truth.tensors.total_bytes()) + ", the sum of tensors.tsv.zst");
  }
  return truth;
}

base::Result<TensorTable> load_derived_tensors(const std::string& folder) {
  const std::string path = folder + "/tensors.tsv.zst";
  base::Result<std::string> rows = read_zst(path);
  if (!rows) return rows.faults();
  TensorTable table;
  std::vector<ShardFile> shards;
  if (Faults faults = parse_tensor_rows(*rows, path, table, shards); !faults.empty()) return faults;
  return table;
}

}  // namespace archlight::truth
