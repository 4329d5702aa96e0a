// Dumps of a flight recorder, with the keys and the order of keys that pytorch/pytorch@1189309e:
// torch/csrc/distributed/c10d/FlightRecorderDetail.hpp writes; numbers invented.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <fmt/format.h>

#include "text/json_reader.h"

namespace trnplan::logs {

/// One entry; "" as milliseconds: without a duration. Elements are bf16.
inline std::string flight_entry(int number, const char* op, long in, long out, const char* milliseconds,
                                const char* state = "completed") {
  return fmt::format(
      R"({{"collective_seq_id":{},{}"input_dtypes":["BFloat16"],"input_sizes":[[{},4]],"is_p2p":false,"op_id":{},)"
      R"("output_dtypes":["BFloat16"],"output_sizes":[[{},4]],"p2p_seq_id":0,"pg_id":0,"process_group":["0","default_pg"],)"
      R"("profiling_name":"nccl:{}","record_id":{},"retired":false,"state":"{}","time_created_ns":1,)"
      R"("time_discovered_completed_ns":0,"time_discovered_started_ns":0,"timeout_ms":600000}})",
      number, *milliseconds == '\0' ? "" : fmt::format("\"duration_ms\":{},", milliseconds), in / 8, number,
      out / 8, op, number, state);
}

/// A dump of a rank of group "0", which has ranks 0 to 7.
inline std::string flight_dump(const std::string& entries) {
  return R"({"comm_lib_version":"2.21.5","entries":[)" + entries +
         R"(],"pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[0, 1, 2, 3, 4, 5, 6, 7]"}},)"
         R"("pg_status":{"0":{"last_completed_collective":"3","last_enqueued_collective":"4","last_started_collective":"4"}},)"
         R"("version":"2.10"})";
}

/// JSON as the pickle that pytorch/pytorch@010276ab:torch/csrc/jit/serialization/pickler.cpp writes of it: each text
/// and name once, then by its number; containers with the tag of their type; a pair of texts as a tuple.
class TorchPickle {
 public:
  static std::string of(const std::string& text) {
    JsonReader json(text);
    TorchPickle pickle;
    pickle.value(json);
    return pickle.bytes_ + ".";
  }

 private:
  void little(std::uint64_t number, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(number >> (8 * i));
  }
  void number(std::uint32_t id, char brief, char full) {
    bytes_ += id < 256 ? brief : full;
    little(id, id < 256 ? 1 : 4);
  }
  /// True if it is new, and stands before its number then.
  bool once(const std::string& key) {
    const auto [known, fresh] = memo_.try_emplace(key, static_cast<std::uint32_t>(memo_.size()));
    if (!fresh) number(known->second, 'h', 'j');
    return fresh;
  }
  void text(const std::string& text) {
    if (!once("text " + text)) return;
    bytes_ += 'X';
    little(text.size(), 4);
    bytes_ += text;
    number(memo_["text " + text], 'q', 'r');
  }
  void tag() {
    if (!once("restore_type_tag")) return;
    bytes_ += "ctorch.jit._pickle\nrestore_type_tag\n";
    number(memo_["restore_type_tag"], 'q', 'r');
  }
  void whole(std::int64_t n) {
    if (n >= 0 && n < 1 << 8) {
      bytes_ += 'K';
      little(static_cast<std::uint64_t>(n), 1);
    } else if (n >= 0 && n < 1 << 16) {
      bytes_ += 'M';
      little(static_cast<std::uint64_t>(n), 2);
    } else if (n >= INT32_MIN && n <= INT32_MAX) {
      bytes_ += 'J';
      little(static_cast<std::uint64_t>(n), 4);
    } else {
      bytes_ += "\x8a\x08";
      little(static_cast<std::uint64_t>(n), 8);
    }
  }
  void scalar(const std::string& word) {
    if (word == "true" || word == "false") {
      bytes_ += word == "true" ? '\x88' : '\x89';
    } else if (word.find('.') == std::string::npos) {
      whole(std::stoll(word));
    } else {
      const double real = std::stod(word);
      std::uint64_t bits = 0;
      std::memcpy(&bits, &real, sizeof bits);
      bytes_ += 'G';
      for (int i = 7; i >= 0; --i) bytes_ += static_cast<char>(bits >> (8 * i));
    }
  }
  void value(JsonReader& json) {
    const JsonReader::Kind kind = json.peek();
    const bool object = kind == JsonReader::Kind::object;
    if (object || kind == JsonReader::Kind::array) {
      tag();
      bytes_ += object ? "}(" : "](";
      if (object)
        json.object([&](std::string_view key) { text(std::string(key)), value(json); });
      else
        json.array([&] { value(json); });
      bytes_ += object ? 'u' : 'e';
      text(object ? "Dict[str, Any]" : "List[Any]");
      bytes_ += "\x86R";
    } else if (kind == JsonReader::Kind::text) {
      this->text(json.text());
    } else {
      scalar(std::string(json.scalar(40)));
    }
  }

  std::string bytes_ = "\x80\x02";
  std::map<std::string, std::uint32_t> memo_;
};

}  // namespace trnplan::logs
