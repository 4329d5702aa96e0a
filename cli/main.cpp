#include "cli/commands.h"

int main(int argc, char** argv) {
  return trnplan::cli::run_cli(argc, argv);
}
