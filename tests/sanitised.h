// Whether the sanitizers watch this build, in which all is some ten times slower.
#pragma once

namespace trnplan {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

}  // namespace trnplan
