// Flag of a build with sanitizers, in which everything is about ten times slower.
#pragma once

namespace trnplan {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

}  // namespace trnplan
