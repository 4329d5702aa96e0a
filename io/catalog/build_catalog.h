// Catalogue of a program that was built and not installed.
#pragma once

namespace trnplan::io {

/// The catalogue of the source tree; "" in the program that ./dev package packs, which is linked with a
/// build_catalog.cpp of its own.
const char* build_catalog();

}  // namespace trnplan::io
