#include "io/output/documents.h"

#include <map>
#include <set>
#include <string>

#include "tests/catch.h"

using namespace trnplan::io;

namespace {

void collect(const Description& d, std::set<const Description*>& all) {
  if (!all.insert(&d).second) return;
  if (d.base != nullptr) collect(*d.base, all);
  for (const auto inside : d.inside) collect(inside(), all);
}

}  // namespace

// Two records of one name would be one class of Python, with the keys of either.
TEST_CASE("a name stands for one record, and a key for one value") {
  std::set<const Description*> all;
  for (const Description* d : documents()) collect(*d, all);
  CHECK(all.size() > 60);
  std::map<std::string_view, const Description*> named;
  for (const Description* d : all) {
    INFO(d->name);
    if (!d->name.empty()) CHECK(named.emplace(d->name, d).second);
    std::set<std::string_view> keys{"schema_version"};
    for (const Description::Key& key : d->keys) {
      INFO(key.name);
      CHECK(keys.insert(key.name).second);
      CHECK_FALSE(key.type.empty());
    }
  }
}
