// Reads protocol buffer messages without their schema.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan {

struct WireField {
  int number = 0;
  std::uint64_t value = 0;
  std::string_view text;  ///< of strings and messages
};

/// Removes a varint from the front.
inline std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    if (rest.empty() || shift > 63) throw std::runtime_error("a varint is cut short");
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

inline std::string_view take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) throw std::runtime_error("a field is cut short");
  const std::string_view front = rest.substr(0, count);
  rest.remove_prefix(count);
  return front;
}

/// All fields, to the last byte.
inline std::vector<WireField> wire_fields(std::string_view rest) {
  std::vector<WireField> fields;
  while (!rest.empty()) {
    const std::uint64_t tag = take_varint(rest);
    WireField f{static_cast<int>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0:
        f.value = take_varint(rest);
        break;
      case 1: {
        const std::string_view bytes = take(rest, 8);
        for (std::size_t i = 8; i-- > 0;) f.value = f.value << 8 | static_cast<unsigned char>(bytes[i]);
        break;
      }
      case 2:
        f.text = take(rest, take_varint(rest));
        break;
      default:
        throw std::runtime_error("an unknown wire type");
    }
    fields.push_back(f);
  }
  return fields;
}

/// First occurrence of the field; one with value 0 and no text if it is absent.
inline WireField wire_field(std::string_view message, int number) {
  for (const WireField& f : wire_fields(message)) {
    if (f.number == number) return f;
  }
  return {};
}

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char c : hex) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return bytes;
}

}  // namespace trnplan
