// A file that is no config of a target, under each of the names that decide how it is read.
#include "api/foreign_files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::foreign_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  for (const char* name : {"recipe.yaml", "plan.json", "run.toml", "train.sh"})
    fuzz::refusable([&] { api::refuse_foreign(text, name); });
}
