#include "text/wire_reader.h"

#include <bit>

namespace trnplan {

bool WireReader::varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::next() {
  if (failed_ || rest_.empty()) return false;
  failed_ = true;
  std::uint64_t tag = 0;
  if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field = static_cast<int>(tag >> 3);
  wire = static_cast<Wire>(tag & 7);
  std::size_t size = 0;
  switch (wire) {
    case Wire::varint:
      if (!varint(number)) return false;
      break;
    case Wire::fixed64:
    case Wire::fixed32:
      size = wire == Wire::fixed64 ? 8 : 4;
      if (rest_.size() < size) return false;
      number = size == 8 ? little_endian<std::uint64_t>(rest_) : little_endian<std::uint32_t>(rest_);
      rest_.remove_prefix(size);
      break;
    case Wire::bytes:
      if (!varint(number) || number > rest_.size()) return false;
      bytes = rest_.substr(0, static_cast<std::size_t>(number));
      rest_.remove_prefix(bytes.size());
      break;
    default:
      return false;
  }
  failed_ = false;
  return true;
}

double WireReader::real() const {
  return wire == Wire::fixed32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number)))
                               : std::bit_cast<double>(number);
}

}  // namespace trnplan
