// Any bytes as a GGUF file: the reader keeps tensors that lie inside the file in whole blocks apart from each other, or
// faults with a message and keeps none; a prefix of the file asks for more bytes or says the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "truth/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace archlight;
  if (size > (1U << 20)) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  truth::TensorTable table;
  truth::GgufHeader header;
  const base::Faults faults = truth::parse_gguf(bytes, size, "fuzz.gguf", 0, table, header, nullptr);
  for (const base::Diagnostic& fault : faults)
    if (fault.message().empty()) std::abort();
  if (!faults.empty()) {
    if (table.size() != 0) std::abort();
    return 0;
  }
  if (!header.metadata || !header.metadata->is_object() || header.metadata->dump().empty()) std::abort();
  base::Int128 sum = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const base::DtypeBlock block = base::dtype_block(table.dtype(i));
    base::Int128 elements = 1;
    for (uint64_t axis : table.shape(i)) elements *= static_cast<base::Int128>(axis);
    if (elements % block.elements != 0) std::abort();
    if (elements / block.elements * block.bytes != static_cast<base::Int128>(table.bytes(i))) std::abort();
    if (table.bytes(i) > 0 && header.data_begin + table.row(i).end > size) std::abort();
    sum += static_cast<base::Int128>(table.bytes(i));
  }
  if (sum > static_cast<base::Int128>(size)) std::abort();
  // Half of the file: more is asked for, or its header is all there.
  truth::TensorTable part;
  truth::GgufHeader half;
  uint64_t more = 0;
  const base::Faults again =
      truth::parse_gguf(std::string_view(bytes).substr(0, size / 2), size, "fuzz.gguf", 0, part, half, &more);
  if (!again.empty() || (more != 0 && (more <= size / 2 || more > size))) std::abort();
  if (more == 0 && part.size() != table.size()) std::abort();
  return 0;
}
