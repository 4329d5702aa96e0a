# Licences of what the wheel and the packed program have inside besides ours: of libraries, and of headers they are made of.
# TRNPLAN_LICENCES is a list of LIBRARY=FILE, where Debian's packages state theirs; TRNPLAN_WITHOUT_LICENCE has the libraries
# whose file is not here. Boost's licence asks for no copy in object code.
set(TRNPLAN_LICENCES "")
set(TRNPLAN_WITHOUT_LICENCE "")
foreach(held IN ITEMS fmt=libfmt-dev yaml-cpp=libyaml-cpp-dev openssl=libssl-dev sqlite=libsqlite3-dev zlib=zlib1g-dev snappy=libsnappy-dev zstd=libzstd-dev nlohmann-json=nlohmann-json3-dev
                      cli11=libcli11-dev tomlplusplus=libtomlplusplus-dev eigen=libeigen3-dev pybind11=pybind11-dev glibc=libc6-dev)
  string(REPLACE "=" ";" held ${held})
  list(GET held 0 library)
  list(GET held 1 package)
  if(EXISTS /usr/share/doc/${package}/copyright)
    list(APPEND TRNPLAN_LICENCES ${library}=/usr/share/doc/${package}/copyright)
  else()
    list(APPEND TRNPLAN_WITHOUT_LICENCE ${library})
  endif()
endforeach()
if(EXISTS /usr/share/common-licenses/LGPL-2.1)
  list(APPEND TRNPLAN_LICENCES LGPL-2.1=/usr/share/common-licenses/LGPL-2.1)  # glibc's
endif()
