#include "logs/nccl/nccl_tests.h"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "logs/nccom/bounds.h"
#include "text/log_lines.h"
#include "text/warnings.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kAllReduce = "all_reduce_perf";
constexpr std::string_view kPrograms[] = {kAllReduce, "all_gather_perf", "reduce_scatter_perf",
                                          "alltoall_perf"};

/// Line without the label that mpirun --tag-output puts in front: "[1,0]<stdout>:".
std::string_view without_tag(std::string_view line) {
  constexpr std::string_view kTag = "<stdout>:";
  const auto at = line.find(kTag);
  return line.starts_with('[') && at != std::string_view::npos ? line.substr(at + kTag.size()) : line;
}

/// Places of the columns in a table's header.
struct Columns {
  std::size_t count = 0;  ///< of a row
  std::optional<std::size_t> redop;
  std::vector<std::size_t> times;  ///< each followed by algbw and busbw
  std::vector<std::size_t> wrong;  ///< of `#wrong`
};

/// The columns of "#  size  count  type  redop  root  time  algbw  busbw #wrong  time ..."; nullopt for other
/// lines.
std::optional<Columns> header_of(const std::vector<Word>& words) {
  if (words.size() < 2 || words[0].text != "#" || words[1].text != "size") return std::nullopt;
  Columns c;
  c.count = words.size() - 1;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text == "redop") c.redop = i - 1;
    if (words[i].text == "#wrong") c.wrong.push_back(i - 1);
    if (words[i].text == "time" && i + 2 < words.size() && words[i + 1].text == "algbw" &&
        words[i + 2].text == "busbw")
      c.times.push_back(i - 1);
  }
  return c;
}

}  // namespace

class NcclReader::State {
 public:
  explicit State(const std::string& name) : name_(name) {}

  void read(std::string_view line, int number) {
    line = without_tag(line);
    number_ = number;
    read_program(line);
    if (read_rank(line)) return;
    const std::vector<Word> words = words_of(line, kCellsMost);
    if (words.empty()) return;
    if (const auto header = header_of(words)) return start(*header, words[0].column);
    if (words[0].text == "#") {
      if (open_ && line.find("Out of bounds") != std::string_view::npos)
        table_.failed |= line.find("FAILED") != std::string_view::npos;
      return;
    }
    if (open_) read_row(words);
  }

  std::vector<NcclTable> finish() {
    end();
    return std::move(tables_);
  }

 private:
  void read_program(std::string_view line) {
    for (const std::string_view program : kPrograms) {
      if (line.find(program) != std::string_view::npos) program_ = program;
    }
  }

  /// "#  Rank  0 Group  0 Pid  1234 on  host device  0 [0x53] NVIDIA H100 80GB HBM3".
  bool read_rank(std::string_view line) {
    Scan scan(line);
    if (!scan.take("#") || !scan.take("Rank") || !scan.whole()) return false;
    if (open_) {
      end();
      hosts_.clear();
      ranks_ = 0;
    }
    ++ranks_;
    if (!scan.past(" on ")) return true;
    const std::vector<Word> host = words_of(scan.rest(), 1);
    if (!host.empty()) hosts_.emplace(host.front().text);
    if (ranks_ == 1) device_ = scan.past("]") ? std::string(trimmed(scan.rest())) : "";
    return true;
  }

  void start(const Columns& columns, int column) {
    end();
    columns_ = columns;
    open_ = true;
    table_ = {};
    table_.ranks = ranks_;
    table_.hosts = static_cast<int>(hosts_.size());
    table_.device = device_;
    table_.reduces = program_ == kAllReduce;
    table_.program = program_;
    table_.at = {name_, number_, column};
  }

  void end() {
    if (open_) {
      table_.wrong_rows = wrong_.take();
      tables_.push_back(std::move(table_));
    }
    open_ = false;
  }

  void read_row(const std::vector<Word>& words) {
    if (words.size() != columns_.count) return;
    const auto bytes = number_of(words[0].text);
    if (!bytes || *bytes <= 0 || *bytes > kBytesMost) return;
    if (++rows_ > kRowsMost)
      throw InputError({{name_, number_, words[0].column}, "", "more than 20,000 rows", "split the file"});
    if (columns_.redop && words[*columns_.redop].text != "none") table_.reduces = true;
    for (const std::size_t i : columns_.times) {
      const auto us = printed_number(words[i].text), algbw = printed_number(words[i + 1].text),
                 busbw = printed_number(words[i + 2].text);
      if (!us || !algbw || !busbw || !(us->value > 0) || us->value * 1e-6 > kSecondsMost ||
          !(algbw->value > 0))
        continue;
      table_.times.push_back({*bytes,
                              us->value * 1e-6,
                              busbw->value / algbw->value,
                              {name_, number_, words[i].column},
                              NcclTime::Cells{*us, *algbw, *busbw}});
    }
    for (const std::size_t i : columns_.wrong) {
      const auto wrong = number_of(words[i].text);  // "N/A": it did not look
      if (!wrong || !(*wrong > 0)) continue;
      wrong_.add(
          {name_, number_, words[i].column}, "#wrong",
          fmt::format("{:g} elements of the result are wrong: the ranks did not compute what they were to",
                      *wrong),
          "measure again; if it stays, look for a faulty NIC, link or device before you train there");
    }
  }

  const std::string& name_;
  int number_ = 0, ranks_ = 0;
  std::set<std::string, std::less<>> hosts_;
  std::string device_;
  std::string_view program_;
  bool open_ = false;
  Columns columns_;
  NcclTable table_;
  std::vector<NcclTable> tables_;
  std::size_t rows_ = 0;
  Warnings wrong_;
};

NcclReader::NcclReader(const std::string& name) : state_(std::make_unique<State>(name)) {}
NcclReader::~NcclReader() = default;
void NcclReader::read(std::string_view line, int number) {
  state_->read(line, number);
}
std::vector<NcclTable> NcclReader::finish() {
  return state_->finish();
}

bool looks_like_nccl_tests(std::string_view text) {
  return text.find("algbw") != std::string_view::npos && text.find("redop") != std::string_view::npos &&
         text.find("out-of-place") != std::string_view::npos;
}

std::vector<NcclTable> parse_nccl_tests(std::string_view text, const std::string& name) {
  NcclReader reader(name);
  for (LogLines lines(text); lines.next();) reader.read(lines.line().text, lines.line().number);
  return reader.finish();
}

}  // namespace trnplan::logs
