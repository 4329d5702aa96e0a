// A reader of Thrift's compact protocol (apache/thrift@054a0fa0:doc/specs/thrift-compact-protocol.md), in
// which the headers of a Parquet file are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trnplan::logs {

/// A reader of one struct and of those in it, in bytes that anyone may have written. Use:
///
///   ThriftReader thrift(bytes);
///   thrift.structure([&](int field) {
///     if (field == 1) rows = thrift.whole();      // skips a value that is not read here
///     if (field == 2) thrift.list([&] { ... });
///   });
///   if (thrift.failed()) ...
///
/// After a fault it reads nothing more, and all loops end. More than 32 levels are a fault. Time is linear in
/// the bytes: each element of a list takes at least one.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  /// Calls each(id) for every field of the struct that comes next.
  template <class Each>
  void structure(Each each) {
    if (failed_ || kind_ != Kind::structure || !deeper()) return fail();
    std::int64_t id = 0;
    while (next_field(id)) {
      unread_ = true;
      const Kind kind = kind_;
      each(static_cast<int>(id));
      if (unread_ && !failed_) {
        kind_ = kind;
        skip();
      }
    }
    --depth_;
    unread_ = false;
  }

  /// Calls each() for all elements of the list that comes next.
  template <class Each>
  void list(Each each) {
    Kind element = Kind::stop;
    std::uint64_t count = 0;
    if (kind_ != Kind::list || !open_list(element, count)) return fail();
    for (std::uint64_t i = 0; i < count && !failed_; ++i) {
      const Kind kind = kind_ = element_kind(element);
      unread_ = true;
      each();
      if (unread_ && !failed_) {
        kind_ = kind;
        skip();
      }
    }
    --depth_;
    unread_ = false;
  }

  /// The next value if it is a whole number; else a fault.
  std::int64_t whole();
  /// The next value if it is a whole number of 32 bits; else a fault.
  int number();
  /// The next value if it is a bool; else a fault.
  bool truth();
  /// The next value if it is a string of bytes, as a view; else a fault.
  std::string_view text();

  bool failed() const { return failed_; }
  /// Stops reading, as after a fault.
  void stop() { fail(); }
  /// Bytes read so far.
  std::size_t offset() const { return at_; }

 private:
  enum class Kind { stop, yes, no, byte, i16, i32, i64, real, bytes, list, set, map, structure, uuid };

  bool next_field(std::int64_t& id);
  bool open_list(Kind& element, std::uint64_t& count);
  Kind element_kind(Kind stated);
  bool deeper();
  void skip();
  void skip_map();
  void pass(std::uint64_t count);
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  Kind kind_of(unsigned nibble);
  void fail() { failed_ = true; }

  std::string_view bytes_;
  std::size_t at_ = 0;
  Kind kind_ = Kind::structure;  ///< of the next value
  bool unread_ = false, failed_ = false;
  int depth_ = 0;
};

}  // namespace trnplan::logs
