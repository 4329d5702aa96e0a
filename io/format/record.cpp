#include "io/format/record.h"

namespace trnplan::io {

RecordRows::Row::Row(std::string_view name, std::string type, std::string_view says, Absent absent,
                     void (*describe)(Description&), std::function<Json(const void*)> write)
    : key{name, std::move(type), says, absent}, inside(describe), value(std::move(write)) {}

RecordRows::RecordRows(std::string_view name, std::string_view says) {
  described_.name = name;
  described_.says = says;
}

void RecordRows::add(const Row& row) {
  rows_.push_back(row);
  described_.keys.push_back(row.key);
  row.inside(described_);
}

void RecordRows::write(Json& object, const void* t) const {
  for (const Row& row : rows_) {
    Json value = row.value(t);
    if (row.key.absent == Absent::left_out && value.is_null()) continue;
    object[std::string(row.key.name)] = std::move(value);
  }
}

}  // namespace trnplan::io
