// Reports a wrong command line like every other input error: the option, the problem and its fix.
#pragma once

#include "text/diagnostic.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace trnplan::cli {

/// Converts `error` from parsing with `app`, which keeps the words it did not recognise. Not for requests for
/// help.
InputError argument_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace trnplan::cli
