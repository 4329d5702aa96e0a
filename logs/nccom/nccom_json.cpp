#include "logs/nccom/nccom_json.h"

#include <fmt/format.h>

#include <set>

#include "logs/nccom/bounds.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kHeadings = 1000, kCellBytes = 100;

class Report {
 public:
  Report(JsonReader& json, const std::string& name) : json_(json), name_(name) {}

  NccomTable read(const NccomCommand& command) {
    const SourcePos at{name_, json_.line(), json_.column()};
    if (json_.peek() == JsonReader::Kind::array) {
      json_.array([&] { read_row(); });
    } else {
      json_.object([&](std::string_view key) {
        if (key == "results") json_.array([&] { read_row(); });
      });
    }
    NccomTable table = nccom_table(command, records_, name_);
    table.at = at;
    return table;
  }

 private:
  void read_row() {
    NccomRecord record{{}, json_.line(), json_.column()};
    json_.object([&](std::string_view key) {
      if (record.cells.size() == kCellsMost || (headings_.size() == kHeadings && !headings_.contains(key)))
        return;
      const int line = json_.line(), column = json_.column();
      const bool text = json_.peek() == JsonReader::Kind::text;
      record.cells.push_back({*headings_.emplace(key).first,
                              text ? json_.text(kCellBytes) : std::string(json_.scalar(kCellBytes)), line,
                              column});
    });
    if (records_.size() == kRowsMost) {
      throw InputError({{name_, json_.line(), json_.column()},
                        "",
                        fmt::format("more than {} rows", kRowsMost),
                        "split the file"});
    }
    if (!json_.failed()) records_.push_back(std::move(record));
  }

  JsonReader& json_;
  const std::string& name_;
  std::set<std::string, std::less<>> headings_;  ///< cells refer to them
  std::vector<NccomRecord> records_;
};

}  // namespace

NccomTable read_nccom_report(JsonReader& json, const NccomCommand& command, const std::string& name) {
  return Report(json, name).read(command);
}

}  // namespace trnplan::logs
