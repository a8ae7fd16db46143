// Any bytes as a Python source: read or refused with a message and the file's name; what is defined is found by its name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "truth/python.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace archlight;
  if (size > (1U << 16)) return 0;
  const base::Result<truth::PythonFile> file =
      truth::PythonFile::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.py");
  if (!file) {
    for (const base::Diagnostic& fault : file.faults())
      if (!fault.message().starts_with("fuzz.py")) std::abort();
    return 0;
  }
  for (const truth::PythonFile::Definition& each : file->definitions()) {
    if (each.first > each.last || each.line < 1) std::abort();
    if (each.residuals.least > each.residuals.most) std::abort();
    if (!file->find(each.name)) std::abort();
    file->holds(each.name, &each);
  }
  file->find("A.b.c");
  file->holds("a = (b");
  return 0;
}
