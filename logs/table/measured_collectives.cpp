#include "logs/table/measured_collectives.h"

#include "logs/nccom/bounds.h"
#include "logs/nccom/nccom_command.h"
#include "text/csv.h"

namespace trnplan::logs {

namespace {

/// A number above 0; else 0, with a fault.
double positive(CsvReader& csv, const char* column) {
  if (csv.required(column, "a measurement needs it").empty()) return 0;
  const auto value = csv.number(column);
  if (value && *value == 0) csv.fault(column, "is 0", "correct the field");
  return value.value_or(0);
}

MeasuredCollective read_row(CsvReader& csv) {
  MeasuredCollective row;
  row.id = csv.required("id", "give the row an id");
  csv.distinct("id", row.id);
  row.op = csv.text("op");
  if (row.op.empty() || canonical_op(row.op) != row.op) {
    const std::string meant(canonical_op(row.op));
    csv.fault("op", "\"" + printable(row.op, 60) + "\" is not an operation",
              meant.empty() ? "write for example all_reduce" : "write " + meant);
  }
  row.ranks = csv.whole("ranks", 0, kRanksMost);
  if (csv.text("ranks").empty() || csv.text("ranks") == "0") {
    csv.fault("ranks", "not stated", "a measurement needs it");
  }
  row.nodes = csv.whole("nodes", 0, kRanksMost);
  if (row.ranks > 0 && row.nodes > row.ranks)
    csv.fault("nodes", "more nodes than ranks", "correct the field");
  row.instance = csv.text("instance") == "not stated" ? "" : csv.text("instance");
  row.bytes = positive(csv, "bytes");
  if (row.bytes > kBytesMost) csv.fault("bytes", "is not a size of a message", "write bytes, at most 2^50");
  row.type = csv.text("type");
  row.seconds = positive(csv, "measured_us") * 1e-6;
  row.build = csv.required("build", "name the build by date; builds must not be mixed");
  row.algorithm = csv.text("algorithm");
  row.source = csv.required("source", "say where the number comes from");
  row.left_out = csv.text("left_out");
  row.note = csv.text("note");
  row.at = csv.at("id");
  return row;
}

}  // namespace

std::vector<MeasuredCollective> parse_measured_collectives(std::string_view text, const std::string& name) {
  CsvReader csv(text, name,
                {"id", "op", "ranks", "nodes", "instance", "bytes", "type", "measured_us", "build", "source"},
                "see catalog/measured-collectives.md for the columns");
  std::vector<MeasuredCollective> rows;
  while (csv.next()) rows.push_back(read_row(csv));
  csv.finish();
  return rows;
}

}  // namespace trnplan::logs
