#include "api/catalogue.h"

namespace trnplan::api {

std::vector<io::KnownModel> models() {
  return io::known_models(io::Catalog::standard());
}

std::vector<io::KnownInstance> instances() {
  return io::known_instances(io::Catalog::standard());
}

}  // namespace trnplan::api
