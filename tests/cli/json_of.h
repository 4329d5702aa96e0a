// JSON printed by a command.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

namespace trnplan::cli {

/// Runs `command` with --format json. Checks that it prints one document of the current schema.
inline nlohmann::json json_of(Session& cli, const std::string& command) {
  const std::string& text = cli.run(command + " --format json").out;
  INFO(command << "\n" << cli.last.err);
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(document.is_object());
  CHECK(document.at("schema_version") == 1);
  return document;
}

}  // namespace trnplan::cli
