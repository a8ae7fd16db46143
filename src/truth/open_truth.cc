#include <filesystem>

#include "base/file.h"
#include "truth/folder.h"
#include "truth/hub_client.h"
#include "truth/internal/faults.h"
#include "truth/record.h"
#include "truth/truth.h"

namespace archlight::truth {

base::Result<Truth> open_truth(const std::string& model, const OpenOptions& options) {
  (void)options;
  if (base::folder_exists(model)) return is_record(model) ? read_record(model) : read_folder(model);
  if (base::file_exists(model)) return read_tensor_file(model);
  return file_fault(model, "no such file or folder");
}

}  // namespace archlight::truth
