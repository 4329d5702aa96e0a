# Debian's compiler for arm64. The archives of libraries are those that ./dev package --arch arm64 unpacks into build/arm64/sysroot;
# headers that are the same on every machine (Boost, Eigen, CLI11, nlohmann/json) are this system's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# Products are rounded before they are added, as on x86-64, so that plans have the same numbers.
set(CMAKE_CXX_FLAGS_INIT -ffp-contract=off)

set(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/sysroot)
cmake_path(NORMAL_PATH sysroot)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# The compiler searches /usr/include itself; where both have a header, the sysroot's is the one of its archives.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${sysroot}/usr/include/aarch64-linux-gnu ${sysroot}/usr/include)
