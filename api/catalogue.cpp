#include "api/catalogue.h"

#include "io/input/instance_names.h"

namespace trnplan::api {

std::vector<io::KnownModel> models() {
  return io::known_models(io::Catalog::standard());
}

std::vector<io::KnownInstance> instances() {
  return io::known_instances(io::Catalog::standard());
}

std::string instance_called(const std::string& name) {
  return io::whole_name(name, io::Catalog::standard());
}

std::vector<io::SettableNumber> settable_numbers(const std::string& instance) {
  return io::Catalog::standard().settable(instance);
}

}  // namespace trnplan::api
