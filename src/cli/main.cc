#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int status = archlight::cli::run(argc, argv, std::cout, std::cerr);
  // An answer that did not arrive is no answer.
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "archlight: the answer could not be written to standard output\n";
    return archlight::cli::kUsage;
  }
  return status;
}
