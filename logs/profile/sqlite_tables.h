// Tables of an SQLite database that another program wrote, row by row: read-only, without locks, within limits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_stream.h"

struct sqlite3;
struct sqlite3_stmt;

namespace trnplan::logs {

/// True for the first bytes of an SQLite database.
[[nodiscard]] bool is_sqlite(std::string_view head);

/// Cells of one row, valid until the next.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  /// nullopt if the cell holds no whole number.
  [[nodiscard]] std::optional<std::int64_t> whole(int column) const;
  /// "" if the cell holds no text.
  [[nodiscard]] std::string_view text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class SqliteTables {
 public:
  /// Opens the file of a stream with a path, as it is: a program that holds a lock on it is not
  /// waited for. Else the bytes are held, 64 MiB at most. Throws InputError if it is no database, or damaged.
  SqliteTables(ByteStream& bytes, std::string name);
  ~SqliteTables();
  SqliteTables(const SqliteTables&) = delete;
  SqliteTables& operator=(const SqliteTables&) = delete;

  /// Columns of a table; none if it is missing, or a view or virtual table. `table` names one of the reader,
  /// not of the file. Throws InputError as rows().
  [[nodiscard]] const std::vector<std::string>& columns(const std::string& table);
  [[nodiscard]] bool has(const std::string& table, const std::string& column);

  /// Calls `each` for the rows with these columns, which the table has, ordered by the column `order` unless
  /// it is empty. Memory is constant: what does not fit is sorted in temporary files. Throws InputError if the
  /// database is damaged, a cell longer than 256 KiB, or there is more to read than its size allows.
  void rows(const std::string& table, const std::vector<std::string>& columns, const std::string& order,
            const std::function<void(const SqliteRow&)>& each);

 private:
  struct Close {
    void operator()(sqlite3* db) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  void open(const std::string& path);
  void hold(ByteStream& bytes);
  void limit();
  [[noreturn]] void refuse(int code) const;
  void run(const std::string& sql, const std::string& bound,
           const std::function<void(const SqliteRow&)>& each);
  static int count(void* tables);

  std::string name_, bytes_;
  std::unique_ptr<sqlite3, Close> db_;
  double size_ = 0;                      ///< bytes
  double operations_ = 0, allowed_ = 0;  ///< of SQLite's machine, and bytes of texts, in one statement
  std::map<std::string, std::vector<std::string>> columns_;
};

}  // namespace trnplan::logs
