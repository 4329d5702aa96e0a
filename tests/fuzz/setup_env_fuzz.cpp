// A setup_env.sh, read without running it.
#include "launch/folder/setup_env.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::setup_env_target(const std::uint8_t* data, std::size_t size) {
  const auto environment = [](const std::string& name) {
    return name == "HOME" ? std::optional<std::string>("/root") : std::nullopt;
  };
  const launch::SetupEnv env = launch::read_setup_env(fuzz::text_of(data, size), environment);
  for (const auto& [name, value] : env.values)
    fuzz::ensure(!name.empty() && value.line > 0, "a value has a place");
  for (const int line : env.unread) fuzz::ensure(line > 0, "a line has a number");
}
