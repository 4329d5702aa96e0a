#include "logs/profile/sqlite_tables.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "logs/nccom/bounds.h"
#include "text/diagnostic.h"

namespace trnplan::logs {

namespace {

constexpr int kCell = 256 << 10;              ///< bytes; names of kernels have some thousand at most
constexpr int kStatement = 16 << 10;          ///< bytes that create a table; SQLite keeps all of a file
constexpr int kCountEach = 1000;              ///< operations
constexpr double kSchemaOperations = 50'000;  ///< some thousand tables
constexpr double kLeastOperations = 1e6, kOperationsPerByte = 4;
constexpr const char* kAgain = "export the report again: nsys export --type sqlite REPORT.nsys-rep";

/// The path as a URI, in which SQLite takes the option not to lock.
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

std::string quoted(const std::string& name) {
  return '"' + name + '"';
}

}  // namespace

bool is_sqlite(std::string_view head) {
  return head.starts_with("SQLite format 3");
}

std::optional<std::int64_t> SqliteRow::whole(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

std::string_view SqliteRow::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void SqliteTables::Close::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

void SqliteTables::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteTables::SqliteTables(ByteStream& bytes, std::string name) : name_(std::move(name)) {
  const std::string path = bytes.path();
  path.empty() ? hold(bytes) : open(path);
  limit();
}

SqliteTables::~SqliteTables() = default;

void SqliteTables::open(const std::string& path) {
  std::error_code missing;
  size_ = static_cast<double>(std::filesystem::file_size(path, missing));
  if (missing) refuse(SQLITE_CANTOPEN);
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(uri_of(path).c_str(), &db,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(db);
  if (code != SQLITE_OK) refuse(code);
}

void SqliteTables::hold(ByteStream& bytes) {
  while (append_from(bytes, bytes_)) {
    if (bytes_.size() > kWholeMost) {
      throw InputError(
          {{name_, 0, 0},
           "",
           fmt::format("a database larger than {} MiB that is packed or comes from a pipe", kWholeMost >> 20),
           "unpack it, and name the file itself"});
    }
  }
  size_ = static_cast<double>(bytes_.size());
  sqlite3* db = nullptr;
  int code = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(db);
  if (code == SQLITE_OK) {
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    code = sqlite3_deserialize(db, "main", reinterpret_cast<unsigned char*>(bytes_.data()), size, size,
                               SQLITE_DESERIALIZE_READONLY);
  }
  if (code != SQLITE_OK) refuse(code);
}

/// Before anything is read: a file may hold views, triggers and functions in its schema.
void SqliteTables::limit() {
  sqlite3* db = db_.get();
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kCell);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kStatement);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  for (const int off :
       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER})
    sqlite3_db_config(db, off, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_progress_handler(db, kCountEach, &SqliteTables::count, this);
  allowed_ = kSchemaOperations;
  run("PRAGMA cache_size = -8192", "", [](const SqliteRow&) {});
  run("PRAGMA cell_size_check = 1", "", [](const SqliteRow&) {});
  run("SELECT count(*) FROM sqlite_master", "", [](const SqliteRow&) {});
  double stated = 1;  // bytes: SQLite would read zeros behind the end of the last page
  for (const char* factor : {"PRAGMA page_size", "PRAGMA page_count"})
    run(factor, "", [&](const SqliteRow& row) { stated *= static_cast<double>(row.whole(0).value_or(0)); });
  if (stated > size_) refuse(SQLITE_CORRUPT);
  allowed_ = kLeastOperations + kOperationsPerByte * size_;
}

int SqliteTables::count(void* tables) {
  auto* self = static_cast<SqliteTables*>(tables);
  self->operations_ += kCountEach;
  return self->operations_ > self->allowed_ ? 1 : 0;
}

void SqliteTables::refuse(int code) const {
  const auto fault = [&](std::string problem, std::string fix) {
    throw InputError({{name_, 0, 0}, "", std::move(problem), std::move(fix)});
  };
  if (code == SQLITE_CANTOPEN) fault("cannot be read as a file", "check the path");
  if (code == SQLITE_INTERRUPT)
    fault("the database is damaged: it has more rows or text than its size allows", kAgain);
  if (code == SQLITE_TOOBIG)
    fault(fmt::format("a text in the database is longer than {} KiB", kCell >> 10), kAgain);
  if (code == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR)
    fault("the database cannot be read or sorted: " + printable(sqlite3_errstr(code), 100),
          "make room for temporary files, or let SQLITE_TMPDIR name a folder with room");
  throw InputError({{name_, 0, 0},
                    "",
                    "the database is damaged or cut: " +
                        printable(db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code), 200),
                    kAgain});
}

void SqliteTables::run(const std::string& sql, const std::string& bound,
                       const std::function<void(const SqliteRow&)>& each) {
  operations_ = 0;
  sqlite3_stmt* made = nullptr;
  int code = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &made, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> statement(made);
  if (code != SQLITE_OK) refuse(code);
  if (!bound.empty())
    sqlite3_bind_text(made, 1, bound.data(), static_cast<int>(bound.size()), SQLITE_TRANSIENT);
  const SqliteRow row(made);
  while ((code = sqlite3_step(made)) == SQLITE_ROW) {
    // Texts may share their pages: their bytes count too.
    for (int column = 0; column < sqlite3_column_count(made); ++column)
      operations_ += static_cast<double>(row.text(column).size());
    if (operations_ > allowed_) refuse(SQLITE_INTERRUPT);
    each(row);
  }
  if (code != SQLITE_DONE) refuse(code);
}

const std::vector<std::string>& SqliteTables::columns(const std::string& table) {
  const auto [entry, fresh] = columns_.try_emplace(table);
  std::vector<std::string>& columns = entry->second;
  if (!fresh) return columns;
  bool plain = false;
  run("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1", table, [&](const SqliteRow& row) {
    plain = row.text(0).starts_with("CREATE TABLE");  // as SQLite itself writes it; a virtual one differs
  });
  // This lists no columns that are computed.
  if (plain)
    run("PRAGMA table_info(" + quoted(table) + ")", "",
        [&](const SqliteRow& row) { columns.emplace_back(row.text(1)); });
  return columns;
}

bool SqliteTables::has(const std::string& table, const std::string& column) {
  const std::vector<std::string>& all = columns(table);
  return std::find(all.begin(), all.end(), column) != all.end();
}

void SqliteTables::rows(const std::string& table, const std::vector<std::string>& columns,
                        const std::string& order, const std::function<void(const SqliteRow&)>& each) {
  std::vector<std::string> names;
  for (const std::string& column : columns) names.push_back(quoted(column));
  std::string sql = fmt::format("SELECT {} FROM {}", fmt::join(names, ", "), quoted(table));
  if (!order.empty()) sql += " ORDER BY " + quoted(order);
  run(sql, "", each);
}

}  // namespace trnplan::logs
