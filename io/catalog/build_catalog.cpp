#include "io/catalog/build_catalog.h"

namespace trnplan::io {

const char* build_catalog() {
#ifdef TRNPLAN_BUILD_CATALOG
  return TRNPLAN_BUILD_CATALOG;
#else
  return "";
#endif
}

}  // namespace trnplan::io
