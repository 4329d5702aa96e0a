#include "text/version.h"

namespace trnplan {

const char* program_version() {
  return TRNPLAN_VERSION;
}

}  // namespace trnplan
