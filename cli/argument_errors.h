// A wrong command line in the words of every other input error: which option, what is wrong, how to mend it.
#pragma once

#include "text/diagnostic.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace trnplan::cli {

/// `error` of parsing with `app`, which keeps what it did not understand. Not for requests for help.
InputError argument_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace trnplan::cli
