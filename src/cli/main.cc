#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int status = archlight::cli::run(argc, argv, std::cout, std::cerr);
  std::cout.flush();
  return status;
}
