#include "io/nccom_json.h"

namespace trnplan::io {

calibrate::NccomTable nccom_report_from(const Node& report, const calibrate::NccomCommand& command) {
  const Node* results = report.is_map() ? report.find("results") : &report;
  if (results == nullptr || results->kind != Node::Kind::sequence) {
    throw InputError({results == nullptr ? report.at : results->at, "results",
                      "no list of results, so this is no report of nccom-test",
                      "give the file that nccom-test --report-to-json-file wrote"});
  }
  std::vector<calibrate::NccomRecord> records;
  records.reserve(results->items.size());
  for (const Node& item : results->items) {
    calibrate::NccomRecord record{{}, item.at.line, item.at.column};
    for (const Node::Entry& entry : item.entries) {
      record.cells.push_back({entry.key, entry.value.scalar, entry.value.at.line, entry.value.at.column});
    }
    records.push_back(std::move(record));
  }
  calibrate::NccomTable table = calibrate::nccom_table(command, records, report.at.file);
  table.at = results->at;
  return table;
}

}  // namespace trnplan::io
