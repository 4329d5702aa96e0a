// A settings.env.
#include "launch/folder/folder_settings.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::folder_settings_target(const std::uint8_t* data, std::size_t size) {
  const launch::SettingsFile file = launch::read_settings(fuzz::text_of(data, size));
  for (const auto& [name, setting] : file.values)
    fuzz::ensure(!name.empty() && setting.line > 0, "a value has a place");
  for (const auto& fault : file.faults)
    fuzz::ensure(fault.line > 0 && !fault.problem.empty(), "a fault has a place and words");
}
