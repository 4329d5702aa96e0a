#include "logs/nccl/torch_pickle.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text/diagnostic.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kStart = "\x80\x02", kCalls = "ctorch.jit._pickle\n", kLeftOut = "frames";
constexpr std::size_t kValuesMost = 4'000'000, kListsMost = 2'000'000, kItemsMost = 16'000'000;
constexpr std::size_t kJsonMost = std::size_t{64} << 20;
constexpr int kDepthMost = 32;

enum class Kind : std::uint8_t { none, yes, no, whole, real, text, list, dict, call, mark };

struct Value {
  Kind kind;
  std::uint32_t size;  ///< bytes of a text
  std::uint64_t at;    ///< bits of a number, place of a text, index of a list
};
using Index = std::uint32_t;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    for (const Kind kind : {Kind::none, Kind::yes, Kind::no, Kind::mark}) values_.push_back({kind, 0, 0});
  }

  std::string read() {
    at_ = kStart.size();
    while (step()) {
    }
    if (stack_.size() != 1) refuse("it leaves no single value");
    write(stack_.back(), 0);
    return std::move(json_);
  }

 private:
  static constexpr Index kNone = 0, kYes = 1, kNo = 2, kMark = 3;

  [[noreturn]] void refuse(const std::string& problem) const {
    throw InputError(
        {{name_, 0, 0},
         "",
         fmt::format("a pickle that is not read, at byte {}: {}", at_, problem),
         "give the dump as torch wrote it, or as JSON (torch._C._distributed_c10d._dump_nccl_trace_json)"});
  }

  std::string_view take(std::size_t size) {
    if (bytes_.size() - at_ < size) refuse("it is cut");
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  std::uint64_t little(std::size_t size) {
    const std::string_view taken = take(size);
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(taken[i]);
    return number;
  }

  Index make(Value value) {
    if (values_.size() == kValuesMost) refuse("too many values");
    values_.push_back(value);
    return static_cast<Index>(values_.size() - 1);
  }

  void push(Index value) {
    if (stack_.size() == kValuesMost) refuse("too many values at once");
    stack_.push_back(value);
  }

  Index pop() {
    if (stack_.empty() || stack_.back() == kMark) refuse("a value is missing");
    const Index value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Index make_list(Kind kind, std::vector<Index> items) {
    if (lists_.size() == kListsMost) refuse("too many lists");
    count(items.size());
    lists_.push_back(std::move(items));
    return make({kind, 0, lists_.size() - 1});
  }

  void count(std::size_t items) {
    if ((items_ += items) > kItemsMost) refuse("too many items");
  }

  std::vector<Index> since_mark() {
    std::size_t from = stack_.size();
    while (from > 0 && stack_[from - 1] != kMark) --from;
    if (from == 0) refuse("a mark is missing");
    std::vector<Index> items(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from - 1);
    return items;
  }

  /// Appends what follows the mark to the list or dict below it.
  void extend(Kind kind) {
    const std::vector<Index> items = since_mark();
    const Index below = pop();
    const Value target = values_[below];
    if (target.kind != kind || (kind == Kind::dict && items.size() % 2 != 0))
      refuse("items of no list or dict");
    count(items.size());
    std::vector<Index>& list = lists_[target.at];
    list.insert(list.end(), items.begin(), items.end());
    push(below);
  }

  void tuple(std::size_t size) {
    std::vector<Index> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push(make_list(Kind::list, std::move(items)));
  }

  void call() {
    const Value arguments = values_[pop()], called = values_[pop()];
    if (called.kind != Kind::call || arguments.kind != Kind::list || lists_[arguments.at].empty())
      refuse("a call of something else than torch.jit._pickle");
    push(lists_[arguments.at].front());
  }

  void global() {
    --at_;
    if (!bytes_.substr(at_).starts_with(kCalls)) refuse("it names something to import");
    at_ += kCalls.size();
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("it is cut");
    const std::string_view name = bytes_.substr(at_, end - at_);
    if (name != "restore_type_tag" && name != "build_intlist" && name != "build_doublelist" &&
        name != "build_boollist")
      refuse("it calls a function that is not known");
    at_ = end + 1;
    push(make({Kind::call, 0, 0}));
  }

  void memoize(std::uint64_t number) {
    if (number != memo_.size() || stack_.empty()) refuse("a memo out of order");
    memo_.push_back(stack_.back());
  }

  void recall(std::uint64_t number) {
    if (number >= memo_.size()) refuse("a memo that does not exist");
    push(memo_[number]);
  }

  void push_text() {
    const auto size = static_cast<std::uint32_t>(little(4));
    const std::size_t place = at_;
    take(size);
    push(make({Kind::text, size, place}));
  }

  /// A whole number of that many bytes; negative only if of 4 or 8.
  void push_whole(std::size_t size) {
    const std::uint64_t bits = little(size);
    const auto number = size == 4 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
    push(make({Kind::whole, 0, static_cast<std::uint64_t>(number)}));
  }

  /// Runs one opcode; false at the end.
  bool step() {
    const auto code = static_cast<unsigned char>(take(1).front());
    if (code == '.') return false;
    if (code == 0x8a && little(1) != 8) refuse("a whole number of another size");
    const auto is = [&](unsigned a, unsigned b) { return code == a || code == b; };
    if (is('K', 'M')) {
      push_whole(code == 'K' ? 1 : 2);
    } else if (is('J', 0x8a)) {
      push_whole(code == 'J' ? 4 : 8);
    } else if (is('q', 'r')) {
      memoize(little(code == 'q' ? 1 : 4));
    } else if (is('h', 'j')) {
      recall(little(code == 'h' ? 1 : 4));
    } else if (is('(', 'N')) {
      push(code == '(' ? kMark : kNone);
    } else if (is(0x88, 0x89)) {
      push(code == 0x88 ? kYes : kNo);
    } else if (is(']', '}')) {
      push(make_list(code == ']' ? Kind::list : Kind::dict, {}));
    } else if (is('e', 'u')) {
      extend(code == 'e' ? Kind::list : Kind::dict);
    } else if (is(')', 0x85) || is(0x86, 0x87)) {
      tuple(code == ')' ? 0 : code - 0x84U);
    } else if (code == 't') {
      push(make_list(Kind::list, since_mark()));
    } else if (code == 'X') {
      push_text();
    } else if (code == 'G') {
      push(make({Kind::real, 0, __builtin_bswap64(little(8))}));  // the one number that is big-endian
    } else if (is('c', 'R')) {
      code == 'c' ? global() : call();
    } else {
      --at_;
      refuse(fmt::format("opcode 0x{:02x}, which torch's C++ does not write into a dump", code));
    }
    return true;
  }

  // ---- JSON

  void put(std::string_view text) {
    if (json_.size() + text.size() > kJsonMost) refuse("too much to write out");
    json_ += text;
  }

  void write_text(const Value& v) {
    put("\"");
    for (const char c : bytes_.substr(v.at, v.size)) {
      if (c == '"' || c == '\\') {
        put(fmt::format("\\{}", c));
      } else {
        put(static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
      }
    }
    put("\"");
  }

  void write_items(const Value& v, int depth) {
    const std::vector<Index>& items = lists_[v.at];
    const bool dict = v.kind == Kind::dict;
    const char* separator = "";
    put(dict ? "{" : "[");
    for (std::size_t i = 0; i < items.size(); i += dict ? 2 : 1) {
      if (++written_ > kItemsMost) refuse("too much to write out");  // also what is left out
      if (dict) {
        const Value& key = values_[items[i]];
        if (key.kind != Kind::text) refuse("a key that is no text");
        if (bytes_.substr(key.at, key.size) == kLeftOut) continue;
      }
      put(separator);
      separator = ",";
      if (dict) {
        write_text(values_[items[i]]);
        put(":");
      }
      write(items[dict ? i + 1 : i], depth + 1);
    }
    put(dict ? "}\n" : "]");
  }

  void write(Index index, int depth) {
    if (depth > kDepthMost) refuse("nested too deep, or in itself");
    const Value& v = values_[index];
    switch (v.kind) {
      case Kind::yes:
        return put("true");
      case Kind::no:
        return put("false");
      case Kind::whole:
        return put(fmt::format("{}", static_cast<std::int64_t>(v.at)));
      case Kind::real: {
        const double number = std::bit_cast<double>(v.at);
        return put(std::isfinite(number) ? fmt::format("{}", number) : "null");
      }
      case Kind::text:
        return write_text(v);
      case Kind::list:
      case Kind::dict:
        return write_items(v, depth);
      case Kind::none:
      case Kind::call:
      case Kind::mark:
        return put("null");
    }
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0, items_ = 0, written_ = 0;
  std::vector<Value> values_;
  std::vector<std::vector<Index>> lists_;
  std::vector<Index> stack_, memo_;
  std::string json_;
};

}  // namespace

bool is_torch_pickle(std::string_view head) {
  return head.starts_with(kStart) && head.substr(kStart.size()).starts_with(kCalls);
}

std::string json_of_torch_pickle(std::string_view bytes, const std::string& name) {
  return Unpickler(bytes, name).read();
}

}  // namespace trnplan::logs
